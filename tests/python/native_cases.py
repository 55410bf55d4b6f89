"""Sessions in kernels of the host (`--engine jupyter`): their walls, kernels that lie, and their ends."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import zipfile
from pathlib import Path

import anyio

from cases import contains, same
from harness import Setup
from interpreter import Host, Interpreter
from package_index import Index, serving
from package_setup import CLEAN
from processes import descendants, has_ended, parents, proportional_bytes

CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, *arguments):
    status = getattr(libc, name)(*arguments)
    return status == -1 and ctypes.get_errno() in (1, 38)
[refused('unshare', 0x10000000), refused('mount', b'none', b'/tmp', b'tmpfs', 0, None), refused('ptrace', 16, 1, None, None),
 refused('setns', 0, 0), refused('setuid', 0), refused('chroot', b'/tmp'), refused('memfd_create', b'x', 0),
 refused('shmget', 0, 4096, 0o1600), refused('syscall', ctypes.c_long(425), 1, None)]
"""
"""Calls that are refused: namespaces, mounts, tracing, other users, memory that no limit counts, io_uring."""

STATUS = """
lines = open('/proc/self/status').read().splitlines()
fields = dict(line.split(':', 1) for line in lines)
[int(fields['CapEff'], 16), int(fields['CapBnd'], 16), int(fields['NoNewPrivs']), int(fields['Seccomp'])]
"""

SOCKETS = """
import socket
def made(family, kind):
    try:
        socket.socket(family, kind).close()
        return True
    except OSError:
        return False
[made(family, kind) for family, kind in [(1, 1), (2, 1), (17, 3), (40, 1), (38, 5), (31, 3), (16, 2)]]
"""
"""Unix and internet sockets are made; packets, virtual machines, the kernel's cryptography, Bluetooth and the kernel's messages not."""

FORGED = """
kernel = get_ipython().kernel
def send(kind, content):
    kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent('shell'))
send('status', {'execution_state': 'idle'})
send('display_data', {'data': {'text/plain': 5, 'image/png': '!', 'other': {'a': [1]}}, 'metadata': 3})
send('error', {'ename': 5, 'evalue': None, 'traceback': [1, None, 'text']})
send('stream', {'name': 'stdlog', 'text': 'nowhere'})
send('no such kind', {})
for parts in ([b'topic', b'<IDS|MSG>', b'bad', b'{}'], [b''] * 100, [b'x' * 100_000], [b'<IDS|MSG>']):
    kernel.iopub_socket.send_multipart(parts)
'forged'
"""
"""Messages that a kernel never sends, or not so."""

MEMORY = """
import os, time
for number in range(6):
    if os.fork() == 0:
        memory = bytearray(150 << 20)
        for page in range(0, len(memory), 4096):
            memory[page] = 1
        time.sleep(60)
        os._exit(0)
time.sleep(30)
"""
"""Processes that each have less memory than they may, and together more."""

PROCESSES = """
import os, time
count = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(1)
            os._exit(0)
        count += 1
except OSError:
    pass
for number in range(count):
    os.wait()
0 < count < 300
"""


WHEEL = """
import zipfile
with zipfile.ZipFile('found-0.1-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('found.py', 'x = 7')
    wheel.writestr('found-0.1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: found\\nVersion: 0.1\\n')
    wheel.writestr('found-0.1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('found-0.1.dist-info/RECORD', 'found.py,,\\nfound-0.1.dist-info/METADATA,,\\nfound-0.1.dist-info/WHEEL,,\\nfound-0.1.dist-info/RECORD,,\\n')
"""
"""Makes a wheel."""


