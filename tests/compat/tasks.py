"""asyncio: tasks, time limits, queues, subscribers; threads of its executor."""

import asyncio
import contextvars
import time

from checks import equal, raises


def test_run_and_gather():
    async def work(number):
        await asyncio.sleep(0.01 * (3 - number))
        return number

    async def main():
        return await asyncio.gather(*(work(number) for number in range(3)))

    equal(asyncio.run(main()), [0, 1, 2])


def test_tasks_wait_at_the_same_time():
    async def main():
        order = []

        async def wait(seconds):
            await asyncio.sleep(seconds)
            order.append(seconds)

        start = time.process_time()
        await asyncio.gather(wait(0.3), wait(0.1), wait(0.2))
        assert time.process_time() - start < 0.2, "waiting costs nothing"
        return order

    equal(asyncio.run(main()), [0.1, 0.2, 0.3])


def test_time_limits():
    async def main():
        with raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await asyncio.sleep(60)
        with raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.05)
        async with asyncio.timeout(60):
            return await asyncio.wait_for(asyncio.sleep(0, "in time"), 60)

    equal(asyncio.run(main()), "in time")


def test_task_groups_cancel_the_rest():
    cancelled = []

    async def forever():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def fails():
        await asyncio.sleep(0)
        raise ValueError("first")

    async def main():
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(forever())
                group.create_task(fails())
        except* ValueError as errors:
            texts = [str(error) for error in errors.exceptions]
        return texts

    equal((asyncio.run(main()), cancelled), (["first"], [True]))


def test_queues_and_locks():
    async def main():
        queue, lock, seen = asyncio.Queue(2), asyncio.Lock(), []

        async def produce():
            for number in range(10):
                await queue.put(number)
            queue.shutdown()

        async def consume(name):
            while True:
                try:
                    number = await queue.get()
                except asyncio.QueueShutDown:
                    return
                async with lock:
                    seen.append((name, number))
                await asyncio.sleep(0)

        await asyncio.gather(produce(), consume("a"), consume("b"))
        return seen

    seen = asyncio.run(main())
    equal([number for _, number in seen], list(range(10)))
    equal({name for name, _ in seen}, {"a", "b"})


def test_threads():
    variable = contextvars.ContextVar("variable", default=0)

    async def main():
        variable.set(5)
        equal(await asyncio.to_thread(lambda: variable.get() + 1), 6)
        with raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, sum, [1, 2, 3])

    equal(asyncio.run(main()), 6)


def test_generators_and_callbacks():
    async def count():
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    async def main():
        loop, called = asyncio.get_running_loop(), []
        loop.call_soon(called.append, 1)
        loop.call_later(0.02, called.append, 3)
        loop.call_at(loop.time() + 0.01, called.append, 2)
        loop.call_soon_threadsafe(called.append, 4)
        numbers = [number async for number in count()]
        await asyncio.sleep(0.1)
        return numbers, called

    equal(asyncio.run(main()), ([0, 1, 2], [1, 4, 2, 3]))


def test_loops_one_after_the_other():
    for number in range(3):
        with asyncio.Runner() as runner:
            equal([runner.run(asyncio.sleep(0, number)), runner.run(asyncio.sleep(0, -number))], [number, -number])
    with raises(RuntimeError, "cannot be called from a running event loop"):
        asyncio.run(nested())


async def nested():
    coroutine = asyncio.sleep(0)
    try:
        asyncio.run(coroutine)
    finally:
        coroutine.close()


def test_what_has_no_system_below_it():
    async def main():
        with raises((OSError, NotImplementedError)):
            await asyncio.create_subprocess_exec("ls")
        with raises(OSError):
            await asyncio.open_connection("127.0.0.1", 80)

    asyncio.run(main())
