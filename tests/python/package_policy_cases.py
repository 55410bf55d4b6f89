"""Which packages may be installed, and who learns of credentials: the policy, locks, passwords of an index.

As in `cases.py`, a case raises when a promise is broken. Nothing here needs the internet.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from cases import contains, same
from harness import Setup, connect
from interpreter import Interpreter
from package_setup import CLEAN, PackageSetup, failure, package_setup, script


async def policy(setup: Setup) -> None:
    """The rules hold for every way to request a package. A refusal names its rule, and no request for the package is sent."""
    with package_setup(setup) as here:
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
            # Requests of running code.
            for code in [
                '!pip install bad',
                '%pip install bad',
                'import micropip\nawait micropip.install("bad")',
                '!pip install needy',
            ]:
                text = await in_session(here, code, '--deny-package', 'bad')
                contains(text, '`deny` has `bad`')
        same(here.index.fetched(), ['fine-1-py3-none-any.whl'])


async def in_session(here: PackageSetup, code: str, *flags: str) -> str:
    """The output and the error of a cell in a new session."""
    with tempfile.TemporaryDirectory(prefix='brumate-sessions-') as data:
        async with here.server('--tools', 'interpreter', '--data-dir', data, *flags) as client:
            answer = await Interpreter(client).cell(code)
            return ''.join(answer['output']) + (answer['error'] or '')


async def locking(setup: Setup) -> None:
    """`--locked` installs exactly what `brumate lock` wrote, although the index has newer versions by then."""
    with package_setup(setup) as here:
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
        # A wheel whose content has changed is refused.
        for entry in Path(here.setup.cache_dir).glob('packages-*/wheels/*/*'):
            entry.unlink()
        here.index.add('part', '1', {'part.py': 'changed = True\n'})
        ran = here.run('--locked', str(lock), 'exec', '-', stdin=program)
        same((ran.returncode, ran.stdout), (1, ''))
        contains(ran.stderr, 'part 1', 'sha256')
        same(here.run('lock').returncode, 2)


# Code that counts the password in the guest's memory and in the files of the installed package. The code has it in two
# parts, so that it does not find itself.
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
    """The password of an index is sent to that index only: it is in no session, answer, log, lock or file.

    The host's `keyring` is run only with `--keyring-provider subprocess`, and only for the operator's own index.
    """
    secret = 'hush-for-one-index'
    forms = [secret.encode(), base64.b64encode(f'me:{secret}'.encode())]
    with package_setup(setup) as here, tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory() as directory:
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

        # This `keyring` writes down what it is asked for.
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
        # Code may request a URL with a user's name in it; the keyring is not asked about that.
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
