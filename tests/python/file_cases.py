"""Files of a session: how they are reported, listed, read, uploaded and copied in, and that no address leads elsewhere.

As in `cases.py`, a case raises when a promise is broken.
"""

from __future__ import annotations

import base64
import hashlib
import os
import random
import tempfile
from pathlib import Path

from cases import contains, same
from harness import Setup
from interpreter import NATIVE, Host, Interpreter


async def traversal(setup: Setup) -> None:
    """No spelling of an address leads out of a session's directory."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            for path in [
                '..%2Fconfig.py',
                '%2E%2E%2Fconfig.py',
                '%252E%252E%252Fconfig.py',
                '%2Fetc%2Fpasswd',
                '..%5Cconfig.py',
                'a%00.png',
            ]:
                await interpreter.refused(f'kernel://{session}/{path}')
            for uri in [
                'kernel://../config.py',
                'kernel://%2E%2E/config.py',
                'kernel:///config.py',
                'file:///etc/passwd',
            ]:
                await interpreter.refused(uri)


async def files(setup: Setup) -> None:
    """Files are reported once, by the call that made or changed them, and are resources with their real types."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            made = await interpreter.cell("import os\nopen('a.csv', 'w').write('1,2\\n')\nos.getcwd()")
            session = made['session_info']['session_id']
            listed = [{'uri': f'kernel://{session}/a.csv', 'mime_type': 'text/csv', 'name': 'a.csv', 'size': 4}]
            same((made['result'], made['files']), ("'/workspace'", listed))
            same(made['output'], ['📊 File created: a.csv (text/csv, 4 bytes)'])
            quiet = await interpreter.cell('1 + 1', session)
            same((quiet['files'], quiet['output']), ([], []))
            same((await interpreter.tool('list_session_files', session_id=session))['files'], listed)
            contents = await interpreter.read(listed[0]['uri'])
            same((contents['mimeType'], contents['text']), ('text/csv', '1,2\n'))
            changed = await interpreter.cell("open('a.csv', 'w').write('3,4\\n')", session)
            same([file['name'] for file in changed['files']], ['a.csv'])
            away = await interpreter.cell(
                "%cd /tmp\nopen('lost.csv', 'w').write('1')\nopen('.hidden', 'w').close()", session
            )
            same(away['files'], [])
            if NATIVE:
                return
            said = 'Not in the list of files, because outside of /workspace: /tmp/lost.csv. Write files there, or move'
            same([line.startswith(said) for line in away['output'][1:]], [True])
            back = await interpreter.cell(
                "import shutil\nshutil.move('/tmp/lost.csv', '/workspace')\n%cd -q /workspace", session
            )
            same([file['name'] for file in back['files']], ['lost.csv'])
            await interpreter.cell("import os\nos.remove('lost.csv')", session)
            environment = "import os\nopen(os.environ['OUTPUT_DIR'] + '/b.json', 'w').write('{}')"
            same(
                [file['mime_type'] for file in (await interpreter.cell(environment, session))['files']],
                ['application/json'],
            )
            names = ['C:\\temp\\out.csv', 'a%2Fb.csv', 'off%25.csv']
            odd = await interpreter.cell(f'for name in {names}: _ = open(name, "w").write(name)', session)
            same([file['name'] for file in odd['files']], names)
            same([(await interpreter.read(file['uri']))['text'] for file in odd['files']], names)


