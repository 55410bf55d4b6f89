"""The sandbox's asyncio, processes and modules; emulated on other platforms."""

import unittest

from support import run


def value(code):
    return run(code, emulate=True).value


def raised(code):
    return run(code, emulate=True).raised


class Asyncio(unittest.TestCase):
    def test_a_loop_can_be_woken(self):
        code = (
            "import asyncio\nasync def main():\n    loop = asyncio.get_running_loop()\n"
            "    future = loop.create_future()\n    loop.call_soon_threadsafe(future.set_result, 1)\n"
            "    return await future\nasyncio.run(main())"
        )
        self.assertEqual(value(code), 1)

    def test_primitives(self):
        code = (
            "import asyncio\n"
            "async def one(n):\n    await asyncio.sleep(0.001 * n)\n    return n\n"
            "async def main():\n"
            "    out = [await asyncio.gather(*map(one, range(3)))]\n"
            "    async with asyncio.TaskGroup() as group:\n        t = group.create_task(one(5))\n"
            "    out.append(t.result())\n"
            "    try:\n        async with asyncio.timeout(0.01): await asyncio.sleep(9)\n"
            "    except TimeoutError: out.append('timeout')\n"
            "    try: await asyncio.wait_for(asyncio.sleep(9), 0.01)\n"
            "    except TimeoutError: out.append('wait_for')\n"
            "    q = asyncio.Queue(1)\n"
            "    async def put():\n        for i in range(3): await q.put(i)\n"
            "    p = asyncio.create_task(put())\n    out.append([await q.get() for _ in range(3)])\n"
            "    e = asyncio.Event()\n    asyncio.get_running_loop().call_later(0.001, e.set)\n    await e.wait()\n"
            "    done, _ = await asyncio.wait([asyncio.create_task(one(1))])\n    out.append(len(done))\n"
            "    return out\n"
        )
        expected = [[0, 1, 2], 5, "timeout", "wait_for", [0, 1, 2], 1]
        self.assertEqual(value(code + "asyncio.run(main())"), expected)
        self.assertEqual(value(code + "await main()"), expected)

    def test_to_thread(self):
        self.assertEqual(value("import asyncio\nawait asyncio.to_thread(sum, [1, 2])"), 3)
        self.assertEqual(value("import asyncio\nasyncio.run(asyncio.to_thread(sum, [1, 2]))"), 3)
        code = "import asyncio\nasync def f():\n    try: await asyncio.to_thread({}.__getitem__, 'k')\n    except KeyError as e: return repr(e)\nasyncio.run(f())"
        self.assertEqual(value(code), "KeyError('k')")
        self.assertEqual(
            value(
                "import asyncio, contextvars\nv = contextvars.ContextVar('v')\nv.set(4)\nawait asyncio.to_thread(v.get)"
            ),
            4,
        )

    def test_run_in_executor(self):
        code = "import asyncio, concurrent.futures as c\nasync def f():\n    with c.ThreadPoolExecutor() as pool: return await asyncio.get_running_loop().run_in_executor(pool, pow, 2, 5)\nasyncio.run(f())"
        self.assertEqual(value(code), 32)

    def test_run_below_top_level_await(self):
        code = (
            "import asyncio\nasync def f(): \n    await asyncio.sleep(0)\n    return asyncio.current_task() is not None\n"
            "await asyncio.sleep(0)\na = asyncio.run(f())\nt = asyncio.create_task(f())\nb = asyncio.run(f())\n[a, b, await t]"
        )
        self.assertEqual(value(code), [True, True, True])

    def test_run_below_run_is_refused_as_ever(self):
        code = "import asyncio\nasync def g(): pass\nasync def f():\n    c = g()\n    try: asyncio.run(c)\n    except RuntimeError as e: return str(e)\n    finally: c.close()\nasyncio.run(f())"
        self.assertIn("cannot be called from a running event loop", value(code))

    def test_call_soon_threadsafe(self):
        code = "import asyncio\nasync def f():\n    e = asyncio.Event()\n    asyncio.get_running_loop().call_soon_threadsafe(e.set)\n    await e.wait()\n    return 1\nasyncio.run(f())"
        self.assertEqual(value(code), 1)

    def test_a_loop_with_a_selector_of_its_own(self):
        code = (
            "import asyncio\n"
            "class Selector:\n    def select(self, timeout): return []\n"
            "class Loop(asyncio.BaseEventLoop):\n"
            "    def __init__(self):\n        super().__init__()\n        self._selector = Selector()\n"
            "    def _process_events(self, events): pass\n"
            "async def left():\n    await asyncio.sleep(3600)\n"
            "async def main():\n    task = asyncio.create_task(left())\n    await asyncio.sleep(0)\n    return task\n"
            "with asyncio.Runner(loop_factory=Loop) as runner: task = runner.run(main())\ntask.cancelled()"
        )
        self.assertTrue(value(code))


