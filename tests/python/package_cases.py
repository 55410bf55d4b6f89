"""What a real client must see of packages: from an index of our own, through the real binary. As in `cases.py`, a case raises
when a promise is broken. Nothing here needs the internet.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cases import contains, same
from harness import Setup, connect
from package_index import Index, serving
from session_cases import Host, Interpreter

# Nothing of this machine's own settings may count.
CLEAN = {
    'PIP_CONFIG_FILE': '/dev/null',
    'UV_NO_CONFIG': '1',
    'PIP_FIND_LINKS': '',
    'UV_FIND_LINKS': '',
    'PIP_INDEX_URL': '',
    'PIP_EXTRA_INDEX_URL': '',
    'NO_PROXY': '127.0.0.1',
    'HOME': '/nonexistent',
}


def script(dependencies: list[str], code: str) -> str:
    return f'# /// script\n# dependencies = {json.dumps(dependencies)}\n# ///\n{code}'


def published() -> Path:
    """Wheels as others have published them."""
    return Path(os.environ['BRUMATE_TEST_WHEELS']).parent / 'downloads'


@dataclass
class Place:
    """An index, and a cache that has nothing of it."""

    setup: Setup
    index: Index

    def server(self, *flags: str, **options: Any) -> Any:
        return connect(self.setup, '--index', self.index.url, *flags, environment=CLEAN, **options)

    def run(self, *arguments: str, stdin: str = '', **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs the binary as a shell does."""
        command = [
            str(self.setup.brumate),
            '--cache-dir',
            str(self.setup.cache_dir),
            '--index',
            self.index.url,
            *arguments,
        ]
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, **CLEAN, **environment},
            check=False,
        )


@contextlib.contextmanager
def place(setup: Setup) -> Iterator[Place]:
    """The cache is a directory of its own; compiled modules and images are the shared one's, by hard links."""
    parent = setup.cache_dir.parent
    with tempfile.TemporaryDirectory(prefix='packages-', dir=parent) as directory, serving(Index()) as index:
        cache = Path(directory) / 'cache'
        skip = shutil.ignore_patterns('packages-*', 'index-*')
        # Files that another test is writing are not there yet, or not any more.
        with contextlib.suppress(shutil.Error):
            shutil.copytree(setup.cache_dir, cache, copy_function=os.link, ignore=skip)
        yield Place(replace(setup, cache_dir=cache), index)


def failure(text: str) -> str:
    """The error of an installation that failed."""
    contains(text, '<status>install-error</status>')
    return text.split('<error>')[1]


async def pinned(setup: Setup) -> None:
    """`rich<13` of the documentation: the published wheel, which needs one more that the bundle lacks."""
    with place(setup) as here:
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
        # The cache is on disk.
        async with here.server() as client:
            contains(await client.text(code), '12.6.0')
            same(len(here.index.fetched()), 2)


