"""A scripted analyst: 40 cells with everything that happens to a session between them, and the numbers of native Jupyter.

`analyst/golden.py` makes the numbers.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import anyio

from analyst.session import (
    BETWEEN,
    CELLS,
    FORK,
    HIBERNATE,
    IN_THE_COPY,
    KILL,
    REGIONS,
    RESTART,
    difference,
    outcome,
    sales,
)
from cases import same
from harness import PATIENCE, Connection, Setup
from interpreter import Host, Interpreter
from processes import resident_bytes

GOLDEN = json.loads(Path(__file__).with_name('analyst').joinpath('golden.json').read_text())
CREATED = '📊 File created: '


async def afternoon(setup: Setup) -> None:
    """All of it, on as many servers as it takes."""
    same(len(GOLDEN), len(CELLS))
    with Host(setup) as host:
        analyst = Analyst()
        while analyst.next <= len(CELLS):
            # There is one place for a session that is awake.
            async with host.server('--max-live-sessions', '1') as client:
                end = await analyst.work(Interpreter(client))
                if end is not None:
                    await ended(client, signal.SIGTERM if end == RESTART else signal.SIGKILL)


async def ended(client: Connection, how: signal.Signals) -> None:
    """Ends a server, and waits until it has."""
    (server,) = client.processes
    os.kill(server, how)
    with anyio.fail_after(PATIENCE):
        while resident_bytes(server) is not None:
            await anyio.sleep(0.02)


class Analyst:
    """Who sits before the client: what is next, and the sessions."""

    def __init__(self) -> None:
        self.next = 1
        self.session = self.copy = ''
        self.came_back = False

    async def work(self, interpreter: Interpreter) -> str | None:
        """Runs cells until the server has to end, and says how; None at the end of the work."""
        if not self.session:
            await self.upload(interpreter)
        while self.next <= len(CELLS):
            between = BETWEEN.get(self.next)
            if between in (RESTART, KILL) and not self.came_back:
                self.came_back = True
                return between
            self.came_back = False
            if between == HIBERNATE:
                await interpreter.open('1')
            if between == FORK:
                self.copy = (await interpreter.tool('fork_session', session_id=self.session))['session_id']
            session = self.copy if self.next in IN_THE_COPY else self.session
            compare(self.next, await interpreter.cell(CELLS[self.next - 1], session))
            self.next += 1
        return None

    async def upload(self, interpreter: Interpreter) -> None:
        table = sales()
        half = len(table) // 2
        first = await interpreter.tool('upload_file', filename='sales.csv', content=table[:half], last=False)
        self.session = first['session_info']['session_id']
        for name, content, offset in [('sales.csv', table[half:], half), ('regions.csv', REGIONS, 0)]:
            written = await interpreter.tool(
                'upload_file', filename=name, content=content, offset=offset, session_id=self.session
            )
            same((written['success'], written['file']['size']), (True, offset + len(content)))


def compare(number: int, answer: dict[str, Any]) -> None:
    """An answer says what the native kernel said."""
    golden = GOLDEN[number - 1]
    output = ''.join(piece for piece in answer['output'] if not piece.startswith(CREATED))
    pictures = sum(file['name'].endswith(('.png', '.html')) for file in answer['files'])
    found = outcome(output, answer['result'], answer['error'], pictures)
    for part in ('output', 'result', 'error'):
        different = difference(found[part], golden[part])
        assert different is None, f'cell {number}, {part}: {different}'
    # What a cell shows may be a file twice when it saves it as well.
    assert (found['pictures'] > 0) == (golden['pictures'] > 0) and found['pictures'] >= golden['pictures'], (
        number,
        answer,
    )