async def native_walls(setup: Setup) -> None:
    """Code in a native kernel sees neither files, variables nor processes of the server, reaches no network and has no rights."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('import os, socket')
            for path in (
                str(setup.brumate),
                host.data.name,
                str(setup.cache_dir),
                '/etc/shadow',
                '/sys',
                '/boot',
                '/proc/meminfo',
            ):
                same((path, await interpreter.value(session, f'os.path.exists({path!r})')), (path, 'False'))
            environment = await interpreter.printed(session, 'print(dict(os.environ))')
            for text in (host.data.name, str(setup.cache_dir), str(Path.home())):
                # The virtual environment may be in the home directory, and is no secret.
                assert text not in environment.replace('/bin', '') or text == str(Path.home()), environment
            same(
                await interpreter.value(session, "sorted(int(name) for name in os.listdir('/proc') if name.isdigit())"),
                '[1, 2]',
            )
            same(await interpreter.value(session, CALLS), str([True] * 9))
            same(await interpreter.value(session, STATUS), '[0, 0, 1, 2]')
            same(await interpreter.value(session, SOCKETS), str([True, True, *[False] * 5]))
            for address in ("('127.0.0.1', 22)", "('169.254.169.254', 80)", "('1.1.1.1', 443)"):
                answer = await interpreter.cell(f'socket.create_connection({address}, timeout=2)', session)
                assert answer['error'].startswith(('OSError', 'ConnectionRefusedError')), answer
            for path in ('/usr/x', '/etc/passwd', '/x', '/proc/1/mem'):
                contains((await interpreter.cell(f"open({path!r}, 'w')", session))['error'], 'Error')
            contains((await interpreter.cell('os.kill(1, 0)', session))['error'], 'PermissionError')


async def native_limits(setup: Setup) -> None:
    """Memory, files and processes of a native kernel end at their limits, and it says which."""
    with Host(setup) as host:
        async with host.server('--memory', '512MiB', '--files', '16MiB') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            contains((await interpreter.cell('bytearray(1 << 30)', session))['error'], 'MemoryError')
            full = "with open('a', 'wb') as file: file.write(bytes(32 << 20))"
            contains((await interpreter.cell(full, session))['error'], 'No space left on device')
            elsewhere = "with open('/dev/shm/a', 'wb') as file: file.write(bytes(32 << 20))"
            contains((await interpreter.cell(elsewhere, session))['error'], 'No space left on device')
            same(await interpreter.value(session, PROCESSES), 'True')
            together = await interpreter.cell(MEMORY, session)
            contains(together['error'], 'SessionLostError', '512 MiB of memory (set by --memory')


REQUESTS = """
import contextlib, socket
HEAD = 'GET {} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n'
def answers(request):
    with socket.create_connection(('127.0.0.1', 3141)) as connection:
        answer = b''
        # The gateway answers and closes before it has read all of some requests.
        with contextlib.suppress(ConnectionError):
            connection.sendall(request)
        with contextlib.suppress(ConnectionError):
            while more := connection.recv(1 << 16):
                answer += more
    return [int(line.split()[1]) for line in answer.split(b'\\r\\n') if line.startswith(b'HTTP/1.1 ')]
def get(path, *fields, body=''):
    (status,) = answers((HEAD.format(path) + ''.join(field + '\\r\\n' for field in fields) + '\\r\\n' + body).encode())
    return status
