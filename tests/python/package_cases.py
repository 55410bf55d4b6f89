"""Packages of runs: how they are requested, resolved and fetched, and what the errors say.

As in `cases.py`, a case raises when a promise is broken. Nothing here needs the internet.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

from cases import contains, same
from harness import Setup
from package_setup import failure, package_setup, published, script


async def pinned(setup: Setup) -> None:
    """`rich<13`, the documentation's example: the published wheel, and the one that it requires beside the bundle."""
    with package_setup(setup) as here:
        here.index.add_published(published())
        here.index.add('rich', '13.9.0')
        code = script(['rich<13'], "import importlib.metadata, rich.table\nimportlib.metadata.version('rich')")
        async with here.server() as client:
            text = await client.text(code)
            contains(text, '<status>success</status>', '<dependencies>["rich<13"]</dependencies>', '12.6.0')
            same(
                sorted(here.index.fetched()), ['commonmark-0.9.1-py2.py3-none-any.whl', 'rich-12.6.0-py3-none-any.whl']
            )
            asked = len(here.index.asked)
            contains(await client.text(code), '12.6.0')
            same(len(here.index.asked), asked)
        # Another server finds the wheels in the cache on disk.
        async with here.server() as client:
            contains(await client.text(code), '12.6.0')
            same(len(here.index.fetched()), 2)


async def email_validator(setup: Setup) -> None:
    """pydantic with email-validator, the documentation's example: published wheels, some of them binary."""
    with package_setup(setup) as here:
        here.index.add_published(published())
        code = script(
            ['pydantic', 'email-validator'],
            "import pydantic\nclass Model(pydantic.BaseModel):\n    email: pydantic.EmailStr\nprint(Model(email='hello@pydantic.dev'))",
        )
        async with here.server() as client:
            same(
                await client.text(code),
                '<status>success</status>\n<dependencies>["pydantic","email-validator"]</dependencies>\n'
                "<output>\nemail='hello@pydantic.dev'\n</output>",
            )


async def ways(setup: Setup) -> None:
    """Packages are named by `--deps`, by the code, or by its imports; a module's name is taken for a package's only if that is allowed."""
    with package_setup(setup) as here:
        here.index.add('flask', '14.0.0')
        here.index.add('pyserial', '4.0', {'serial/__init__.py': "__version__ = '4.0'\n"})
        here.index.add('acme-tools', '1.5', requires=['six'])
        here.index.add('not-a-package', '1')
        async with here.server('--deps', 'acme-tools<2', '--infer', 'known') as client:
            text = await client.text('import acme_tools, serial, six\nacme_tools.__version__, serial.__version__')
            contains(text, '<dependencies>["acme-tools<2","pyserial","six"]</dependencies>', '"1.5"', '"4.0"')
            text = failure(await client.text('import not_a_package'))
            contains(text, '`not_a_package`', 'dependencies = ["NAME"]')
            assert not any('not-a-package' in path for path in here.index.asked), 'a name alone was asked for'
            contains(
                await client.text(script(['not-a-package'], 'import not_a_package\nnot_a_package.__version__')), '\n1\n'
            )
            # An import that the code guards is installed as well.
            text = await client.text(
                'try:\n    import flask\nexcept ImportError:\n    flask = None\nprint(flask.__version__)'
            )
            contains(text, '<output>\n14.0.0\n</output>')
        here.index.add('liar', '1', {'another.py': ''})
        async with here.server() as client:
            contains(await client.text('import not_a_package\nnot_a_package.__version__'), '\n1\n')
            contains(
                failure(await client.text('import liar')),
                'does not provide the module `liar`',
                'dependencies = ["NAME"]',
            )
            contains(failure(await client.text('import nowhere')), '`nowhere`', 'dependencies = ["NAME"]')


