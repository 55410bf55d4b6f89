"""A pipeline of asyncio tasks with queues, timeouts and errors."""

import asyncio
import contextlib


async def producer(queue, count):
    for number in range(count):
        await queue.put(number)
        await asyncio.sleep(0)
    await queue.put(None)


async def worker(source, results):
    while (number := await source.get()) is not None:
        results.append(number**2)
        source.task_done()
    source.task_done()


async def slow(seconds, value):
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print('cancelled', value)
        raise
    return value


async def fails(text):
    await asyncio.sleep(0)
    raise ValueError(text)


async def numbers():
    for number in range(3):
        yield number
        await asyncio.sleep(0)


async def main():
    queue, results = asyncio.Queue(maxsize=2), []
    async with asyncio.TaskGroup() as group:
        group.create_task(producer(queue, 5))
        group.create_task(worker(queue, results))
    print(results, queue.empty(), queue.qsize())
    print(await asyncio.gather(slow(0.02, 'b'), slow(0.01, 'a'), fails('x'), return_exceptions=True))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.02):
            await slow(5, 'long')
    try:
        await asyncio.wait_for(slow(5, 'wait_for'), 0.01)
    except TimeoutError as error:
        print(type(error).__name__, error)
    done, pending = await asyncio.wait(
        [asyncio.create_task(slow(t, t)) for t in (0.01, 3)], return_when=asyncio.FIRST_COMPLETED
    )
    print([t.result() for t in done], len(pending), [t.cancel() for t in pending])
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails('one'))
            group.create_task(slow(5, 'sibling'))
    except* ValueError as group:
        print(repr(group.exceptions))
    print([n async for n in numbers()], [await c for c in asyncio.as_completed([slow(0.02, 2), slow(0.01, 1)])])
    lock, order = asyncio.Lock(), []

    async def careful(name):
        async with lock:
            order.append(name)
            await asyncio.sleep(0)
            order.append(name)

    await asyncio.gather(*map(careful, 'abc'))
    print(order, lock.locked(), asyncio.current_task().get_name()[:4], await asyncio.to_thread(sum, [1, 2]))
    semaphore = asyncio.Semaphore(2)
    async with semaphore:
        print(semaphore.locked(), semaphore._value)


asyncio.run(main())