"""
"""Requests to the gateway for packages, as no installer makes them, and the statuses of the answers."""


async def native_installs(setup: Setup) -> None:
    """`pip install` puts packages of the index, and a wheel that was uploaded, into the session's own environment, and into no other.

    The rules hold, and the code learns nothing of the index but its files.
    """
    with Host(setup) as host, serving(Index(password='reader:secret')) as index:
        index.add('acme-tools', '1.5', requires=['acme-core>=2'])
        index.add('acme-core', '2.0')
        index.add('acme-core', '3.0')
        index.add('evil', '1')
        index.lies.add(index.add('liar', '1'))
        place = index.url.replace('//', '//reader:secret@')
        flags = ('--index', place, '--deny-package', 'evil', '--deny-package', 'acme-core>=3')
        async with host.server(*flags, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            session, other = await interpreter.open(), await interpreter.open()
            await interpreter.cell(WHEEL, session)
            contains(
                await interpreter.printed(session, '%pip install found-0.1-py3-none-any.whl'),
                'Successfully installed found-0.1',
            )
            same(await interpreter.value(session, 'import found\nfound.x'), '7')
            contains(await interpreter.printed(session, '!python -c "import found, numpy; print(found.x)"'), '7')
            contains(await interpreter.printed(session, '!pip list'), 'found', 'numpy')
            contains((await interpreter.cell('import found', other))['error'], 'ModuleNotFoundError')
            # The three ways to pip.
            printed = await interpreter.printed(session, '%pip install --progress-bar off acme-tools')
            contains(printed, 'Successfully installed acme-core-2.0 acme-tools-1.5', '`deny` has `acme-core>=3`')
            same(await interpreter.value(session, 'import acme_core, acme_tools\nacme_core.__version__'), "'2.0'")
            assert any(path.endswith('.metadata') for path in index.asked), index.asked
            contains((await interpreter.cell('import acme_tools', other))['error'], 'ModuleNotFoundError')
            contains(await interpreter.printed(other, '!pip install no-such-package'), 'No matching distribution found')
            refused = (
                'import subprocess, sys\nrun = lambda name: print(subprocess.run([sys.executable, "-m", "pip", "install", name], '
                'stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout)\nrun("evil")\nrun("liar")'
            )
            contains(
                await interpreter.printed(other, refused), 'Brumate: `evil` is not allowed', 'DO NOT MATCH THE HASHES'
            )
            seen = (
                'import os, urllib.request\nprint(dict(os.environ))\n'
                'print(urllib.request.urlopen(os.environ["PIP_INDEX_URL"] + "acme-tools/").read())'
            )
            printed = await interpreter.printed(other, seen)
            contains(printed, 'href="/files/acme-tools/acme_tools-1.5')
            assert 'secret' not in printed and index.url.split('/')[2] not in printed, printed
            assert not any('evil' in path for path in index.asked), index.asked


def program_wheel(name: str, program: Path) -> tuple[str, bytes]:
    """A wheel that installs a program of this host: its file name and its bytes."""
    files = {
        f'{name}-1.data/scripts/{program.name}': program.read_bytes(),
        f'{name}-1.dist-info/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: 1\n'.encode(),
        f'{name}-1.dist-info/WHEEL': b'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    }
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, 'w') as opened:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o100755 << 16
            opened.writestr(entry, content, zipfile.ZIP_DEFLATED, 1)
        opened.writestr(f'{name}-1.dist-info/RECORD', ''.join(f'{path},,\n' for path in files))
    return f'{name}-1-py3-none-any.whl', archive.getvalue()


async def native_uv(setup: Setup) -> None:
    """uv, which pip installs from the index first, installs a package with more requirements than it has connections, and is refused."""
    program = Path(os.environ['BRUMATE_TEST_PYTHON_UV']).with_name('uv')
    with Host(setup) as host, serving(Index()) as index:
        name, content = program_wheel('uv', program)
        index.files[name] = content
        parts = [f'acme-part{number}' for number in range(60)]
        for part in parts:
            index.add(part, '1')
        index.add('acme-whole', '1', requires=parts)
        index.add('evil', '1')
        async with host.server('--index', index.url, '--deny-package', 'evil', environment=CLEAN) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            contains(
                await interpreter.printed(session, '%pip install --progress-bar off uv'), 'Successfully installed uv-1'
            )
            contains(
                await interpreter.printed(session, '!uv --color never pip install acme-whole 2>&1'),
                'Installed 61 packages',
                '+ acme-whole==1',
            )
            same(await interpreter.value(session, 'import acme_part59\nacme_part59.__version__'), "'1'")
            contains(await interpreter.printed(session, '!uv --color never pip install evil 2>&1'), '403 Forbidden')
            assert not any('evil' in path for path in index.asked), index.asked


async def native_index(setup: Setup) -> None:
    """The gateway for packages is no proxy, finds nothing but files of the index, and serves the next one whatever a session does to it."""
    with Host(setup) as host, serving(Index()) as index:
        index.add('acme-tools', '1.5')
        async with host.server('--index', index.url, environment=CLEAN) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open(REQUESTS)
            port = index.url.split(':')[2].split('/')[0]
            file = '/files/acme-tools/acme_tools-1.5-py3-none-any.whl'
            chunked = "'Transfer-Encoding: chunked', body='0\\r\\n\\r\\n'"
            both = "'Content-Length: 3', 'Transfer-Encoding: chunked', body='0\\r\\n\\r\\n' + HEAD.format('/simple/other/') + '\\r\\n'"
            for code, answer in [
                ("get('/simple/acme-tools/')", 200),
                (f'get({file!r})', 200),
                (f"get({file!r} + '.metadata')", 200),
                ("get('/reasons')", 200),
                # Other places: by the form for proxies, by tunnels, by the name of a host, by paths.
                (f"get('http://127.0.0.1:{port}/simple/acme-tools/')", 400),
                ("get('http://169.254.169.254/latest/meta-data/')", 400),
                (f"answers(b'CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')[0]", 405),
                (f"get('/simple/acme-tools/', 'X-Forwarded-Host: 127.0.0.1:{port}', 'Upgrade: h2c')", 200),
                (f"get('//127.0.0.1:{port}/simple/acme-tools/')", 404),
                ("get('/')", 404),
                ("get('/simple/')", 404),
                ("get('/simple/../../files/')", 404),
                ("get('/simple/%2e%2e%2f%2e%2e%2fetc/')", 404),
                ("get('/simple/Acme_Tools/')", 404),
                ("get('/files/acme-tools/..%2f..%2f..%2fetc%2fpasswd')", 404),
                ("get('/files/acme-tools/../../etc/passwd')", 404),
                ("get('/files/acme-tools/other-1.5-py3-none-any.whl')", 404),
                # Bodies, and requests behind them.
                ("answers(b'POST /simple/acme-tools/ HTTP/1.1\\r\\nContent-Length: 5\\r\\n\\r\\n12345')[0]", 405),
                (f"get('/simple/acme-tools/', {chunked})", 200),
                (f"get('/simple/acme-tools/', {both})", 200),
                ("get('/', 'Content-Length: 3', 'Content-Length: 4')", 400),
                # Heads that are too long, or none.
                ("get('/' + 'x' * 100_000)", 431),
                ("get('/', 'x: ' + 'y' * 100_000)", 431),
                ("get('/', *['x: y'] * 100)", 431),
                ("answers(b'\\x16\\x03\\x01' * 1000 + b'\\r\\n\\r\\n')[0]", 400),
            ]:
                same((code, await interpreter.value(session, code)), (code, str(answer)))
            # The index itself is in no reach, and the gateway of a session only in its own.
            direct = await interpreter.cell(f"socket.create_connection(('127.0.0.1', {port}), timeout=2)", session)
            contains(direct['error'], 'ConnectionRefusedError')
            namespace = "import os\nos.readlink('/proc/self/ns/net')"
            places = [await interpreter.value(await interpreter.open(), namespace) for _ in range(2)]
            same(len({*places, repr(os.readlink('/proc/self/ns/net'))}), 3)
            # Connections that say nothing, that break off, and that read nothing.
            await interpreter.cell(
                f"""