async def bundled(setup: Setup) -> None:
    """jinja2, markupsafe and PyYAML are bundled: the index is not asked for them, not even as requirements of other packages."""
    with package_setup(setup) as here:
        code = 'import jinja2, pandas, yaml\nprint(yaml.safe_load("a: [1]"), "<td" in pandas.DataFrame({"a": [1]}).style.to_html())'
        ran = here.run('exec', '-', stdin=code)
        same((ran.returncode, ran.stdout, ran.stderr, here.index.asked), (0, "{'a': [1]} True\n", '', []))
        # Requirements as flask, altair and huggingface-hub have them; the older versions on the index are not taken.
        here.index.add('weblike', '1', requires=['jinja2>=3.1.2', 'markupsafe>=2.1.1'])
        here.index.add('chartlike', '1', requires=['jinja2', 'narwhals>=1.14.2', 'packaging', 'pyyaml>=5.1'])
        for name in ['Jinja2', 'MarkupSafe', 'PyYAML']:
            here.index.add(name, '1')
        names = ['jinja2', 'markupsafe', 'PyYAML']
        code = (
            f'import importlib.metadata, weblike, chartlike, jinja2, markupsafe._speedups, yaml\nfor name in {names}:\n'
        )
        code += '    print(int(importlib.metadata.version(name).split(".")[0]) > 1)'
        ran = here.run('exec', '-', stdin=script(['weblike', 'chartlike'], code))
        same((ran.returncode, ran.stdout, ran.stderr), (0, 'True\n' * 3, ''))
        same(sorted(here.index.fetched()), ['chartlike-1-py3-none-any.whl', 'weblike-1-py3-none-any.whl'])


async def conflicts(setup: Setup) -> None:
    """A package that cannot be installed is an install error that says why."""
    with package_setup(setup) as here:
        here.index.add('left', '1', requires=['middle<2'])
        here.index.add('right', '1', requires=['middle>=2'])
        here.index.add('middle', '1')
        here.index.add('middle', '2')
        here.index.lies.add(here.index.add('liar', '1'))
        here.index.files['native-1-cp314-cp314-manylinux_2_17_x86_64.whl'] = b''
        async with here.server() as client:
            for requirement, parts in [
                (['left', 'right'], ['left', 'right', 'middle<2', 'middle>=2']),
                (['no-such-thing'], ['no-such-thing']),
                (['native'], ['`native` has no wheel for this sandbox', 'pyemscripten_2026_0_wasm32']),
                (['liar'], ['liar', 'sha256']),
                (['left @ https://example.org/left-1-py3-none-any.whl'], ['no-urls', 'command line']),
                (['left @ file:///etc/left-1-py3-none-any.whl'], ['no-urls']),
            ]:
                contains(failure(await client.text(script(requirement, '1'))), *parts)
            contains(await client.text(script(['left'], 'import middle\nmiddle.__version__')), '\n1\n')


async def offline(setup: Setup) -> None:
    """`--offline` uses what is in the cache, and sends no request; other packages are an error that names the option."""
    with package_setup(setup) as here:
        here.index.add('one', '1')
        here.index.add('two', '1')
        async with here.server() as client:
            contains(await client.text(script(['one'], 'import one\none.__version__')), '\n1\n')
        asked = len(here.index.asked)
        async with here.server('--offline') as client:
            contains(await client.text(script(['one'], 'import one\none.__version__')), '\n1\n')
            contains(failure(await client.text(script(['two'], '1'))), 'two', '--offline')
            contains(await client.text('import numpy\nint(numpy.arange(3).sum())'), '\n3\n')
        same(len(here.index.asked), asked)


async def stateless(setup: Setup) -> None:
    """`micropip` installs for one run; the next run does not have the package."""
    with package_setup(setup) as here:
        here.index.add('thing', '1')
        async with here.server() as client:
            code = 'import micropip\nawait micropip.install("thing")\nimport thing\nthing.__version__'
            contains(await client.text(code), '<status>success</status>', '\n1\n')
            text = await client.text('import importlib.util\nprint(importlib.util.find_spec("thing"))')
            contains(text, '<output>\nNone\n</output>')


async def overriding(setup: Setup) -> None:
    """A run gets the version it asks for, even of a bundled package that the image has imported already."""
    with package_setup(setup) as here:
        here.index.add('six', '1.0', {'six.py': "__version__ = '1.0'\n"})
        async with here.server() as client:
            code = script(['six<1.1', 'numpy'], 'import numpy, six\nsix.__version__')
            contains(await client.text(code), '"six<1.1"', '\n1.0\n')


