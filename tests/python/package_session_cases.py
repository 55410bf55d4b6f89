"""Packages of sessions: installing in a cell, what survives sleep, restart, fork and a machine that ends.

As in `cases.py`, a case raises when a promise is broken. Nothing here needs the internet.
"""

from __future__ import annotations

import json
from pathlib import Path

from cases import contains, same
from harness import Setup
from interpreter import Host, Interpreter
from package_setup import CLEAN, package_setup, script


async def sessions(setup: Setup) -> None:
    """Installing in one session changes no other. Installed packages survive sleep, restart and fork; a reset removes them."""
    with package_setup(setup) as here, Host(here.setup) as host:
        for version in ['1', '2']:
            here.index.add('thing', version)
        # An import alone does not install it.
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
        # Wheels that were removed from the cache are fetched again.
        for entry in Path(here.setup.cache_dir).glob('packages-*/wheels/*/*'):
            entry.unlink()
        here.index.asked.clear()
        async with host.server(*flags, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            same(await interpreter.value(one, version), "('1', '1')")
            same(await interpreter.value(two, 'thing.__version__'), "'2'")
            same(sorted(here.index.fetched()), ['thing-1-py3-none-any.whl', 'thing-2-py3-none-any.whl'])
            contains(await interpreter.printed(one, '%pip install -U thing'), 'Successfully installed thing-2')
        # Without the index the wheel is lost: the error names it.
        for entry in Path(here.setup.cache_dir).glob('packages-*/wheels/*/*'):
            entry.unlink()
        here.index.files.clear()
        async with host.server(*flags, environment=CLEAN) as client:
            refused = await client.call_raw('execute_code', {'code': '1', 'session_id': two})
            contains(json.dumps(refused), 'thing-2-py3-none-any.whl', 'cannot be fetched again')


async def installing(setup: Setup) -> None:
    """`%pip`, `!pip` and micropip in a cell: installed packages keep their versions if the requirements allow it."""
    with package_setup(setup) as here, Host(here.setup) as host:
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
            # The installed base fits the requirement, so it stays.
            contains(await interpreter.printed(session, '%pip install base'), 'Requirement already satisfied: base')
            contains(await interpreter.printed(session, '%pip install new'), 'base-2', 'new-1')
            contains(await interpreter.printed(session, '%pip list'), 'base', 'old', 'new', 'numpy')
            contains(await interpreter.printed(session, '!pip install numpy'), 'Requirement already satisfied: numpy')
            other = await interpreter.open('import micropip\nawait micropip.install(["old"])')
            same(await interpreter.value(other, 'import old, base\nold.__version__, base.__version__'), "('1', '1')")
            failed = await interpreter.cell('await micropip.install("no-such-thing")', other)
            contains(failed['error'], 'no-such-thing')


async def undone(setup: Setup) -> None:
    """A cell that installs and then ends its machine is rolled back: the session has the packages that it had before."""
    with package_setup(setup) as here, Host(here.setup) as host:
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
            # An interrupted cell keeps its effects, packages included.
            here.index.add('third', '1')
            slow = await interpreter.cell('%pip install third\nwhile True: pass', session)
            contains(slow['error'], 'KeyboardInterrupt')
            same(await interpreter.value(session, 'import third\nthird.__version__'), "'1'")
        # The next server wakes the session.
        async with host.server(*flags, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            same(
                await interpreter.value(session, 'first.__version__, second.__version__, third.__version__'),
                "('1', '1', '1')",
            )


async def recorded(setup: Setup) -> None:
    """An installed package has INSTALLER and a right RECORD; `--no-deps` installs no requirements; `keep_going` names all failures."""
    with package_setup(setup) as here, Host(here.setup) as host:
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
        # A run without a session stores the bytecode that it made.
        here.run('exec', '-', stdin=script(['moved'], 'import moved'))
        made = [
            path
            for path in Path(here.setup.cache_dir).glob('packages-*/**/*')
            if path.is_file() and 'bytecode' in str(path)
        ]
        assert made, 'no bytecode was kept'


async def drawn_keys(setup: Setup) -> None:
    """Forks of a session draw different keys, although OpenSSL's generator is in the memory that they share."""
    draw = 'ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value'
    with package_setup(setup) as here, Host(here.setup) as host:
        async with host.server('--offline', environment=CLEAN) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('%pip install cryptography')
            await interpreter.cell('from cryptography.hazmat.primitives.asymmetric import ec', session)
            keys = [await interpreter.value(session, draw)]
            copies = [(await interpreter.tool('fork_session', session_id=session))['session_id'] for _ in range(2)]
            keys += [await interpreter.value(each, draw) for each in [*copies, session]]
            same(len(set(keys)), 4)
