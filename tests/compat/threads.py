"""Threads, and the parts of the standard library that are built on them, as natively."""

import _thread
import asyncio
import concurrent.futures
import contextlib
import contextvars
import decimal
import faulthandler
import io
import logging
import logging.handlers
import multiprocessing.dummy
import os
import queue
import sched
import select
import signal
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

from checks import equal, raises


def start(function, *arguments, **options):
    thread = threading.Thread(target=function, args=arguments, **options)
    thread.start()
    return thread


def run(function, *arguments):
    """Calls a function in a thread; returns its result, or raises what it raised."""
    future = concurrent.futures.Future()

    def call():
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    start(call).join()
    return future.result(0)


def test_a_thread_runs_and_ends():
    seen = []
    thread = threading.Thread(target=seen.append, args=(1,), name="worker")
    equal((thread.is_alive(), thread.ident, thread.native_id), (False, None, None))
    thread.start()
    thread.join()
    equal((seen, thread.is_alive(), thread.name, thread.daemon), ([1], False, "worker", False))
    assert isinstance(thread.ident, int) and isinstance(thread.native_id, int)
    with raises(RuntimeError, "threads can only be started once"):
        thread.start()
    with raises(RuntimeError, "cannot join current thread"):
        threading.current_thread().join()


def test_identities():
    ready, end = threading.Barrier(4), threading.Event()

    def work(number):
        known[number] = threading.get_ident(), threading.get_native_id(), threading.current_thread()
        ready.wait()
        end.wait()

    known = {}
    threads = [start(work, number, name=f"t{number}", daemon=True) for number in range(3)]
    ready.wait()
    equal(sorted(thread.name for thread in threading.enumerate()), ["MainThread", "t0", "t1", "t2"])
    equal(threading.active_count(), 4)
    main = threading.get_ident(), threading.get_native_id(), threading.main_thread()
    equal(main[1], os.getpid())
    for index in range(3):
        equal(len({entry[index] for entry in [main, *known.values()]}), 4)
    equal([known[number][:2] for number in range(3)], [(thread.ident, thread.native_id) for thread in threads])
    equal(set(sys._current_frames()), {main[0], *[thread.ident for thread in threads]})
    end.set()
    for thread in threads:
        thread.join()
    equal(threading.active_count(), 1)


def test_work_goes_on_in_turns():
    counts, end = [0, 0, 0], threading.Event()

    def count(number):
        while not end.is_set():
            counts[number] += 1

    threads = [start(count, number) for number in range(3)]
    while not all(counts):  # the main thread computes as well, and gives nothing back by itself
        pass
    end.set()
    for thread in threads:
        thread.join()


def test_locks():
    lock, total = threading.Lock(), 0

    def add():
        nonlocal total
        for _ in range(1000):
            with lock:
                total += 1

    threads = [start(add) for _ in range(5)]
    for thread in threads:
        thread.join()
    equal((total, lock.locked()), (5000, False))
    lock.acquire()
    equal((lock.acquire(blocking=False), lock.acquire(timeout=0.01), run(lock.acquire, False)), (False, False, False))
    threading.Timer(0.01, lock.release).start()
    equal(lock.acquire(timeout=60), True)
    lock.release()
    with raises(RuntimeError, "release unlocked lock"):
        lock.release()


def test_recursive_locks():
    lock = threading.RLock()
    with lock, lock:
        equal(run(lock.acquire, False), False)
        with raises(RuntimeError, "un-acquired lock"):
            run(lock.release)
    equal(run(lock.acquire, False), True)


def test_conditions():
    condition, items, taken = threading.Condition(), [], []

    def take():
        with condition:
            assert condition.wait_for(lambda: items, 60)
            taken.append(items.pop())

    threads = [start(take) for _ in range(4)]
    for number in range(4):
        with condition:
            items.append(number)
            condition.notify_all()
    for thread in threads:
        thread.join()
    equal(sorted(taken), [0, 1, 2, 3])
    with condition:
        equal((condition.wait(0.01), condition.wait_for(lambda: False, 0.01)), (False, False))
    with raises(RuntimeError, "un-acquired lock"):
        condition.notify()