kept = [socket.create_connection(('127.0.0.1', 3141)) for number in range(20)]
for number, connection in enumerate(kept):
    connection.sendall([b'', b'GET /simple/', b'GET {file} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'][number % 3])
""",
                session,
            )
            other = await interpreter.open(REQUESTS)
            same(await interpreter.value(other, "get('/simple/acme-tools/')"), '200')
            if 'BRUMATE_TEST_LONG' in os.environ:
                # They end by themselves, after 10 s, and the session is served again.
                same(await interpreter.value(session, "get('/simple/acme-tools/')"), '200')
                ends = 'for connection in kept:\n    while connection.recv(1 << 16): pass\nlen(kept)'
                same(await interpreter.value(session, ends), '20')
            for path in index.asked:
                assert path.startswith(('/simple/acme-tools/', '/files/acme_tools-1.5')), index.asked


async def native_lies(setup: Setup) -> None:
    """A kernel that forges, floods, breaks its sockets or stops harms its own session only, and its server stays small."""
    with Host(setup) as host:
        async with host.server('--timeout', '5s', '--grace', '1s') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x = 1')
            forged = await interpreter.cell(FORGED, session)
            # After its lie that it is idle nobody waits for the value.
            assert forged['success'] and forged['result'] in (None, "'forged'"), forged
            same(await interpreter.value(session, 'x'), '1')
            flood = await interpreter.cell("while True: print('y' * 1000)", session)
            contains(flood['error'], 'time limit of 5 s')
            for code in (
                'import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)',
                'import os\nfor number in range(3, 1024):\n    try: os.close(number)\n    except OSError: pass',
                "kernel = get_ipython().kernel\nkernel.session.send(kernel.iopub_socket, 'display_data', "
                "{'data': {'text/plain': 'z' * (80 << 20)}, 'metadata': {}}, parent=kernel.get_parent('shell'))\n"
                'import time\ntime.sleep(60)',
                "import os\nos.unlink('/run/kernel/socket-1')\nos.symlink('/run/docker.sock', '/run/kernel/socket-1')\nos._exit(1)",
            ):
                lost = await interpreter.cell(code, await interpreter.open())
                contains(lost['error'], 'SessionLostError')
            same(await interpreter.value(await interpreter.open(), '1 + 1'), '2')
            status = Path(f'/proc/{client.processes[0]}/status').read_text()
            (peak,) = [int(line.split()[1]) for line in status.splitlines() if line.startswith('VmHWM:')]
            assert peak < 600 << 10, f'{peak} KiB'


async def native_ends(setup: Setup) -> None:
    """The end of a server, even by SIGKILL, ends its kernels and everything that they have started."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open("import subprocess\nsubprocess.Popen(['sleep', '98765'])")
            same(await interpreter.value(session, '1'), '1')
            (server,) = client.processes[:1]
            before = [pid for pid in descendants(server) if pid != server]
            assert len(before) >= 3, before
            os.kill(server, 9)
            with anyio.fail_after(30):
                while not all(map(has_ended, before)) or sleepers():
                    await anyio.sleep(0.05)


