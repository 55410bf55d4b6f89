"""Many sessions used at random, and servers that are killed at random: nothing that was answered is lost or shifted.

`BRUMATE_TEST_SEED` is the number all chance follows from (1 when it is not set). With `BRUMATE_TEST_LONG` set 500 sessions, 50
of them awake, are used for ten minutes, and a server is killed 100 times.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import anyio

from analyst_cases import ended
from cases import contains, same
from harness import Setup
from interpreter import EXPIRED, Host, Interpreter
from processes import descendants, proportional_bytes

LONG = bool(os.environ.get('BRUMATE_TEST_LONG'))
SEED = int(os.environ.get('BRUMATE_TEST_SEED', '1'))

# What all processes of a server may take together beside its sessions, and for each that may be awake.
SERVER_BYTES = 1 << 30
SESSION_BYTES = 20 << 20

# A checksum of all that a session was told: a cell that ran twice, or not at all, or somewhere else shows. One step of the
# interpreter changes the state, so that an interrupt comes before or after it.
SETUP = """
log = []
def total():
    result = 0
    for n in log:
        result = (result * 31 + n) % 1_000_003
    return result
def told(n):
    log.append(n)
    return total()
"""
# A server that is stopped for a while by its machine's other work is not to end cells for that.
PATIENT = ('--timeout', '1h', '--cpu-timeout', '1h')


@dataclass
class Known:
    """A session as it must be."""

    id: str
    numbers: list[int] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def total(self) -> int:
        total = 0
        for number in self.numbers:
            total = (total * 31 + number) % 1_000_003
        return total


class Crowd:
    """Sessions, and what is done with them. One task at a time holds a session, so that what must be in it is known."""

    def __init__(self, interpreter: Interpreter, chance: random.Random, size: int) -> None:
        self.interpreter, self.chance, self.size = interpreter, chance, size
        self.sessions: list[Known] = []
        self.number = 0
        self.calls: dict[str, int] = {}

    def fresh(self) -> int:
        """A number that no other call has."""
        self.number += 1
        return self.number

    async def open(self) -> None:
        number = self.fresh()
        answer = await self.interpreter.cell(f'{SETUP}told({number}), {number}')
        assert answer['session_info'], answer
        known = Known(answer['session_info']['session_id'], [number])
        same(answer['result'], f'({known.total}, {number})')
        self.sessions.append(known)

    async def cell(self, known: Known) -> None:
        number = self.fresh()
        known.numbers.append(number)
        answer = await self.interpreter.cell(f'print("cell", {number})\ntold({number}), {number}, len(log)', known.id)
        # Everything in an answer is this call's: none is shifted.
        same(
            (answer['output'], answer['result']),
            ([f'cell {number}\n'], f'({known.total}, {number}, {len(known.numbers)})'),
        )
        same((answer['files'], answer['session_info']), ([], None))

    async def failing(self, known: Known) -> None:
        number = self.fresh()
        known.numbers.append(number)
        answer = await self.interpreter.cell(f'told({number})\nraise ValueError({number})', known.id)
        same((answer['success'], answer['error']), (False, f'ValueError: {number}'))

    async def write(self, known: Known) -> None:
        number = self.fresh()
        name = f'f{number % 5}.txt'
        known.files[name] = f'text {number}'
        answer = await self.interpreter.cell(f'open({name!r}, "w").write({known.files[name]!r})', known.id)
        same([file['name'] for file in answer['files']], [name])

    async def upload(self, known: Known) -> None:
        number = self.fresh()
        name = f'u{number % 3}.txt'
        known.files[name] = f'uploaded {number}'
        answer = await self.interpreter.tool(
            'upload_file', filename=name, content=known.files[name], session_id=known.id
        )
        same((answer['success'], answer['file']['size']), (True, len(known.files[name])))

    async def look(self, known: Known) -> None:
        listed = await self.interpreter.tool('list_session_files', session_id=known.id)
        same(
            {file['name']: file['size'] for file in listed['files']},
            {name: len(text) for name, text in known.files.items()},
        )
        if known.files:
            name = self.chance.choice(sorted(known.files))
            same((await self.interpreter.read(f'kernel://{known.id}/{name}'))['text'], known.files[name])

    async def verify(self, known: Known) -> None:
        answer = await self.interpreter.cell(
            "import os\nprint(total(), len(log), sorted((n, open(n).read()) for n in os.listdir() if n[0] != '.'))",
            known.id,
        )
        same(answer['output'], [f'{known.total} {len(known.numbers)} {sorted(known.files.items())}\n'])

    async def fork(self, known: Known) -> None:
        if len(self.sessions) >= self.size:
            return
        answer = await self.interpreter.tool('fork_session', session_id=known.id)
        copy = Known(answer['session_id'], list(known.numbers), dict(known.files))
        await self.cell(copy)
        self.sessions.append(copy)

    async def reset(self, known: Known) -> None:
        same((await self.interpreter.tool('reset_session', session_id=known.id))['success'], True)
        known.files.clear()
        number = self.fresh()
        known.numbers[:] = [number]
        same(await self.interpreter.value(known.id, f'{SETUP}told({number})'), str(known.total))

    async def interrupt(self, known: Known) -> None:
        """What the cell did before it began to wait stays."""
        number = self.fresh()
        known.numbers.append(number)
        answers: list[dict[str, Any]] = []

        async def endless() -> None:
            answers.append(await self.interpreter.cell(f'told({number})\nwhile True:\n    pass', known.id))

        async def stop() -> None:
            while not answers:
                # Only once it has done its work: an interrupt that comes earlier takes that away.
                await anyio.sleep(0.3)
                await self.interpreter.tool('interrupt', session_id=known.id)

        async with anyio.create_task_group() as group:
            group.start_soon(endless)
            group.start_soon(stop)
        contains(answers[0]['error'], 'KeyboardInterrupt')
        found = await self.interpreter.value(known.id, 'total()')
        if found != str(known.total):
            known.numbers.pop()
            same(found, str(known.total))

    async def clear(self, known: Known) -> None:
        self.sessions.remove(known)
        cleared = await self.interpreter.tool('clear_session', session_id=known.id)
        same(cleared, {'success': True, 'message': f'Session {known.id} cleared and all files deleted'})
        same((await self.interpreter.cell('1', known.id))['error'], EXPIRED.format(id=known.id))

    async def something(self) -> None:
        """One thing with one session that nobody holds."""
        free = [known for known in self.sessions if not known.lock.locked()]
        if not free or (len(self.sessions) < self.size and self.chance.random() < 0.5):
            self.count('open')
            return await self.open()
        known = self.chance.choice(free)
        (what,) = self.chance.choices(
            [
                self.cell,
                self.failing,
                self.write,
                self.upload,
                self.look,
                self.verify,
                self.fork,
                self.reset,
                self.interrupt,
                self.clear,
            ],
            [40, 8, 10, 8, 8, 10, 4, 3, 1, 3],
        )
        self.count(what.__name__)
        async with known.lock:
            await what(known)

    def count(self, what: str) -> None:
        self.calls[what] = self.calls.get(what, 0) + 1


async def crowd(setup: Setup) -> None:
    """Sessions far beyond what may be awake, used by several clients' calls at once."""
    size, live, tasks, seconds = (500, 50, 12, 600) if LONG else (20, 5, 4, 4)
    chance = random.Random(SEED)
    with Host(setup) as host:
        async with host.server('--max-live-sessions', str(live), '--hibernate-after', '2s', *PATIENT) as client:
            crowd = Crowd(Interpreter(client), chance, size)
            (server,) = client.processes
            highest = 0
            until = time.monotonic() + seconds
            done = anyio.Event()

            async def work() -> None:
                while time.monotonic() < until:
                    await crowd.something()

            async def watch() -> None:
                nonlocal highest
                while not done.is_set():
                    highest = max(
                        highest, await anyio.to_thread.run_sync(lambda: proportional_bytes(descendants(server)))
                    )
                    await anyio.sleep(1)

            async with anyio.create_task_group() as group:
                group.start_soon(watch)
                async with anyio.create_task_group() as workers:
                    for _ in range(tasks):
                        workers.start_soon(work)
                done.set()
            # Whatever was put to sleep wakes as it was left.
            for known in list(crowd.sessions):
                await crowd.verify(known)
            figures = f'{sum(crowd.calls.values())} calls {crowd.calls}, {len(crowd.sessions)} sessions, {highest >> 20} MiB at most'
            print(figures, file=sys.stderr)
            limit = SERVER_BYTES + live * SESSION_BYTES
            assert highest <= limit, f'{figures}, above {limit >> 20} MiB'
            sessions = crowd.sessions
        # And by another server.
        async with host.server('--max-live-sessions', str(live)) as client:
            crowd = Crowd(Interpreter(client), chance, size)
            for known in chance.sample(sessions, min(len(sessions), 20)):
                await crowd.verify(known)


