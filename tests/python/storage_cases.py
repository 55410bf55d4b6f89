"""Where sessions are kept: limits of the disk, a disk that is full, backups."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from cases import contains, same
from harness import Setup, connect
from interpreter import Host, Interpreter

MEGABYTES = 'import os; kept = os.urandom({} << 20); {}'


async def quota(setup: Setup) -> None:
    """The cell that is too much for the disk learns it, and an end in order loses no session."""
    with Host(setup) as host:
        flags = ('--sessions-disk', '25MiB')
        async with host.server(*flags) as client:
            interpreter = Interpreter(client)
            sessions = [await interpreter.open('state = "small"') for _ in range(4)]
            answers = [await interpreter.cell(MEGABYTES.format(10, 'state = "large"'), session) for session in sessions]
            same([answer['success'] for answer in answers], [True, True, False, False])
            for answer in answers[2:]:
                contains(
                    answer['error'], 'SessionLimitError: sessions may take 25 MiB of the disk (set by --sessions-disk'
                )
                contains(answer['error'], 'The cell was undone: the session is as it was before this cell.')
            upload = await interpreter.tool(
                'upload_file', filename='a.bin', content='x' * (6 << 20), session_id=sessions[3], encoding='text'
            )
            same(upload['success'], True)
        async with host.server(*flags) as client:
            interpreter = Interpreter(client)
            states = [await interpreter.value(session, 'state') for session in sessions]
            same(states, ["'large'", "'large'", "'small'", "'small'"])


@contextlib.contextmanager
def small_disk(setup: Setup, place: Path, size: str) -> Iterator[Setup]:
    """A server whose `place` is a small disk; it stays when the server is killed."""
    mount = f'mount -t tmpfs -o size={size},mode=700 none "$1" && echo ready && exec sleep infinity'
    arguments = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', mount, 'sh', str(place)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            same(holder.stdout.readline(), 'ready\n')
            program = place.parent / 'brumate'
            enter = f'exec nsenter --target {holder.pid} --user --mount --preserve-credentials'
            program.write_text(f'#!/bin/sh\n{enter} {setup.brumate} "$@"\n')
            program.chmod(0o755)
            yield replace(setup, brumate=program)
        finally:
            holder.kill()


async def full_disk(setup: Setup) -> None:
    """On a disk that is full, durable cells are undone and told, and what was stored stays."""
    with tempfile.TemporaryDirectory(prefix='brumate-disk-') as place:
        data = Path(place, 'data')
        data.mkdir(mode=0o700)
        with small_disk(setup, data, '16m') as inside:
            flags = ('--tools', 'interpreter', '--data-dir', str(data))
            async with connect(inside, *flags, '--durability', 'cell') as client:
                interpreter = Interpreter(client)
                session = await interpreter.open('state = "stored"')
                for megabytes in (20, 40):
                    answer = await interpreter.cell(MEGABYTES.format(megabytes, 'state = "lost"'), session)
                    same(answer['success'], False)
                    contains(answer['error'], 'No space left on device')
                    contains(answer['error'], 'as it was before this cell.')
                    same(await interpreter.value(session, 'state'), "'stored'")
                same((await interpreter.cell(MEGABYTES.format(2, 'state = "small"'), session))['success'], True)
                (server,) = client.processes
                os.kill(server, signal.SIGKILL)
            # Without `cell` the room is looked at before it is needed.
            async with connect(inside, *flags) as client:
                interpreter = Interpreter(client)
                same(await interpreter.value(session, 'state, len(kept) >> 20'), "('small', 2)")
                answer = await interpreter.cell(MEGABYTES.format(30, 'state = "lost"'), session)
                same(answer['success'], False)
                contains(answer['error'], 'The cell was undone')
            async with connect(inside, *flags) as client:
                same(await Interpreter(client).value(session, 'state'), "'small'")


async def backups(setup: Setup) -> None:
    """A backup of a server that runs has all its sessions, awake or asleep, and they go on elsewhere."""

    def brumate(*arguments: str) -> str:
        command = [str(setup.brumate), 'sessions', *arguments, '--cache-dir', str(setup.cache_dir)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with Host(setup) as host, Host(setup) as other, tempfile.TemporaryDirectory(prefix='brumate-backup-') as place:
        backup = str(Path(place, 'backup'))
        async with host.server('--max-live-sessions', '2') as client:
            interpreter = Interpreter(client)
            sessions = [
                await interpreter.open(f"x = {number}; open('f', 'w').write('{number}')") for number in range(4)
            ]
            contains(brumate('backup', backup, '--data-dir', host.data.name), '4 sessions copied')
            for session in sessions:
                await interpreter.cell('x = "after"', session)
            again = subprocess.run(
                [setup.brumate, 'sessions', 'backup', backup, '--data-dir', host.data.name],
                capture_output=True,
                text=True,
            )
            same(again.returncode, 1)
            contains(again.stderr, 'is not empty')
        contains(brumate('restore', backup, '--data-dir', other.data.name), '4 sessions restored')
        async with other.server() as client:
            interpreter = Interpreter(client)
            for number, session in enumerate(sessions):
                same(await interpreter.value(session, "x, open('f').read()"), f"({number}, '{number}')")
        # Flags stand behind ids as well.
        contains(brumate('remove', sessions[0], '--data-dir', other.data.name), '1 session removed')
        left = json.loads(brumate('list', '--json', '--data-dir', other.data.name))
        same(sorted(session['id'] for session in left), sorted(sessions[1:]))


async def mounts(setup: Setup) -> None:
    """A directory of the host is there in runs and sessions, also after hibernation; without the grant it is gone, and nothing else."""
    with Host(setup) as host, tempfile.TemporaryDirectory(prefix='brumate-checkout-') as place:
        work, data = Path(place, 'work'), Path(place, 'data')
        work.mkdir()
        data.mkdir()
        (work / 'a.txt').write_text('first\n')
        (data / 'numbers.csv').write_text('1,2\n')
        flags = ('--mount', f'{work}:/work', '--mount', f'{data}:/data:ro')
        async with host.server(*flags, tools='all') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open("file = open('/work/a.txt', 'r+'); file.readline(); kept = 7")
            same(await interpreter.value(session, "open('/work/b.txt', 'w').write('of a session')"), '12')
            contains((await interpreter.cell("open('/data/new', 'w')", session))['error'], 'Read-only file system')
            contains(await client.text("open('/data/numbers.csv').read() + open('/work/b.txt').read()"), 'of a session')
            await client.text("open('/work/c.txt', 'w').write('of a run')")
            fork = (await interpreter.tool('fork_session', session_id=session))['session_id']
            same(await interpreter.value(fork, "open('/work/c.txt').read()"), "'of a run'")
            same((work / 'b.txt').read_text(), 'of a session')
        (work / 'a.txt').write_text('first\nsecond\n')
        async with host.server(*flags) as client:
            # The open file goes on where it was.
            interpreter = Interpreter(client)
            same(await interpreter.value(session, 'kept, file.read()'), "(7, 'second\\n')")
            same(
                await interpreter.value(fork, "sorted(__import__('os').listdir('/work'))"),
                "['a.txt', 'b.txt', 'c.txt']",
            )
        async with host.server() as client:
            interpreter = Interpreter(client)
            same(await interpreter.value(session, 'kept'), '7')
            contains((await interpreter.cell("open('/work/a.txt')", session))['error'], 'OSError')
        same((work / 'a.txt').read_text(), 'first\nsecond\n')
