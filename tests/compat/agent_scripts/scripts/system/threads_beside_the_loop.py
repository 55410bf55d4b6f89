"""Blocking work beside an event loop: executors, to_thread, callbacks from threads, context variables."""

import asyncio
import concurrent.futures
import contextvars
import functools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

request = contextvars.ContextVar('request', default='none')
local = threading.local()


def blocking(n: int) -> tuple[int, str, str]:
    time.sleep(0.005 * (3 - n))
    return n, request.get(), threading.current_thread().name.rsplit('_', 1)[0]


def failing(text: str):
    raise LookupError(text)


def prepare(name: str) -> None:
    local.connection = f'connection of {name}'
    local.uses = 0


def use(_: int) -> tuple[str, bool]:
    local.uses += 1
    return local.connection, local.uses >= 1


async def main() -> None:
    loop = asyncio.get_running_loop()
    request.set('outer')
    print(await asyncio.gather(*(asyncio.to_thread(blocking, n) for n in range(3))))
    print(await asyncio.gather(*(loop.run_in_executor(None, blocking, n) for n in range(3))))
    with ThreadPoolExecutor(2, thread_name_prefix='db', initializer=prepare, initargs=('pool',)) as pool:
        calls = [loop.run_in_executor(pool, use, n) for n in range(4)]
        print(await asyncio.gather(*calls))
        future = loop.run_in_executor(pool, functools.partial(failing, text='in the pool'))
        print(await asyncio.gather(future, return_exceptions=True))
        inside = contextvars.copy_context()
        inside.run(request.set, 'inner')
        print(await loop.run_in_executor(pool, inside.run, blocking, 2), request.get(), inside[request])
    print(hasattr(local, 'connection'), pool._shutdown)
    for action in (
        lambda: loop.run_in_executor(pool, use, 1),
        lambda: loop.call_soon_threadsafe(None),
        lambda: loop.set_default_executor(5),
        lambda: asyncio.run(main()),
        lambda: loop.run_until_complete(asyncio.sleep(0)),
        lambda: asyncio.run_coroutine_threadsafe(5, loop),
    ):
        try:
            print(action())
        except Exception as e:
            print(type(e).__name__, e)

    # A thread that talks to the loop
    done, heard = asyncio.Event(), []

    def producer() -> None:
        for n in range(3):
            loop.call_soon_threadsafe(heard.append, n)
        later = asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01, 'slept'), loop)
        heard.append(later.result(5))
        slow = asyncio.run_coroutine_threadsafe(asyncio.sleep(60), loop)
        try:
            slow.result(0.01)
        except TimeoutError as e:
            heard.append(f'{type(e).__name__} {slow.cancel()} {slow.cancelled()}')
        try:
            asyncio.get_running_loop()
        except RuntimeError as e:
            heard.append(str(e))
        try:
            asyncio.get_event_loop()
        except RuntimeError as e:
            heard.append(str(e))
        heard.append(asyncio.run(other_loop()))
        loop.call_soon_threadsafe(done.set)

    async def other_loop() -> str:
        return f'{threading.current_thread().name}: {asyncio.get_running_loop() is not loop}'

    thread = threading.Thread(target=producer, name='producer')
    thread.start()
    await done.wait()
    thread.join()
    print(*heard, sep='\n')

    # What waits, and how it ends
    gate = threading.Event()
    stuck = asyncio.create_task(asyncio.to_thread(gate.wait, 5))
    try:
        await asyncio.wait_for(stuck, 0.01)
    except TimeoutError:
        print('timed out; cancelled:', stuck.cancelled())
    shielded = asyncio.create_task(asyncio.to_thread(gate.wait, 5))
    try:
        async with asyncio.timeout(0.01):
            await asyncio.shield(shielded)
    except TimeoutError:
        print('still there:', not shielded.done())
    gate.set()
    print(await shielded)
    ready, pending = await asyncio.wait(
        [asyncio.create_task(asyncio.to_thread(time.sleep, s), name=f'sleeps {s}') for s in (0.001, 0.06)],
        return_when=asyncio.FIRST_COMPLETED,
    )
    print([t.get_name() for t in ready], [t.get_name() for t in pending])
    limit, most, now = asyncio.Semaphore(2), 0, 0

    async def limited(n: int) -> int:
        nonlocal most, now
        async with limit:
            now += 1
            most = max(most, now)
            await asyncio.to_thread(time.sleep, 0.002)
            now -= 1
        return n

    print([await done for done in asyncio.as_completed([limited(7)])])
    print(await asyncio.gather(*map(limited, range(6))), most)
    await loop.shutdown_default_executor()
    try:
        await asyncio.to_thread(print, 'never')
    except RuntimeError as e:
        print(e)


asyncio.run(main())

# The executor without a loop
order: list[str] = []
gate = threading.Event()
pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix='single')
first = pool.submit(gate.wait, 5)
rest = [pool.submit(blocking, n) for n in range(3)]
rest[0].add_done_callback(lambda f: order.append(f'callback {f.cancelled()}'))
while not first.running():
    time.sleep(0.001)
print(rest[1].cancel(), rest[1].cancelled(), first.cancel())
pool.shutdown(wait=False, cancel_futures=True)
gate.set()
print([f.cancelled() for f in rest], order, first.result())
for action in (
    rest[0].result,
    rest[2].exception,
    lambda: pool.submit(print),
    lambda: ThreadPoolExecutor(0),
    lambda: ThreadPoolExecutor(initializer=5),
    lambda: first.set_result(1),
    lambda: list(pool.map(print, [1])),
):
    try:
        print(action())
    except (Exception, concurrent.futures.CancelledError) as e:
        print(type(e).__module__, type(e).__name__, str(e).split(' at 0x')[0])
with ThreadPoolExecutor(3) as pool:
    print(list(pool.map(pow, [2, 3, 4], [5, 6, 7], buffersize=2)), list(pool.map(str, range(5), chunksize=2)))
    futures = {pool.submit(failing, str(n)) if n % 2 else pool.submit(abs, -n): n for n in range(4)}
    for f in sorted(concurrent.futures.as_completed(futures, timeout=5), key=futures.get):
        print(futures[f], f.done(), repr(f.exception()), type(f.exception()).__name__)
    results = pool.map(lambda n: 1 // n, [1, 0, 2])
    print(next(results))
    try:
        next(results)
    except ZeroDivisionError as e:
        print(e, list(results))
    try:
        list(pool.map(time.sleep, [0.03], timeout=0.001))
    except TimeoutError as e:
        print(repr(e))
    done, left = concurrent.futures.wait([pool.submit(abs, 1), pool.submit(time.sleep, 0.03)], timeout=0.001)
    print(len(done) <= 1, len(left) >= 1, concurrent.futures.wait([], 0))


def broken() -> None:
    raise ValueError('no database')


with ThreadPoolExecutor(1, initializer=broken) as pool:
    future = pool.submit(abs, 1)
    print(repr(future.exception()))
    try:
        pool.submit(abs, 1)
    except RuntimeError as e:
        print(type(e).__name__, e)