async def constrained(setup: Setup) -> None:
    """`--constraint` and `--find-links` hold for `brumate exec`."""
    with package_setup(setup) as here:
        here.index.add('thing', '1')
        here.index.add('thing', '2')
        constraints = Path(here.setup.cache_dir) / 'constraints.txt'
        constraints.write_text('thing<2  # not yet\n')
        program = script(['thing'], 'import thing\nprint(thing.__version__)')
        same(here.run('exec', '-', stdin=program).stdout, '2\n')
        same(here.run('--constraint', str(constraints), 'exec', '-', stdin=program).stdout, '1\n')
        with tempfile.TemporaryDirectory() as wheels:
            name = here.index.add('thing', '3')
            (Path(wheels) / name).write_bytes(here.index.files.pop(name))
            ran = here.run('--find-links', wheels, 'exec', '-', stdin=program)
            same((ran.stdout, ran.stderr), ('3\n', ''))


async def told(setup: Setup) -> None:
    """Progress notifications and the log tell a client about resolving and fetching."""
    with package_setup(setup) as here:
        here.index.add('thing', '1')
        heard: list[str] = []

        async def progress(_done: float, _total: float | None, message: str | None) -> None:
            heard.append(message or '')

        async with here.server(log_level='debug') as client:
            contains(json.dumps(await client.call(script(['thing'], '1'), progress=progress)), 'success')
            text = ''.join(heard)
            contains(text, 'Resolving 1 requirement', 'Fetching thing 1', '1 package is ready')
            logged = '\n'.join(str(data) for level, data in client.logs if level == 'debug')
            contains(logged, 'Resolving 1 requirement', 'Fetching thing 1')


async def distribution(setup: Setup) -> None:
    """`--pyodide`: packages that the indexes lack come from a Pyodide distribution's lock, and are checked by its hashes."""
    with package_setup(setup) as here:
        for name in ['thing', 'liar', 'other']:
            here.index.add(name, '1')
        here.index.add('other', '2')
        # The index lists `thing`, but with no wheel for the sandbox.
        here.index.files['thing-1-cp314-cp314-manylinux_2_17_x86_64.whl'] = b''
        base = here.index.url.removesuffix('/simple/')
        packages = {}
        for name, depends in [('thing', ['other', 'ssl']), ('liar', []), ('other', [])]:
            file = f'{name}-1-py3-none-any.whl'
            content = here.index.files.pop(file)
            here.index.extra[f'/full/{file}'] = content
            packages[name] = {
                'name': name,
                'version': '1',
                'file_name': file,
                'install_dir': 'site',
                'package_type': 'package',
                'imports': [name],
                'sha256': hashlib.sha256(content if name != 'liar' else b'').hexdigest(),
                'depends': depends,
            }
        packages['ssl'] = {
            'name': 'ssl',
            'version': '1.0.0',
            'file_name': 'ssl-1.0.0.zip',
            'install_dir': 'stdlib',
            'package_type': 'cpython_module',
            'imports': ['ssl'],
            'sha256': '0' * 64,
            'depends': [],
        }
        info = {
            'abi_version': '2026_0',
            'arch': 'wasm32',
            'platform': 'emscripten_5_0_0',
            'python': '3.14.2',
            'version': '314.0.7',
        }
        here.index.extra['/full/pyodide-lock.json'] = json.dumps({'info': info, 'packages': packages}).encode()
        flags = ('--pyodide', f'{base}/full/')
        program = script(['thing'], 'import other, thing\nprint(thing.__version__, other.__version__)')
        without = here.run('exec', '-', stdin=program)
        same((without.returncode, without.stdout), (1, ''))
        contains(without.stderr, '`thing` has no wheel for this sandbox')
        # The index comes first where it has a usable wheel: `other` is the newest version there.
        ran = here.run(*flags, 'exec', '-', stdin=program)
        same((ran.returncode, ran.stdout, ran.stderr), (0, '1 2\n', ''))
        # The cache has both.
        same(here.run(*flags, '--offline', 'exec', '-', stdin=program).stdout, '1 2\n')
        refused = here.run(*flags, 'exec', '-', stdin=script(['liar'], 'import liar'))
        same((refused.returncode, refused.stdout), (1, ''))
        contains(refused.stderr, 'liar', 'sha256')