async def killed_under_load(setup: Setup) -> None:
    """`kill -9` of a server whose sessions are busy: what was acknowledged is there, what was not may be."""
    rounds, size = (100, 6) if LONG else (2, 4)
    chance = random.Random(SEED)
    with Host(setup) as host:
        sessions: list[Known] = []
        # Of each session: the number that it was told without an answer, if there is one.
        open_numbers: dict[str, int] = {}
        told = kept = 0
        for _ in range(rounds):
            async with host.server('--max-live-sessions', str(size - 1), *PATIENT) as client:
                interpreter = Interpreter(client)
                crowd = Crowd(interpreter, chance, size)
                crowd.number = 1000 * (told + len(open_numbers) + 1)
                for known in sessions:
                    kept += await found(interpreter, known, open_numbers.pop(known.id, None))
                while len(sessions) < size:
                    await crowd.open()
                    sessions += crowd.sessions[-1:]
                dead = anyio.Event()

                # The tasks of a round end before the next one begins.
                async def use(
                    known: Known, interpreter: Interpreter = interpreter, crowd: Crowd = crowd, dead: anyio.Event = dead
                ) -> None:
                    nonlocal told
                    while not dead.is_set():
                        number = crowd.fresh()
                        open_numbers[known.id] = number
                        code = f'open("n.txt", "w").write(str({number}))\ntold({number})'
                        try:
                            answer = await interpreter.cell(code, known.id)
                        except Exception:
                            if dead.is_set():
                                return  # it was not acknowledged
                            raise
                        known.numbers.append(number)
                        known.files['n.txt'] = str(number)
                        del open_numbers[known.id]
                        told += 1
                        same(answer['result'], str(known.total))

                async with anyio.create_task_group() as group:
                    for known in sessions:
                        group.start_soon(use, known)
                    await anyio.sleep(chance.uniform(0.05, 1.0))
                    dead.set()
                    await ended(client, signal.SIGKILL)
                    group.cancel_scope.cancel()
        async with host.server() as client:
            for known in sessions:
                kept += await found(Interpreter(client), known, open_numbers.pop(known.id, None))
        print(f'{rounds} rounds, {told} cells acknowledged, {kept} of those without an answer kept', file=sys.stderr)


async def found(interpreter: Interpreter, known: Known, unanswered: int | None) -> bool:
    """A session after its server's death is as it was acknowledged, or one cell later; true when it is later."""
    answer = await interpreter.cell(
        "import os\nprint(total(), len(log), open('n.txt').read() if os.path.exists('n.txt') else '')", known.id
    )
    assert answer['success'], answer
    later = Known(known.id, [*known.numbers, unanswered or 0])
    expected = {f'{known.total} {len(known.numbers)} {known.files.get("n.txt", "")}\n': False}
    if unanswered is not None:
        expected[f'{later.total} {len(later.numbers)} {unanswered}\n'] = True
    (line,) = answer['output']
    assert line in expected, (line, expected)
    if expected[line]:
        known.numbers.append(unanswered)
        known.files['n.txt'] = str(unanswered)
    return expected[line]