def test_events_barriers_and_semaphores():
    event, woken = threading.Event(), []
    threads = [start(lambda: woken.append(event.wait(60))) for _ in range(3)]
    equal(event.wait(0.01), False)
    event.set()
    for thread in threads:
        thread.join()
    equal(woken, [True] * 3)

    barrier, order = threading.Barrier(3, action=lambda: order.append("all")), []
    threads = [start(lambda: order.append(barrier.wait(60))) for _ in range(3)]
    for thread in threads:
        thread.join()
    equal((order[0], sorted(order[1:])), ("all", [0, 1, 2]))
    with raises(threading.BrokenBarrierError):
        barrier.wait(0.01)

    semaphore, inside, most = threading.BoundedSemaphore(2), [], []

    def enter():
        with semaphore:
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.005)
            inside.pop()

    threads = [start(enter) for _ in range(6)]
    for thread in threads:
        thread.join()
    equal((max(most), len(most)), (2, 6))
    with raises(ValueError, "released too many times"):
        semaphore.release()


def test_queues():
    for kind in (queue.Queue, queue.LifoQueue, queue.PriorityQueue, queue.SimpleQueue):
        work, results = kind(), kind()

        def serve(work=work, results=results):
            while (item := work.get()) < 100:
                results.put(item * item)

        threads = [start(serve) for _ in range(3)]
        for number in range(20):
            work.put(number)
        found = sorted(results.get(timeout=60) for _ in range(20))
        for _ in threads:
            work.put(100)
        for thread in threads:
            thread.join()
        equal(found, [number * number for number in range(20)])
        with raises(queue.Empty):
            results.get(timeout=0.01)
    full = queue.Queue(1)
    full.put(1)
    with raises(queue.Full):
        full.put(2, timeout=0.01)
    threading.Timer(0.01, full.get).start()
    full.put(2, timeout=60)
    joined = queue.Queue()
    joined.put(1)
    threading.Timer(0.01, joined.task_done).start()
    joined.join()
    ended = queue.Queue()
    waiting = concurrent.futures.Future()

    def wait():
        try:
            ended.get()
        except queue.ShutDown as error:
            waiting.set_result(type(error).__name__)

    if hasattr(queue, "ShutDown"):  # since 3.13
        thread = start(wait)
        ended.shutdown()
        thread.join()
        equal(waiting.result(0), "ShutDown")


def test_timers():
    called = threading.Event()
    timer = threading.Timer(0.01, called.set)
    timer.start()
    equal(called.wait(60), True)
    never = threading.Timer(60, called.clear)
    never.start()
    never.cancel()
    never.join()
    equal(called.is_set(), True)
    scheduler, order = sched.scheduler(), []
    scheduler.enter(0.02, 1, order.append, (2,))
    scheduler.enter(0.01, 1, order.append, (1,))
    start(scheduler.run).join()
    equal(order, [1, 2])


def test_what_each_thread_has_for_itself():
    local, variable = threading.local(), contextvars.ContextVar("variable", default="none")
    local.x = 1
    variable.set("main")
    decimal.getcontext().prec = 5

    def look():
        has, value, digits = hasattr(local, "x"), variable.get(), decimal.getcontext().prec
        local.x = decimal.getcontext().prec = 7
        return has, value, digits

    equal(run(look), (False, "none", 28))
    equal((local.x, decimal.getcontext().prec), (1, 5))
    decimal.getcontext().prec = 28
    equal(run(contextvars.copy_context().run, variable.get), "main")


def test_exceptions():
    caught = []
    hook, threading.excepthook = threading.excepthook, caught.append
    try:
        thread = start(lambda: 1 / 0)
        thread.join()
    finally:
        threading.excepthook = hook
    equal([(entry.exc_type, entry.thread) for entry in caught], [(ZeroDivisionError, thread)])
    del caught
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        start(lambda: 1 / 0, name="bad").join()
    lines = text.getvalue().splitlines()
    equal((lines[0], lines[1]), ("Exception in thread bad:", "Traceback (most recent call last):"))
    equal(lines[-1], "ZeroDivisionError: division by zero")
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        start(sys.exit, 3).join()
    equal(text.getvalue(), "")

    def deep():
        return deep()

    with raises(RecursionError):
        run(deep)