def sleepers() -> list[int]:
    """Processes that the case's cell has started."""
    found = []
    for pid in parents():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if Path(f'/proc/{pid}/cmdline').read_bytes() == b'sleep\x0098765\0':
                found.append(pid)
    return found


async def native_packages(setup: Setup) -> None:
    """Libraries that have no form for WebAssembly do real work: polars, duckdb, pyarrow, lightgbm, OpenCV."""
    with Host(setup) as host:
        async with host.server('--memory', '2GiB', '--timeout', '2m') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('import numpy as np')
            for code, result in [
                (
                    'import polars as pl\nframe = pl.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]})\n'
                    'frame.group_by("k").agg(pl.col("v").sum()).sort("k").rows()',
                    "[('a', 4), ('b', 2)]",
                ),
                (
                    'import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table({"n": list(range(1000))}), "n.parquet")\n'
                    'pq.read_table("n.parquet")["n"].to_pylist()[-1]',
                    '999',
                ),
                ('import duckdb\nduckdb.sql("select sum(n) from \'n.parquet\'").fetchall()', '[(499500,)]'),
                (
                    'import lightgbm as lgb\nrandom = np.random.default_rng(1)\nx = random.normal(size=(500, 4))\n'
                    'y = (x[:, 0] > 0).astype(int)\nmodel = lgb.LGBMClassifier(n_estimators=20, verbose=-1).fit(x, y)\n'
                    'bool((model.predict(x) == y).mean() > 0.95)',
                    'True',
                ),
                (
                    'import cv2\npicture = np.zeros((64, 64), np.uint8)\ncv2.circle(picture, (32, 32), 10, 255, -1)\n'
                    'len(cv2.findContours(picture, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0])',
                    '1',
                ),
                (
                    'import multiprocessing\nwith multiprocessing.get_context("fork").Pool(2) as pool:\n    done = pool.map(abs, [-1, -2])\ndone',
                    '[1, 2]',
                ),
            ]:
                same((code, await interpreter.value(session, code)), (code, result))


SESSIONS = 50
"""Sessions that are alive at once in `native_many`."""
MANY_BYTES = 8 << 30
"""Memory that they have together at most: that of a small server."""


async def native_many(setup: Setup) -> None:
    """50 sessions, each with a table and a figure, have less than 8 GiB together, and each still knows its names."""
    code = (
        "import numpy as np, pandas as pd, matplotlib.pyplot as plt\nframe = pd.DataFrame({'n': np.arange(1000)})\n"
        "plt.plot(frame['n'])\nplt.show()\n"
    )
    with Host(setup) as host:
        async with host.server('--max-sessions', str(SESSIONS), '--timeout', '2m') as client:
            interpreter = Interpreter(client)
            sessions = [await interpreter.open(f'{code}mine = {number}') for number in range(SESSIONS)]
            own = proportional_bytes(descendants(client.processes[0]))
            assert 0 < own < MANY_BYTES, f'{own >> 20} MiB'
            print(f'{SESSIONS} sessions: {own >> 20} MiB', file=sys.stderr)
            for number, session in enumerate(sessions):
                same(await interpreter.value(session, 'mine'), str(number))


async def bash(setup: Setup) -> None:
    """A kernel of another language runs its cells, keeps its state and stops at its limits."""
    with Host(setup) as host:
        async with host.server('--timeout', '3s') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x=5; echo text > file.txt')
            answer = await interpreter.cell('echo $x; pwd; cat file.txt', session)
            same((answer['success'], ''.join(answer['output'])), (True, '5\n/workspace\ntext\n'))
            same((await interpreter.cell('ls /no-such-place', session))['success'], False)
            contains((await interpreter.cell('while true; do :; done', session))['error'], 'time limit of 3 s')
            same(''.join((await interpreter.cell('echo $x', session))['output']), '5\n')