async def sessions(setup: Setup) -> None:
    """Installing in one session changes no other; what is installed survives sleep, restart and fork, and a reset ends it."""
    with place(setup) as here, Host(here.setup) as host:
        for version in ['1', '2']:
            here.index.add('thing', version)
        # Imports do not get it by themselves.
        flags = ('--index', here.index.url, '--infer', 'known')
        async with host.server(*flags, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            one, two, none = [await interpreter.open() for _ in range(3)]
            contains(await interpreter.printed(one, '%pip install "thing<2"'), 'Successfully installed thing-1')
            contains(await interpreter.printed(two, '!pip install thing'), 'Successfully installed thing-2')
            contains(await interpreter.printed(one, '%pip install thing'), 'Requirement already satisfied: thing')
            missing = await interpreter.cell('import thing', none)
            same(missing['error'], "ModuleNotFoundError: No module named 'thing'")
            contains(missing['traceback'][-1], '%pip install')
            version = 'import thing, importlib.metadata\nthing.__version__, importlib.metadata.version("thing")'
            same(await interpreter.value(one, version), "('1', '1')")
            same(await interpreter.value(two, version), "('2', '2')")
            fork = (await interpreter.tool('fork_session', session_id=two))['session_id']
            same(await interpreter.value(fork, version), "('2', '2')")
            await interpreter.tool('reset_session', session_id=fork)
            contains((await interpreter.cell('import thing', fork))['error'], "No module named 'thing'")
        # Wheels that are not in the cache any more are fetched again.
        for entry in Path(here.setup.cache_dir).glob('packages-*/wheels/*/*'):
            entry.unlink()
        here.index.asked.clear()
        async with host.server(*flags, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            same(await interpreter.value(one, version), "('1', '1')")
            same(await interpreter.value(two, 'thing.__version__'), "'2'")
            same(sorted(here.index.fetched()), ['thing-1-py3-none-any.whl', 'thing-2-py3-none-any.whl'])
            contains(await interpreter.printed(one, '%pip install -U thing'), 'Successfully installed thing-2')
        # Gone for good: the session says so, and stays.
        for entry in Path(here.setup.cache_dir).glob('packages-*/wheels/*/*'):
            entry.unlink()
        here.index.files.clear()
        async with host.server(*flags, environment=CLEAN) as client:
            refused = await client.call_raw('execute_code', {'code': '1', 'session_id': two})
            contains(json.dumps(refused), 'thing-2-py3-none-any.whl', 'cannot be fetched again')


async def installing(setup: Setup) -> None:
    """In a cell: requirements that belong together, constraints of what is there, micropip, and what is said."""
    with place(setup) as here, Host(here.setup) as host:
        here.index.add('base', '1')
        here.index.add('base', '2')
        here.index.add('old', '1', requires=['base<2'])
        here.index.add('new', '1', requires=['base>=2'])
        async with host.server('--index', here.index.url, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            contains(
                await interpreter.printed(session, '%pip install old'), 'Successfully installed', 'base-1', 'old-1'
            )
            # What is there stays, if it can: base is named, and fits.
            contains(await interpreter.printed(session, '%pip install base'), 'Requirement already satisfied: base')
            contains(await interpreter.printed(session, '%pip install new'), 'base-2', 'new-1')
            contains(await interpreter.printed(session, '%pip list'), 'base', 'old', 'new', 'numpy')
            contains(await interpreter.printed(session, '!pip install numpy'), 'Requirement already satisfied: numpy')
            other = await interpreter.open('import micropip\nawait micropip.install(["old"])')
            same(await interpreter.value(other, 'import old, base\nold.__version__, base.__version__'), "('1', '1')")
            failed = await interpreter.cell('await micropip.install("no-such-thing")', other)
            contains(failed['error'], 'no-such-thing')


async def email_validator(setup: Setup) -> None:
    """The documentation's example, with the published wheels: binary ones among them."""
    with place(setup) as here:
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
    """Packages are stated at start, in the code, inferred from imports, and guessed from the names of modules if that is allowed."""
    with place(setup) as here:
        here.index.add('flask', '14.0.0')
        here.index.add('pyjwt', '4.0', {'jwt/__init__.py': "__version__ = '4.0'\n"})
        here.index.add('acme-tools', '1.5', requires=['six'])
        here.index.add('not-a-package', '1')
        async with here.server('--deps', 'acme-tools<2', '--infer', 'known') as client:
            text = await client.text('import acme_tools, jwt, six\nacme_tools.__version__, jwt.__version__')
            contains(text, '<dependencies>["acme-tools<2","PyJWT","six"]</dependencies>', '"1.5"', '"4.0"')
            text = failure(await client.text('import not_a_package'))
            contains(text, '`not_a_package`', 'dependencies = ["NAME"]')
            assert not any('not-a-package' in path for path in here.index.asked), 'a name alone was asked for'
            contains(
                await client.text(script(['not-a-package'], 'import not_a_package\nnot_a_package.__version__')), '\n1\n'
            )
            # What may be missing comes when it is imported.
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
    """Templates and YAML come with the binary: no index is asked for them, nor for what others require of them."""
    with place(setup) as here:
        code = 'import jinja2, pandas, yaml\nprint(yaml.safe_load("a: [1]"), "<td" in pandas.DataFrame({"a": [1]}).style.to_html())'
        ran = here.run('exec', '-', stdin=code)
        same((ran.returncode, ran.stdout, ran.stderr, here.index.asked), (0, "{'a': [1]} True\n", '', []))
        # What flask, altair and huggingface-hub state; an older one on the index is not taken.
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
    """What cannot be had is an install error that says why."""
    with place(setup) as here:
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
    """Without a network: what is in the cache; else an error that says so."""
    with place(setup) as here:
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


async def policy(setup: Setup) -> None:
    """The rules hold for every way in, and a refusal names its rule. Nothing that is refused is asked for."""
    with place(setup) as here:
        for name in ['flask', 'fine', 'bad', 'needy']:
            here.index.add(name, '1', requires=['bad'] if name == 'needy' else [])
        rules = Path(here.setup.cache_dir) / 'rules.toml'
        rules.write_text("deny = ['bad']\n")
        lock = Path(here.setup.cache_dir) / 'pylock.toml'
        same(here.run('lock', 'bad', '-o', str(lock)).returncode, 0)
        here.index.asked.clear()
        only = ['--only-bundled']
        # Flags, code, and what the refusal says.
        for flags, code, parts in [
            (['--package-policy', str(rules)], script(['bad'], '1'), ['`deny` has `bad`', 'rules.toml']),
            (['--deny-package', 'b*'], script(['bad'], '1'), ['`deny` has `b*`', 'command line']),
            (['--deny-package', 'flask'], 'import flask', ['`deny` has `flask`', 'import flask']),
            (['--deny-package', 'bad', '--deps', 'bad'], '1', ['`deny` has `bad`']),
            (['--deny-package', 'numpy'], 'import numpy', ['`deny` has `numpy`']),
            (['--allow-package', 'fine'], script(['bad'], '1'), ['`allow` has no entry']),
            (['--deny-package', 'bad', '--locked', str(lock)], script(['bad'], '1'), ['`deny` has `bad`']),
            (
                ['--deny-package', 'bad'],
                script(['bad @ https://example.org/bad-1-py3-none-any.whl'], '1'),
                ['`deny` has `bad`'],
            ),
            (only, script(['fine'], '1'), ['`only-bundled` is set']),
            (only, 'import flask', ['`only-bundled` is set']),
            ([*only, '--deps', 'fine'], '1', ['`only-bundled` is set']),
        ]:
            async with here.server(*flags) as client:
                contains(failure(await client.text(code)), *parts)
        same(here.index.asked, [])
        async with here.server('--deny-package', 'bad') as client:
            contains(failure(await client.text(script(['needy'], '1'))), 'bad', '`deny` has `bad`')
            contains(await client.text(script(['fine'], 'import fine\nfine.__version__')), '\n1\n')
            # From inside.
            for code in [
                '!pip install bad',
                '%pip install bad',
                'import micropip\nawait micropip.install("bad")',
                '!pip install needy',
            ]:
                text = await in_session(here, code, '--deny-package', 'bad')
                contains(text, '`deny` has `bad`')
        same(here.index.fetched(), ['fine-1-py3-none-any.whl'])


async def in_session(here: Place, code: str, *flags: str) -> str:
    """All that a cell of a new session says."""
    with tempfile.TemporaryDirectory(prefix='brumate-sessions-') as data:
        async with here.server('--tools', 'interpreter', '--data-dir', data, *flags) as client:
            answer = await Interpreter(client).cell(code)
            return ''.join(answer['output']) + (answer['error'] or '')


async def stateless(setup: Setup) -> None:
    """`micropip` in a run without a session; the next run has nothing of it."""
    with place(setup) as here:
        here.index.add('thing', '1')
        async with here.server() as client:
            code = 'import micropip\nawait micropip.install("thing")\nimport thing\nthing.__version__'
            contains(await client.text(code), '<status>success</status>', '\n1\n')
            text = await client.text('import importlib.util\nprint(importlib.util.find_spec("thing"))')
            contains(text, '<output>\nNone\n</output>')


async def overriding(setup: Setup) -> None:
    """A version other than the bundle's, of a package that the image has imported: the run has the version it asked for."""
    with place(setup) as here:
        here.index.add('six', '1.0', {'six.py': "__version__ = '1.0'\n"})
        async with here.server() as client:
            code = script(['six<1.1', 'numpy'], 'import numpy, six\nsix.__version__')
            contains(await client.text(code), '"six<1.1"', '\n1.0\n')


async def locking(setup: Setup) -> None:
    """`brumate lock`, then `--locked`: exactly that, whatever the index has by then."""
    with place(setup) as here:
        here.index.add('thing', '1', requires=['part', 'six'])
        here.index.add('part', '1')
        lock = Path(here.setup.cache_dir) / 'pylock.toml'
        made = here.run('lock', 'thing', '-o', str(lock))
        same((made.returncode, made.stderr), (0, f'{lock}: 3 packages\n'))
        contains(lock.read_text(), 'lock-version = "1.0"', 'name = "thing"', 'name = "part"', 'name = "six"', 'sha256')
        here.index.add('thing', '2')
        here.index.add('other', '1')
        program = script(['thing'], 'import thing, part, six\nprint(thing.__version__, part.__version__)')
        ran = here.run('--locked', str(lock), 'exec', '-', stdin=program)
        same((ran.returncode, ran.stdout, ran.stderr), (0, '1 1\n', ''))
        ran = here.run('exec', '-', stdin=script(['thing'], 'import thing\nprint(thing.__version__)'))
        same((ran.returncode, ran.stdout), (0, '2\n'))
        for stated in (['other'], ['thing>=2']):
            ran = here.run('--locked', str(lock), 'exec', '-', stdin=script(stated, '1'))
            same((ran.returncode, ran.stdout), (1, ''))
            contains(ran.stderr, 'the lock does not meet', stated[0], '--locked')
        # A changed wheel is refused.
        for entry in Path(here.setup.cache_dir).glob('packages-*/wheels/*/*'):
            entry.unlink()
        here.index.add('part', '1', {'part.py': 'changed = True\n'})
        ran = here.run('--locked', str(lock), 'exec', '-', stdin=program)
        same((ran.returncode, ran.stdout), (1, ''))
        contains(ran.stderr, 'part 1', 'sha256')
        same(here.run('lock').returncode, 2)


async def constrained(setup: Setup) -> None:
    """Constraints and find-links, in the shell."""
    with place(setup) as here:
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
    """A client that wants progress, or the log, hears what becomes of packages."""
    with place(setup) as here:
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
    """The lock of a Pyodide distribution, as a source: what indexes lack is taken from there, checked by its hash."""
    with place(setup) as here:
        for name in ['thing', 'liar', 'other']:
            here.index.add(name, '1')
        here.index.add('other', '2')
        # What the index lists has no wheel for the sandbox.
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
        # An index that has a package at all is the one that is asked: `other` is its newest.
        ran = here.run(*flags, 'exec', '-', stdin=program)
        same((ran.returncode, ran.stdout, ran.stderr), (0, '1 2\n', ''))
        # From the cache.
        same(here.run(*flags, '--offline', 'exec', '-', stdin=program).stdout, '1 2\n')
        refused = here.run(*flags, 'exec', '-', stdin=script(['liar'], 'import liar'))
        same((refused.returncode, refused.stdout), (1, ''))
        contains(refused.stderr, 'liar', 'sha256')


async def undone(setup: Setup) -> None:
    """A cell that installs and then ends its machine never was: the session has the packages that it had before."""
    with place(setup) as here, Host(here.setup) as host:
        here.index.add('first', '1')
        here.index.add('second', '1')
        flags = ('--index', here.index.url, '--timeout', '3s', '--grace', '500ms')
        async with host.server(*flags, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            await interpreter.printed(session, '%pip install first')
            same(await interpreter.value(session, 'import first\nfirst.__version__'), "'1'")
            # A wild pointer ends the machine.
            crashed = await interpreter.cell(
                '%pip install second\nimport second, ctypes\nctypes.string_at(0xfffffff0)', session
            )
            same(crashed['success'], False)
            have = 'import importlib.metadata, importlib.util\n'
            have += '[importlib.metadata.version("first"), importlib.util.find_spec("second"), first.__version__]'
            same(await interpreter.value(session, have), "['1', None, '1']")
            contains(await interpreter.printed(session, '%pip install second'), 'Successfully installed second-1')
            same(await interpreter.value(session, 'import second\nsecond.__version__'), "'1'")
            # One that is interrupted keeps what it has done, packages as well.
            here.index.add('third', '1')
            slow = await interpreter.cell('%pip install third\nwhile True: pass', session)
            contains(slow['error'], 'KeyboardInterrupt')
            same(await interpreter.value(session, 'import third\nthird.__version__'), "'1'")
        # Asleep and awake again.
        async with host.server(*flags, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            same(
                await interpreter.value(session, 'first.__version__, second.__version__, third.__version__'),
                "('1', '1', '1')",
            )


async def recorded(setup: Setup) -> None:
    """What is installed says who did that and where its files are; `--no-deps` and `keep_going` do what they say."""
    with place(setup) as here, Host(here.setup) as host:
        moved = {
            'moved/__init__.py': '',
            'moved-1.data/purelib/moved/more.py': 'x = 1\n',
            'moved-1.data/scripts/run': '',
            'moved-1.data/data/share/moved.txt': 'text\n',
        }
        here.index.add('moved', '1', moved)
        here.index.add('lonely', '1', requires=['nobody-has-this'])
        async with host.server('--index', here.index.url, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            await interpreter.printed(session, '%pip install moved')
            look = (
                'import importlib.metadata\nfound = importlib.metadata.distribution("moved")\n'
                'print((found.read_text("INSTALLER"), found.read_text("direct_url.json"), sorted(map(str, found.files)), '
                'all(file.locate().exists() for file in found.files), __import__("moved.more").more.x))'
            )
            files = [
                '../../../share/moved.txt',
                'moved-1.dist-info/INSTALLER',
                'moved-1.dist-info/METADATA',
                'moved-1.dist-info/RECORD',
                'moved-1.dist-info/WHEEL',
                'moved/__init__.py',
                'moved/more.py',
            ]
            same(await interpreter.printed(session, look), repr(('brumate\n', None, files, True, 1)) + '\n')
            failed = await interpreter.cell('%pip install lonely', session)
            contains(''.join(failed['output']) + str(failed['error']), 'nobody-has-this')
            contains(
                await interpreter.printed(session, '%pip install --no-deps lonely'), 'Successfully installed lonely-1'
            )
            assert not any('nobody' in path for path in here.index.asked[-3:]), here.index.asked
            wanted = 'import micropip\nawait micropip.install(["absent-one", "moved", "absent-two"], keep_going=True)'
            failed = await interpreter.cell(wanted, session)
            contains(failed['error'], 'absent-one', 'absent-two')
        # A run of its own leaves the bytecode that it had made.
        here.run('exec', '-', stdin=script(['moved'], 'import moved'))
        made = [
            path
            for path in Path(here.setup.cache_dir).glob('packages-*/**/*')
            if path.is_file() and 'bytecode' in str(path)
        ]
        assert made, 'no bytecode was kept'


async def drawn_keys(setup: Setup) -> None:
    """Copies of a session draw keys of their own, although the library that draws them keeps its generator in memory."""
    draw = 'ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value'
    with place(setup) as here, Host(here.setup) as host:
        async with host.server('--offline', environment=CLEAN) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('%pip install cryptography')
            await interpreter.cell('from cryptography.hazmat.primitives.asymmetric import ec', session)
            keys = [await interpreter.value(session, draw)]
            copies = [(await interpreter.tool('fork_session', session_id=session))['session_id'] for _ in range(2)]
            keys += [await interpreter.value(each, draw) for each in [*copies, session]]
            same(len(set(keys)), 4)


# Looks for the password in all the memory of the guest and in the files of what was installed. Here it is never in one piece, so that what is
# found was brought there.
LOOK = """
import ctypes, importlib.metadata
first, second = b'hush-', b'for-one-index'
size = ctypes.CDLL(None).sbrk(0) & 0xFFFFFFFF
found = 0
for start in range(0, size, 1 << 20):
    piece = ctypes.string_at(start, min((1 << 20) + 64, size - start))
    at = piece.find(first)
    while at >= 0:
        found += piece.startswith(second, at + len(first))
        at = piece.find(first, at + 1)
for file in importlib.metadata.files('thing'):
    found += first in file.locate().read_bytes()
found
"""


async def credentials(setup: Setup) -> None:
    """The password of an index goes to that index: not into a session, an answer, the log, a lock or a file. The host's `keyring`
    is run if the operator says so, and for the operator's own index.
    """
    secret = 'hush-for-one-index'
    forms = [secret.encode(), base64.b64encode(f'me:{secret}'.encode())]
    with place(setup) as here, tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory() as directory:
        here.index.add('thing', '1', requires=['part'])
        here.index.add('part', '1')
        here.index.password = f'me:{secret}'
        address = here.index.url
        data = Path(directory) / 'data'
        with_name = address.replace('http://', 'http://me@')
        here.index.url = with_name.replace('me@', f'me:{secret}@')
        flags = ('--tools', 'all', '--data-dir', str(data), '--index', here.index.url)
        options: dict[str, Any] = {'errors': errors, 'environment': {**CLEAN, 'BRUMATE_LOG': 'trace'}}
        async with connect(here.setup, *flags, **options) as client:
            interpreter = Interpreter(client)
            told = [await interpreter.cell('%pip install thing')]
            session = told[0]['session_info']['session_id']
            told.append(await interpreter.cell('import thing, part\nthing.__version__', session))
            same(told[1]['result'], "'1'")
            told.append(await interpreter.cell('%pip install unheard', session))
            told.append(await interpreter.cell(LOOK, session))
            same((told[3]['error'], told[3]['result']), (None, '0'))
        lock = Path(directory) / 'pylock.toml'
        made = here.run('lock', 'thing', '-o', str(lock))
        same((made.returncode, secret in made.stderr), (0, False))
        errors.seek(0)
        places = {'answers': json.dumps(told).encode(), 'log': errors.read(), 'lock': lock.read_bytes()}
        kept = [*data.rglob('*'), *Path(here.setup.cache_dir).glob('packages-*/**/*')]
        places |= {str(file): file.read_bytes() for file in kept if file.is_file()}
        assert len(places) > 5 and len(places['log']) > 1000, list(places)
        same([name for name, content in places.items() if any(form in content for form in forms)], [])

        # A `keyring` that writes down what it is asked.
        asked = Path(directory) / 'asked'
        keyring = Path(directory) / 'keyring'
        keyring.write_text(f'#!/bin/sh\necho "$@" >> {asked}\necho {secret}\n')
        keyring.chmod(0o755)
        here.index.url = with_name
        program = script(['thing'], 'import thing\nprint(thing.__version__)')
        path = {'PATH': f'{directory}:{os.environ["PATH"]}'}
        for more in ([], ['--keyring-provider', 'disabled']):
            for entry in Path(here.setup.cache_dir).glob('packages-*'):
                shutil.rmtree(entry)
            ran = here.run(*more, 'exec', '-', stdin=program, **path)
            same((ran.returncode, asked.exists()), (1, False))
            contains(ran.stderr, '401')
        # Code names a place of its own, which may be asked for, too; nobody looks up a password for it.
        other = f'other @ {address.replace("127.0.0.1", "me@localhost")}other-1-py3-none-any.whl'
        for dependencies in (['thing'], ['thing', other]):
            ran = here.run(
                '--keyring-provider',
                'subprocess',
                '--allow-urls',
                'exec',
                '-',
                stdin=script(dependencies, 'import thing\nprint(thing.__version__)'),
                **path,
            )
            same((ran.returncode, ran.stdout), (0, '1\n') if dependencies == ['thing'] else (1, ''))
        same(set(asked.read_text().splitlines()), {f'get {address} me'})