def test_executors():
    log = []
    with ThreadPoolExecutor(3, "pool", log.append, ("init",)) as pool:
        equal(list(pool.map(pow, range(5), [2] * 5)), [0, 1, 4, 9, 16])
        futures = {pool.submit(divmod, 7, number): number for number in (2, 0, 3)}
        found = {
            futures[done]: repr(done.exception() or done.result()) for done in concurrent.futures.as_completed(futures)
        }
        equal((found[2], found[3], found[0].startswith("ZeroDivisionError")), ("(3, 1)", "(2, 1)", True))
        equal(pool.submit(lambda: pool.submit(int, "5").result()).result(), 5)
        equal(pool.submit(lambda: threading.current_thread().name.startswith("pool_")).result(), True)
        called = []
        future = pool.submit(str, 1)
        future.add_done_callback(called.append)
        concurrent.futures.wait([future])
        future.add_done_callback(called.append)
        equal(called, [future, future])
    assert 1 <= len(log) <= 3
    with raises(RuntimeError, "cannot schedule new futures after shutdown"):
        pool.submit(int)
    with ThreadPoolExecutor(3) as pool:
        begin = time.monotonic()
        list(pool.map(time.sleep, [0.2] * 3))
        assert time.monotonic() - begin < 0.5, "they sleep at the same time"


def test_futures_wait_and_cancel():
    go = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        first, second = pool.submit(go.wait, 60), pool.submit(int)
        with raises(TimeoutError):
            first.result(0.01)
        done, waiting = concurrent.futures.wait([first, second], 0.01)
        equal((len(done), len(waiting)), (0, 2))
        equal((second.cancel(), second.cancelled(), first.cancel()), (True, True, False))
        with raises(TimeoutError):
            list(concurrent.futures.as_completed([first], 0.01))
        with raises(TimeoutError):
            list(pool.map(int, [1], timeout=0.01))
        go.set()
        equal(first.result(60), True)
        with raises(concurrent.futures.CancelledError):
            second.result()

    def fail():
        raise OSError("no")

    with ThreadPoolExecutor(1, initializer=fail) as pool:
        logging.getLogger("concurrent.futures").propagate = False
        with raises(concurrent.futures.thread.BrokenThreadPool):
            pool.submit(int).result(60)
        logging.getLogger("concurrent.futures").propagate = True


def test_pools_of_threads():
    with ThreadPool(3) as pool:
        equal(pool.map(abs, [-1, 2, -3]), [1, 2, 3])
        equal(pool.starmap(pow, [(2, 3), (3, 2)]), [8, 9])
        equal(sorted(pool.imap_unordered(abs, [-1, 2])), [1, 2])
        go = threading.Event()
        result = pool.apply_async(go.wait, (60,))
        with raises(multiprocessing.TimeoutError):
            result.get(0.01)
        go.set()
        equal(result.get(60), True)
        equal(len({*pool.map(lambda _: time.sleep(0.02) or threading.get_ident(), range(2))}), 2)
    with multiprocessing.dummy.Pool(2) as pool:
        equal(pool.apply(divmod, (7, 2)), (3, 1))
    process = multiprocessing.dummy.Process(target=int)
    process.start()
    process.join()
    equal(process.exitcode, 0)


def test_queues_and_locks_of_processes():
    context = multiprocessing.get_context()
    lock, results = context.Lock(), context.Queue()
    lock.acquire()
    threading.Timer(0.01, lock.release).start()
    equal(lock.acquire(timeout=60), True)
    start(results.put, {"a": 1})
    equal(results.get(timeout=60), {"a": 1})
    event = context.Event()
    threading.Timer(0.01, event.set).start()
    equal(event.wait(60), True)
    reader, writer = context.Pipe(duplex=False)
    start(writer.send, [1, 2])
    equal(reader.recv(), [1, 2])


def test_asyncio():
    variable = contextvars.ContextVar("variable")

    async def main():
        loop = asyncio.get_running_loop()
        variable.set(5)
        equal(await asyncio.to_thread(variable.get), 5)
        with raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        begin = time.monotonic()
        await asyncio.gather(*[asyncio.to_thread(time.sleep, 0.2) for _ in range(3)])
        assert time.monotonic() - begin < 0.5, "they sleep at the same time"
        with ThreadPoolExecutor(1) as pool:
            equal(await loop.run_in_executor(pool, pow, 2, 5), 32)
        event = asyncio.Event()
        threading.Timer(0.02, loop.call_soon_threadsafe, [event.set]).start()
        await event.wait()  # nothing else would wake the loop

        async def answer():
            return threading.current_thread() is threading.main_thread()

        def ask():
            return asyncio.run_coroutine_threadsafe(answer(), loop).result(60)

        equal(await asyncio.to_thread(ask), True)
        equal(await asyncio.to_thread(asyncio.run, asyncio.sleep(0, "inner")), "inner")
        with raises(RuntimeError, "no running event loop"):
            await asyncio.to_thread(asyncio.get_running_loop)
        with raises(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(time.sleep, 0.1), 0.01)
        return [thread.name for thread in threading.enumerate()][0]

    equal(asyncio.run(main()), "MainThread")
    equal(threading.active_count(), 1)