class Modules(unittest.TestCase):
    def test_javascript(self):
        for code in ("import js", "from pyodide.ffi import to_js", "import pyodide_js", "import pyodide.http"):
            with self.subTest(code=code):
                error = raised(code)
                self.assertEqual(error["ename"], "ModuleNotFoundError")
                self.assertIn("runs without JavaScript", error["evalue"])
                self.assertNotIn("_brumate", error["traceback"])
        self.assertEqual(value("try: import js\nexcept ImportError: x = 1\nx"), 1)
        self.assertEqual(value("import sys\n[m in sys.modules for m in ('js', 'pyodide')]"), [False, False])

    def test_multiprocessing(self):
        code = "import multiprocessing\nmultiprocessing.Process(target=print).start()"
        self.assertIn("cannot start processes", raised(code)["evalue"])

    def test_locks_of_processes(self):
        code = (
            "import multiprocessing, multiprocessing.synchronize\nseen = []\n"
            "def say(call, *arguments):\n"
            "    try: seen.append(call(*arguments))\n    except Exception as error: seen.append([type(error).__name__, str(error)])\n"
            "for make in (multiprocessing.Lock, multiprocessing.RLock, multiprocessing.Semaphore, lambda: multiprocessing.BoundedSemaphore(2)):\n"
            "    lock = make()\n    seen.append(type(lock).__name__)\n"
            "    for call, *arguments in [(lock.release,), (lock.acquire,), (lock.acquire, False), (lock.acquire, True, 0.001), (lock.release,), (lock.release,), (lock.release,)]:\n"
            "        say(call, *arguments)\n    seen.append(repr(lock))\n    with make() as held: seen.append(held)\n"
            "event = multiprocessing.Event()\nseen.append(event.is_set())\nevent.set()\nseen.append([event.is_set(), event.wait(), event.wait(1)])\n"
            "condition = multiprocessing.Condition()\n"
            "with condition: seen.append([condition.wait(0.001), condition.notify_all(), condition.wait_for(lambda: 5)])\n"
            "seen.append(isinstance(multiprocessing.Lock(), multiprocessing.synchronize.Lock))\nseen"
        )
        self.assertEqual(value(code), run(code).value)
        self.assertGreater(len(value(code)), 40)

    def test_trio_is_not_there(self):
        code = (
            "import importlib.util\nseen = [importlib.util.find_spec('trio')]\ntry: import trio\n"
            "except ImportError as error: seen.append([type(error).__name__, error.name, str(error)])\nseen"
        )
        seen = value(code)
        self.assertEqual((seen[0], seen[1][:2]), (None, ["ModuleNotFoundError", "trio"]))
        self.assertIn("use asyncio", seen[1][2])

    def test_pools(self):
        code = (
            "import multiprocessing, multiprocessing.dummy\nfrom multiprocessing.pool import AsyncResult, Pool, ThreadPool\nlog = []\n"
            "with multiprocessing.Pool(4, log.append, ('init',)) as pool:\n"
            "    a = [pool.map(abs, [-1, 2], 5), pool.starmap(pow, [(2, 3), (3, 2)]), pool.apply(int, ('11',), {'base': 2})]\n"
            "    b = pool.map_async(abs, iter([-3]), callback=log.append).get(1)\n"
            "    failed = pool.apply_async(divmod, (1, 0), error_callback=lambda e: log.append(type(e).__name__))\n"
            "    c = [isinstance(failed, AsyncResult), failed.ready(), failed.successful(), repr(pool)]\n"
            "    try: failed.get()\n    except ZeroDivisionError: c.append('raised')\n"
            "    items = pool.imap(int, ['1', 'x', '3'])\n    d = [next(items)]\n"
            "    try: items.next(timeout=1)\n    except ValueError: d += items\n"
            "try: pool.map(abs, [])\nexcept ValueError as error: d.append(str(error))\n"
            "pool = multiprocessing.get_context('spawn').Pool()\npool.imap_unordered(log.append, 'ab')\npool.close()\npool.join()\n"
            "e = [type(p) is ThreadPool and p.map(len, ['ab']) for p in (ThreadPool(2), multiprocessing.dummy.Pool(2))]\n"
            "try: Pool(0)\nexcept ValueError as error: e.append(str(error))\n"
            "[a, b, c, d, e, log]"
        )
        self.assertEqual(
            value(code),
            [
                [[1, 2], [8, 9], 3],
                [3],
                [True, True, False, "<multiprocessing.pool.Pool state=RUN pool_size=4>", "raised"],
                [1, 3, "Pool not running"],
                [[2], [2], "Number of processes must be at least 1"],
                ["init", [3], "ZeroDivisionError", "a", "b"],
            ],
        )

    def test_results_that_nobody_asked_for_come_later(self):
        code = (
            "import multiprocessing\npool = multiprocessing.Pool()\nitems = pool.imap(int, ['1', 'x', '3'])\npool.close()\npool.join()\nseen = [next(items)]\n"
            "try: next(items)\nexcept ValueError as error: seen.append(type(error).__name__)\nseen + list(items)"
        )
        self.assertEqual(value(code), [1, "ValueError", 3])

    def test_what_a_pool_runs_is_seen_in_the_traceback(self):
        error = raised("import multiprocessing\ndef f(x): return 1 / x\nmultiprocessing.Pool(2).map(f, [1, 0])")
        self.assertEqual(error["ename"], "ZeroDivisionError")
        self.assertIn("def f(x)", error["traceback"])
        self.assertNotIn("_brumate", error["traceback"])

    def test_process_executor(self):
        code = (
            "import concurrent.futures as c, asyncio, math\nfrom concurrent.futures.process import BrokenProcessPool\nlog = []\n"
            "with c.ProcessPoolExecutor(2, initializer=log.append, initargs=(1,)) as pool:\n"
            "    a = list(pool.map(math.sqrt, [1, 4], chunksize=2))\n    b = repr(pool.submit(divmod, 1, 0).exception())\n"
            "    async def f(): return await asyncio.get_running_loop().run_in_executor(pool, pow, 2, 5)\n    d = asyncio.run(f())\n"
            "try: pool.submit(int)\nexcept RuntimeError as error: e = str(error)\n"
            "[a, b, d, e, log, c.ProcessPoolExecutor.__module__, issubclass(BrokenProcessPool, c.BrokenExecutor)]"
        )
        a, b, d, e, log, name, broken = value(code)
        self.assertEqual(
            (a, d, e, log, broken), ([1.0, 2.0], 32, "cannot schedule new futures after shutdown", [1], True)
        )
        self.assertTrue(b.startswith("ZeroDivisionError"))
        self.assertEqual(name, "concurrent.futures.process")

    def test_os_system(self):
        result = run("import os\nos.system('ls -l')", emulate=True)
        self.assertEqual(
            (result.value, result.output.startswith("sh: ls -l: not found (this sandbox")), (127 << 8, True)
        )

    def test_httpx2(self):
        code = (
            "import asyncio, os\nos.makedirs('httpx2/_transports')\n"
            "files = {'__init__': '', '_exceptions': 'class ConnectError(Exception):\\n'\n"
            "    '  def __init__(self, message, *, request): super().__init__(message, request)',\n"
            "    '_transports/__init__': '',\n"
            "    '_transports/base': 'class BaseTransport: pass\\nclass AsyncBaseTransport: pass'}\n"
            "for name, text in files.items(): open(f'httpx2/{name}.py', 'w').write(text)\n"
            "from httpx2_jsfetch import AsyncJavascriptFetchTransport as A, JavascriptFetchTransport as S\n"
            "from httpx2._exceptions import ConnectError\nseen = []\n"
            "for call in (lambda: S(verify=True).handle_request(1), lambda: asyncio.run(A().handle_async_request(2))):\n"
            "    try: call()\n"
            "    except ConnectError as error: seen.append(error.args)\n"
            "seen"
        )
        self.assertEqual(value(code), [["this sandbox has no network", 1], ["this sandbox has no network", 2]])

    def test_urllib3(self):
        code = (
            "import os\nos.makedirs('urllib3/contrib/emscripten')\n"
            "for p in ('urllib3', 'urllib3/contrib', 'urllib3/contrib/emscripten'):\n"
            "    open(p + '/__init__.py', 'w').write('import js' if 'emscripten' in p else '')\n"
            "from urllib3.contrib.emscripten import inject_into_urllib3\ninject_into_urllib3()\n1"
        )
        self.assertEqual(value(code), 1)


if __name__ == "__main__":
    unittest.main()
