"""Speaks the protocol itself, reading `sys.stdin` by asyncio."""

import asyncio
import sys

from raw_lines import answer


async def main() -> None:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        answer(line)


if __name__ == '__main__':
    asyncio.run(main())