def test_loops_in_threads():
    loop = asyncio.new_event_loop()
    thread = start(loop.run_forever)
    futures = [asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01, number), loop) for number in range(5)]
    equal([future.result(60) for future in futures], [0, 1, 2, 3, 4])
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    with asyncio.Runner() as runner:
        equal(runner.run(asyncio.sleep(0, 1)), 1)


def test_pipes():
    reader, writer = os.pipe()
    threading.Timer(0.02, os.write, [writer, b"x"]).start()
    equal(os.read(reader, 5), b"x")
    size = 1 << 20
    thread = start(lambda: os.write(writer, bytes(size)) and os.close(writer))
    with open(reader, "rb") as file:
        received = file.read()
    thread.join()
    equal(len(received), size)


def test_logging():
    records = queue.SimpleQueue()
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(threadName)s %(message)s"))
    listener = logging.handlers.QueueListener(records, handler)
    logger = logging.Logger("threads")
    logger.addHandler(logging.handlers.QueueHandler(records))
    listener.start()
    for number in range(3):
        start(logger.warning, "message %d", number, name=f"t{number}").join()
    listener.stop()
    equal(stream.getvalue(), "t0 message 0\nt1 message 1\nt2 message 2\n")


def test_print_and_files():
    with tempfile.TemporaryFile("w+") as file:
        threads = [start(lambda n=n: [print(n, file=file) for _ in range(200)]) for n in range(4)]
        for thread in threads:
            thread.join()
        file.seek(0)
        equal(sorted(file.read().split()), sorted(str(n) for n in range(4) for _ in range(200)))


def test_databases():
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        with raises(sqlite3.ProgrammingError, "can only be used in that same thread"):
            run(database.execute, "select 1")
    with contextlib.closing(sqlite3.connect(":memory:", check_same_thread=False)) as database:
        equal(run(lambda: database.execute("select 1").fetchall()), [(1,)])


def test_settings():
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    equal(round(sys.getswitchinterval(), 6), 0.001)
    sys.setswitchinterval(before)
    equal(threading.stack_size(256 * 1024), 0)
    equal(run(int), 0)
    equal(threading.stack_size(0), 256 * 1024)
    with raises(ValueError, "main thread"):
        run(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with raises(ValueError, "main thread"):
        run(signal.set_wakeup_fd, -1)
    calls = []
    threading.setprofile(lambda *arguments: calls.append(arguments[1]))
    try:
        run(int)
    finally:
        threading.setprofile(None)
    assert "call" in calls


def test_interrupts_reach_the_main_thread():
    with raises(KeyboardInterrupt):
        threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()
        while True:
            time.sleep(0.005)
    with raises(KeyboardInterrupt):
        threading.Timer(0.02, _thread.interrupt_main).start()
        while True:
            pass


def test_signals_end_select():
    ended = []

    def stop(*_):
        raise LookupError("stopped")

    one, other = socket.socketpair()
    before = signal.signal(signal.SIGALRM, stop)
    try:
        with one, other:
            for sockets in ([], [one]):
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                with raises(LookupError, "stopped"):
                    select.select(sockets, [], [], 60)
            # A handler that returns lets it go on.
            signal.signal(signal.SIGALRM, lambda *_: ended.append(other.send(b"x")))
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            equal(select.select([one], [], [], 60), ([one], [], []))
            equal(ended, [1])
    finally:
        signal.signal(signal.SIGALRM, before)


def test_the_next_socket_with_a_descriptor_is_another():
    first, other = socket.socketpair()
    number, got = first.fileno(), []

    def receive():
        with contextlib.suppress(OSError):
            got.append(first.recv(10))

    thread = start(receive)
    time.sleep(0.02)
    first.close()
    second, peer = socket.socketpair()
    with second, peer:
        equal(second.fileno(), number)
        second.settimeout(60)
        peer.send(b"for the second")
        time.sleep(0.02)
        equal((second.recv(20), got), (b"for the second", []))
    # Linux keeps the first one until the call has ended.
    with other, contextlib.suppress(OSError):
        other.send(b"x")
    thread.join()


def test_tracebacks_that_come_later():
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback_later(0.02, file=file)
        time.sleep(0.1)
        faulthandler.dump_traceback_later(60, file=file)
        faulthandler.cancel_dump_traceback_later()
        file.seek(0)
        lines = file.read().decode().splitlines()
    equal(lines[0], "Timeout (0:00:00.020000)!")
    assert any("in test_tracebacks_that_come_later" in line for line in lines), lines


def test_many_threads():
    end = threading.Event()
    threads = [start(end.wait) for _ in range(60)]
    equal(threading.active_count(), 61)
    end.set()
    for thread in threads:
        thread.join()
    for _ in range(200):
        start(int).join()
    equal(threading.active_count(), 1)


def test_the_first_import_of_a_module():
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "slowly_imported.py"), "w") as file:
            file.write("import time\ntime.sleep(0.05)\nvalue = object()\n")
        sys.path.insert(0, directory)
        try:
            with ThreadPoolExecutor(4) as pool:
                found = set(pool.map(lambda _: __import__("slowly_imported").value, range(4)))
        finally:
            sys.path.remove(directory)
    equal(len(found), 1)


