import asyncio
import contextvars
from collections.abc import AsyncIterator

request_id: contextvars.ContextVar[str] = contextvars.ContextVar('request_id', default='-')


async def fetch(name: str, delay: float) -> str:
    request_id.set(name)
    await asyncio.sleep(delay)
    if name == 'c':
        raise ValueError('c is broken')
    return f'{name}:{request_id.get()}'


async def numbers(n: int) -> AsyncIterator[int]:
    for i in range(n):
        yield i
        await asyncio.sleep(0)


async def main() -> None:
    print(await asyncio.gather(fetch('a', 0.02), fetch('b', 0.01), fetch('c', 0), return_exceptions=True))
    try:
        async with asyncio.timeout(0.05):
            await asyncio.sleep(10)
    except TimeoutError as e:
        print('timeout', repr(e))
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fetch('x', 5))
            group.create_task(fetch('c', 0.01), name='doomed')
    except* ValueError as errors:
        print(errors, errors.exceptions)
    queue: asyncio.Queue[int] = asyncio.Queue(2)
    producer = asyncio.create_task(produce(queue))
    print([await queue.get() for _ in range(5)], producer.done(), [i async for i in numbers(3)])
    semaphore, event = asyncio.Semaphore(1), asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, event.set)
    async with semaphore:
        print(await event.wait(), semaphore.locked())
    print(await asyncio.to_thread(sum, [1, 2, 3]), await asyncio.get_running_loop().run_in_executor(None, len, 'four'))
    for next_done in asyncio.as_completed([fetch('slow', 0.05), fetch('fast', 0.01)]):
        print(await next_done)
    task = asyncio.create_task(asyncio.sleep(10))
    task.cancel('enough')
    try:
        await task
    except asyncio.CancelledError as e:
        print('cancelled', e.args, task.cancelled())
    await asyncio.wait_for(asyncio.shield(fetch('late', 0.5)), 0.01)


async def produce(queue: asyncio.Queue) -> None:
    for i in range(5):
        await queue.put(i * i)


asyncio.run(main())