async def uploads(setup: Setup) -> None:
    """A file is uploaded in parts, as text and as base64, and is there after a restart."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            first = await interpreter.tool('upload_file', filename='in.csv', content='a,b\n1,2\n', last=False)
            session = first['session_info']['session_id']
            more = base64.b64encode(b'3,4\n').decode()
            await interpreter.tool(
                'upload_file', filename='in.csv', content=more, encoding='base64', offset=8, session_id=session
            )
            same(await interpreter.value(session, "import pandas as pd\nint(pd.read_csv('in.csv').b.sum())"), '6')
        async with host.server() as client:
            same(await Interpreter(client).value(session, "open('in.csv').read()"), "'a,b\\n1,2\\n3,4\\n'")


async def inputs(setup: Setup) -> None:
    """`from` copies files of an input directory, which do not pass through the protocol; other files are refused."""
    with Host(setup) as host, tempfile.TemporaryDirectory() as place:
        root = Path(place)
        (root / 'in' / 'sub').mkdir(parents=True)
        (root / 'secret').write_text('secret')
        (root / 'in' / 'a.csv').write_text('a,b\n1,2\n')
        (root / 'in' / 'sub' / 'empty').write_bytes(b'')
        large = random.Random(1).randbytes(5_000_000)
        (root / 'in' / 'sub' / 'large.bin').write_bytes(large)
        with (root / 'in' / 'huge').open('wb') as huge:
            huge.truncate(1 << 40)
        (root / 'in' / 'out').symlink_to('../secret')
        (root / 'in' / 'absolute').symlink_to(root / 'secret')
        (root / 'in' / 'up').symlink_to('..')
        os.mkfifo(root / 'in' / 'pipe')
        flags = ('--input-dir', f'{root}/in', '--input-dir', f'named={root}/in/sub', '--files', '16MiB')
        async with host.server(*flags) as client:
            interpreter = Interpreter(client)
            (upload,) = [tool for tool in await client.tools() if tool['name'] == 'upload_file']
            contains(upload['inputSchema']['properties']['from']['description'], 'named/...')
            first = await interpreter.tool('upload_file', **{'from': 'a.csv'})
            same((first['success'], first['file']['name'], first['file']['size']), (True, 'a.csv', 8))
            session = first['session_info']['session_id']
            same(await interpreter.value(session, "open('a.csv').read()"), "'a,b\\n1,2\\n'")
            for name in ('sub/large.bin', 'named/large.bin'):
                await interpreter.tool('upload_file', filename='data/x.bin', session_id=session, **{'from': name})
                digest = "import hashlib\nhashlib.sha256(open('data/x.bin', 'rb').read()).hexdigest()"
                same(await interpreter.value(session, digest), repr(hashlib.sha256(large).hexdigest()))
            await interpreter.tool('upload_file', session_id=session, **{'from': 'sub/empty'})
            same(await interpreter.value(session, "open('empty').read()"), "''")
            for name in (
                '..', '.', '/', '../secret', 'sub/../../secret', '/etc/passwd', '//etc/passwd', 'out', 'absolute', 'up/secret', 'up',
                'pipe', 'sub', 'none', 'named/../a.csv', 'a.csv/', '..\\secret', '%2e%2e/secret', '/proc/self/environ', 'a\0',
            ):  # fmt: skip
                refused = await interpreter.tool('upload_file', filename='got', session_id=session, **{'from': name})
                same((refused['success'], refused['file']), (False, None))
                assert place not in refused['message'], refused
            huge = await interpreter.tool('upload_file', session_id=session, **{'from': 'huge'})
            contains(huge['message'], 'no space is left in the session (set by --files')
            same(
                await interpreter.value(session, "import os\nsorted(name for name in os.listdir() if name[0] != '.')"),
                "['a.csv', 'data', 'empty']",
            )
            both = await client.call_raw('upload_file', {'from': 'a.csv', 'content': 'x'})
            contains(both['content'][0]['text'], '`content` and `from` exclude each other')
        async with host.server() as client:
            without = await Interpreter(client).tool('upload_file', filename='x', **{'from': 'a.csv'})
            contains(without['message'], 'no input directory (set by --input-dir)')


async def natural_order(setup: Setup) -> None:
    """Files are listed in natural order: `figure_2.png` before `figure_10.png`."""
    with Host(setup) as host:
        async with host.server() as client:
            code = 'import matplotlib.pyplot as plt\nfor n in range(11):\n    plt.figure()\n    plt.plot([n])\nNone'
            answer = await Interpreter(client).cell(code)
            expected = [f'figure_{number}.png' for number in range(1, 12)]
            same([file['name'] for file in answer['files']], expected)
            listed = await Interpreter(client).tool(
                'list_session_files', session_id=answer['session_info']['session_id']
            )
            same([file['name'] for file in listed['files']], expected)


async def nothing_of_ours(setup: Setup) -> None:
    """A session's directory holds nothing but the session's own files, also after a plot."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('import os\nbefore = os.listdir()\nimport matplotlib.pyplot as plt')
            same(
                await interpreter.value(
                    session, "plt.plot([1]); plt.savefig('a.png'); plt.close()\nbefore, os.listdir()"
                ),
                "([], ['a.png'])",
            )


async def ranges(setup: Setup) -> None:
    """A file of 200 MB is read in ranges; asked for as a whole, the answer says how. Hidden files are not handed out."""
    with Host(setup) as host:
        async with host.server('--memory', '1GiB', '--files', '1GiB') as client:
            interpreter = Interpreter(client)
            made = await interpreter.cell(
                "with open('large.bin', 'wb') as file:\n"
                "    for number in range(200):\n"
                "        file.write(bytes([number]) * 1_000_000)\n"
                "open('.secret', 'w').write('hidden')\n"
                "open('umlaut.txt', 'w').write('äöü')"
            )
            uri = next(file['uri'] for file in made['files'] if file['name'] == 'large.bin')
            refused = await interpreter.refused(uri)
            contains(refused, 'at most 32 MiB', f'{uri}?offset=0&length=33554432')
            read = await interpreter.read(f'{uri}?offset=149999990&length=20')
            same(base64.b64decode(read['blob']), bytes([149]) * 10 + bytes([150]) * 10)
            same((read['uri'], read['_meta']['brumate/size']), (f'{uri}?offset=149999990&length=20', 200_000_000))
            # A range that goes beyond the end gives what there is, which may be nothing.
            read = await interpreter.read(f'{uri}?offset=199999999')
            same(base64.b64decode(read['blob']), bytes([199]))
            same(base64.b64decode((await interpreter.read(f'{uri}?offset=300000000&length=5'))['blob']), b'')
            # Half a character is no text.
            text = uri.replace('large.bin', 'umlaut.txt')
            same((await interpreter.read(f'{text}?offset=2'))['text'], 'öü')
            same(base64.b64decode((await interpreter.read(f'{text}?offset=1&length=3'))['blob']), 'äöü'.encode()[1:4])
            for wrong in ('?offset=-1', '?offset=1&offset=2', '?start=1', '?'):
                contains(await interpreter.refused(f'{text}{wrong}'), 'not found')
            contains(await interpreter.refused(uri.replace('large.bin', '.secret')), 'not found')
            # The whole output of a cell can be read, and no upload replaces it.
            session = made['session_info']['session_id']
            await interpreter.cell("open('.output', 'w').write('mine')", session)
            long = await interpreter.cell("print('y' * 100_000)", session)
            contains(long['output'][0], f'all of it: kernel://{session}/.output%2F3.txt]')
            same((await interpreter.read(f'kernel://{session}/.output%2F3.txt'))['text'], 'y' * 100_000 + '\n')
            for name in ('.output', '.output/3.txt'):
                wanted = {'session_id': session, 'filename': name, 'content': 'x'}
                refused = await interpreter.client.call_raw('upload_file', wanted)
                contains(str(refused), 'belong to the outputs of cells')