def test_objects_go_when_their_threads_have_ended():
    class Kept:
        def __del__(self):
            gone.append(threading.get_ident())

    gone = []

    def hold():
        local.kept = Kept()

    local = threading.local()
    thread = start(hold)
    thread.join()
    equal(len(gone), 1)


def test_anyio():
    import anyio.from_thread
    import anyio.to_thread

    async def is_main():
        return threading.current_thread() is threading.main_thread()

    def work():
        found = anyio.from_thread.run(is_main), anyio.from_thread.run_sync(threading.get_ident)
        anyio.from_thread.check_cancelled()
        return *found, threading.current_thread() is threading.main_thread()

    async def main():
        equal(await anyio.to_thread.run_sync(work), (True, threading.main_thread().ident, False))
        with raises(RuntimeError, "raised StopIteration"):
            await anyio.to_thread.run_sync(next, iter(()))
        begin = time.monotonic()
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(anyio.to_thread.run_sync, time.sleep, 0.2)
        assert time.monotonic() - begin < 0.5, "they sleep at the same time"
        with anyio.move_on_after(0.01) as scope:
            await anyio.to_thread.run_sync(time.sleep, 0.1, abandon_on_cancel=True)
        equal(scope.cancelled_caught, True)

    anyio.run(main)
    with anyio.from_thread.start_blocking_portal() as portal:
        equal((portal.call(anyio.sleep, 0.01), portal.call(abs, -5)), (None, 5))
        future = portal.start_task_soon(is_main)
        equal(future.result(60), False)


def test_web_applications():
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route, WebSocketRoute
    from starlette.testclient import TestClient

    def in_a_thread(request):
        assert threading.current_thread() is not threading.main_thread()
        return PlainTextResponse("from a thread")

    async def echo(socket):
        await socket.accept()
        await socket.send_text(await socket.receive_text())
        await socket.close()

    with TestClient(Starlette(routes=[Route("/", in_a_thread), WebSocketRoute("/echo", echo)])) as client:
        equal(client.get("/").text, "from a thread")
        with client.websocket_connect("/echo") as socket:
            socket.send_text("hello")
            equal(socket.receive_text(), "hello")


def test_joblib():
    from joblib import Parallel, delayed, parallel_config

    meet = threading.Barrier(3)
    results = Parallel(3, backend="threading")(delayed(meet.wait)(60) for _ in range(3))
    equal(sorted(results), [0, 1, 2])
    with parallel_config("threading", n_jobs=2):
        equal(Parallel()(delayed(abs)(-number) for number in range(4)), [0, 1, 2, 3])
    with raises(ZeroDivisionError):
        Parallel(2, prefer="threads")(delayed(divmod)(1, 0) for _ in range(2))


def test_bars():
    from tqdm import tqdm
    from tqdm.contrib.concurrent import thread_map

    written = io.StringIO()
    equal(thread_map(abs, [-1, 2], file=written), [1, 2])
    with contextlib.redirect_stderr(io.StringIO()):
        equal(list(tqdm(range(3))), [0, 1, 2])
    assert "100%" in written.getvalue(), written.getvalue()
    equal({type(thread).__name__ for thread in threading.enumerate()}, {"_MainThread", "TMonitor"})
