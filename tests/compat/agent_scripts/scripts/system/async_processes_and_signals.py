import asyncio
import os
import signal
import sys


async def run(*command: str) -> None:
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await asyncio.wait_for(process.communicate(), 10)
        print(command[-1][:30], process.returncode, out, err[-30:])
    except Exception as e:
        print(command[-1][:30], type(e).__name__, e)


async def main() -> None:
    loop = asyncio.get_running_loop()
    print(type(loop).__name__, loop.is_running(), loop.get_debug())
    received = asyncio.Event()
    try:
        loop.add_signal_handler(signal.SIGUSR2, received.set)
        os.kill(os.getpid(), signal.SIGUSR2)
        await asyncio.wait_for(received.wait(), 5)
        print('signal', received.is_set(), loop.remove_signal_handler(signal.SIGUSR2))
    except (NotImplementedError, RuntimeError, TimeoutError) as e:
        print('signals:', type(e).__name__, e)
    await run('echo', 'hi')
    await run(sys.executable, '-c', 'raise SystemExit(5)')
    await run('no-such-program')
    try:
        shell = await asyncio.create_subprocess_shell('read x; echo got $x', stdin=-1, stdout=-1)
        print(await shell.communicate(b'data\n'))
    except Exception as e:
        print('shell', type(e).__name__, e)
    try:
        server = await asyncio.start_server(echo, '127.0.0.1', 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection('127.0.0.1', port)
        writer.write(b'ping\n')
        print(await asyncio.wait_for(reader.readline(), 5))
        writer.close()
        server.close()
    except OSError as e:
        print('server', type(e).__name__, e)
    try:
        await asyncio.wait_for(asyncio.open_connection('127.0.0.1', 1), 5)
    except OSError as e:
        print('connect', type(e).__name__)
    loop.call_exception_handler({'message': 'custom problem'})


async def echo(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()


asyncio.run(main())
