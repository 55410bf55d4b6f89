"""A line protocol over asyncio's streams: a server and clients in one program, with timeouts and cancellation."""

import asyncio
import re
import socket
import tempfile
from pathlib import Path

events: list[str] = []


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    peer = writer.get_extra_info('peername')
    try:
        while line := await reader.readline():
            command, _, rest = line.decode().strip().partition(' ')
            match command:
                case 'echo':
                    writer.write(rest.encode() + b'\n')
                case 'upper':
                    writer.writelines([rest.upper().encode(), b'\n'])
                case 'wait':
                    await asyncio.sleep(float(rest))
                    writer.write(b'waited\n')
                case 'fill':
                    for _ in range(int(rest)):
                        writer.write(b'.' * 1000)
                        await writer.drain()
                    writer.write(b'\n')
                case 'fail':
                    raise RuntimeError(f'asked to fail: {rest}')
                case 'abort':
                    writer.transport.abort()
                    return
                case 'quit':
                    break
                case _:
                    writer.write(f'unknown {command!r}\n'.encode())
            await writer.drain()
    except asyncio.CancelledError:
        events.append('handler cancelled')
        raise
    except ConnectionError as e:
        events.append(f'handler: {type(e).__name__}')
    finally:
        events.append(f'end of {"unix" if not peer else peer[0]}')
        writer.close()


async def ask(reader, writer, text: str) -> str:
    writer.write(text.encode() + b'\n')
    await writer.drain()
    return (await reader.readline()).decode()


async def session(port: int, n: int) -> list[str]:
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    answers = [await ask(reader, writer, text) for text in (f'echo {n}', 'upper größe', 'nope')]
    writer.write(b'quit\n')
    answers.append(repr(await reader.read()))
    writer.close()
    await writer.wait_closed()
    return answers


async def tell(name: str, awaitable) -> None:
    try:
        print(name, '->', await awaitable)
    except (Exception, asyncio.CancelledError) as e:
        print(f'{name}: {type(e).__name__}:', re.sub(r'(?i)(?<=errno )-?\d+|\b\d{4,}\b', 'N', str(e)))


async def main() -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: events.append(f'{context["message"]}: {context["exception"]!r}'))
    server = await asyncio.start_server(serve, '127.0.0.1', 0, limit=100)
    (host, port), *more = (s.getsockname() for s in server.sockets)
    shown = re.sub(r'\d{4,}|fd=\d+', 'N', repr(server.sockets[0]))
    print(host, more, server.is_serving(), type(server).__name__, shown)
    async with server:
        for n, answers in enumerate(await asyncio.gather(*(session(port, n) for n in range(5)))):
            print(n, answers)
        print(sorted(events))
        events.clear()

        reader, writer = await asyncio.open_connection('127.0.0.1', port, limit=50)
        print(writer.get_extra_info('peername') == (host, port), writer.can_write_eof(), writer.is_closing())
        await tell('too slow', asyncio.wait_for(ask(reader, writer, 'wait 0.05'), 0.01))
        await tell('its answer', reader.readline())
        try:
            async with asyncio.timeout(0.01) as limit:
                await reader.readexactly(5)
        except TimeoutError as e:
            print('no more', repr(e), limit.expired(), repr(limit))
        task = asyncio.create_task(reader.readuntil(b'!'), name='reads')
        await asyncio.sleep(0)
        await tell('twice', reader.read(1))
        task.cancel('not needed')
        await tell('cancelled', task)
        await tell('too long', ask(reader, writer, 'echo ' + 'x' * 90))
        await tell('rest', ask(reader, writer, 'echo after'))
        await tell('limit of the server', ask(reader, writer, 'echo ' + 'y' * 500))
        await tell('end', reader.readexactly(3))
        writer.close()
        await tell('closed', writer.wait_closed())
        writer.write(b'late')
        await tell('drain', writer.drain())

        reader, writer = await asyncio.open_connection('127.0.0.1', port, limit=2**20)
        data = await ask(reader, writer, 'fill 900')
        print('filled', len(data), reader.at_eof())
        writer.write_eof()
        print('half', await reader.read(), reader.at_eof())
        writer.close()

        for how in ('fail now', 'abort'):
            reader, writer = await asyncio.open_connection('127.0.0.1', port)
            await tell(how, ask(reader, writer, how))
            await tell('and then', reader.readexactly(1))
            writer.close()
        print(*(e for e in events), sep='\n')
        events.clear()

        reader, writer = await asyncio.open_connection('127.0.0.1', port)
        writer.write(b'wait 10\n')
        await asyncio.sleep(0.02)
        server.close()
        print(server.is_serving(), server.sockets)
        server.abort_clients()
        await tell('aborted', reader.read())
        writer.close()
    refused = asyncio.open_connection('127.0.0.1', port)
    try:
        await refused
    except OSError as e:
        print(type(e).__name__, re.sub(r'\d+\)', 'PORT)', e.strerror))
    await tell('no such address', asyncio.open_connection('127.0.0.1', port, local_addr=('192.0.2.1', 0)))
    await tell('bad port', asyncio.open_connection('127.0.0.1', 99999))
    await tell('no family', asyncio.open_connection('::1', port, family=socket.AF_INET))
    await tell('host and sock', asyncio.open_connection('h', 1, sock=socket.socket()))

    # Unix sockets, and a task group whose member fails
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / 'chat.sock'
        async with await asyncio.start_unix_server(serve, path) as server:
            reader, writer = await asyncio.open_unix_connection(path)
            print('unix', await ask(reader, writer, 'echo by path'), path.is_socket())
            writer.close()
            await writer.wait_closed()
        print(path.exists())

    ends: list[int] = []

    async def member(n: int) -> None:
        try:
            await asyncio.sleep(n)
        finally:
            ends.append(n)
        raise LookupError(n)

    try:
        async with asyncio.TaskGroup() as group:
            for n in (0, 5, 6):
                group.create_task(member(n))
    except* LookupError as e:
        print(repr(e), ends[0], sorted(ends))

    # Datagrams
    got: asyncio.Queue = asyncio.Queue()

    class Receiver(asyncio.DatagramProtocol):
        def datagram_received(self, data, address):
            got.put_nowait((data, address[0]))

        def error_received(self, e):
            got.put_nowait(type(e).__name__)

    end, _ = await loop.create_datagram_endpoint(Receiver, local_addr=('127.0.0.1', 0))
    client, _ = await loop.create_datagram_endpoint(Receiver, remote_addr=end.get_extra_info('sockname'))
    client.sendto(b'datagram')
    print(await asyncio.wait_for(got.get(), 1))
    end.close()
    await asyncio.sleep(0)
    client.sendto(b'to nobody')
    print(await asyncio.wait_for(got.get(), 1))
    client.close()
    print(await asyncio.gather(*(loop.getaddrinfo(h, 80, type=socket.SOCK_STREAM) for h in ('127.0.0.1', '::1'))))


asyncio.run(main())
print(sorted(events))
