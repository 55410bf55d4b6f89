"""What WebAssembly lacks, replaced or said clearly: threads, processes, JavaScript.

Only for `sys.platform == "emscripten"`; other platforms have all of it.
"""

from .pristine import __builtins__

import _thread
import functools
import importlib.machinery
import os
import sys
import threading
from concurrent.futures import Future
from concurrent.futures.thread import ThreadPoolExecutor

from . import (
    certificates,
    dates,
    entry_points,
    file_links,
    local_time,
    import_hooks,
    libraries,
    missing,
    on_demand,
    processes,
    random_numbers,
    semaphores,
    slots,
    system_calls,
    timers,
    waits,
)

_Spec = importlib.machinery.ModuleSpec

NO_THREADS = (
    "can't start new thread: this Python runs in a WebAssembly sandbox without threads. Call the function directly, "
    "or use asyncio; asyncio.to_thread and ThreadPoolExecutor work here, one call after the other"
)
NO_NETWORK = "this sandbox has no network"
NO_JAVASCRIPT = "this Python runs without JavaScript or Pyodide's own packages"
NO_TRIO = "its event loop needs epoll or kqueue, which this sandbox lacks; use asyncio, or anyio with asyncio"
ONE_ENVIRONMENT = (
    "each sandbox is an environment of its own; install packages with `%pip install` in a session, or name them in a "
    "`# /// script` block (PEP 723)"
)

_PROCESS_MODULES = frozenset(("_multiprocessing", "_posixshmem"))
# Their classes run calls inline, like `ThreadPoolExecutor` here.
_POOL_MODULES = frozenset(("multiprocessing.pool", "concurrent.futures.process"))
_ENVIRONMENT_MODULES = frozenset(("venv", "ensurepip"))
_JAVASCRIPT_MODULES = frozenset(("js", "pyodide_js", "pyodide", "_pyodide", "_pyodide_core"))
# On this platform urllib3 replaces its connections by JavaScript's, at import; without, it uses sockets like anywhere.
_URLLIB3_HOOK = "urllib3.contrib.emscripten"
# What httpx2 (the clients of OpenAI and Anthropic use it) takes its transports from on this platform, and from nowhere
# else.
_HTTPX2_HOOK = "httpx2_jsfetch"


class Finder:
    """First on `sys.meta_path`: imports that need an answer of our own."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in _PROCESS_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}: {processes.REASON}", name=name)
        if name in _ENVIRONMENT_MODULES:
            return _refuse(name, ONE_ENVIRONMENT)
        if name in _POOL_MODULES:
            return _Spec(name, _Pools)
        if name == semaphores.MODULE:
            return semaphores.find_spec(path)
        if name == "trio":
            # Trio itself raises an error that is no `ImportError`: code that only tries it would not catch it.
            return _refuse(name, NO_TRIO)
        if name.partition(".")[0] in _JAVASCRIPT_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}: {NO_JAVASCRIPT}", name=name)
        if name.endswith(_URLLIB3_HOOK) and name[: -len(_URLLIB3_HOOK)] in ("", "pip._vendor.", "botocore.vendored."):
            return _Spec(name, _Urllib3Hook, is_package=True)
        if name == _HTTPX2_HOOK:
            return _Spec(name, _Httpx2Hook)
        return None

    @staticmethod
    def invalidate_caches():
        pass


def _refuse(name, reason):
    """Says why a module is not there. Who only asks is told that it is not; `python -m` ends with a sentence."""
    asker = on_demand.asker(sys._getframe(2))
    text = f"No module named {name!r}: {reason}"
    if asker is None:
        raise ModuleNotFoundError(text, name=name)
    if on_demand.runs_a_module(asker):
        raise SystemExit(text)
    return None


def _without_widgets(module):
    """Bars of a notebook are drawn as text where nobody sees widgets, and without ipywidgets."""
    from .notebook import frontend

    if frontend.has_comms() and module.IProgress is not None:
        return
    from tqdm.std import tqdm, trange

    # What `tqdm.autonotebook` looks at before it takes the others.
    module.IProgress = tqdm
    module.tqdm = module.tqdm_notebook = tqdm
    module.trange = module.tnrange = trange


def _without_monitor(module):
    """Bars of `tqdm` are not watched by a thread, and do not warn that there is none."""
    bar = getattr(module, "tqdm", None)
    if hasattr(bar, "monitor_interval"):
        bar.monitor_interval = 0


def _without_refreshing(module):
    """What `rich` shows live is drawn by who changes it, not by a thread."""
    live = getattr(module, "Live", None)
    if live is None:
        return
    initialize = live.__init__

    @functools.wraps(initialize)
    def __init__(self, *arguments, **options):
        initialize(self, *arguments, **options)
        self.auto_refresh = False

    live.__init__ = __init__


def _without_conda(module):
    """What pandas lacks can be installed from within; there is no conda here."""
    import_dependency = getattr(module, "import_optional_dependency", None)
    if import_dependency is None:
        return

    @functools.wraps(import_dependency)
    def import_optional_dependency(name, *arguments, **options):
        try:
            return import_dependency(name, *arguments, **options)
        except ImportError as error:
            text = str(error)
            shorter = text.replace(
                "Use pip or conda to install", "Install it with `%pip install`, or name it in `dependencies`:"
            )
            if shorter == text:
                raise
            raise type(error)(shorter) from error.__cause__

    module.import_optional_dependency = import_optional_dependency


def _without_timer_threads(module):
    """Time limits of pytest-timeout use the alarm clock, also those that ask for its thread."""
    set_timer = getattr(module, "pytest_timeout_set_timer", None)
    if set_timer is None:
        return

    @functools.wraps(set_timer)
    def pytest_timeout_set_timer(item, settings):
        return set_timer(item, settings._replace(method="signal"))

    module.pytest_timeout_set_timer = pytest_timeout_set_timer


# What to do to a module that expects threads or JavaScript, or another way to install packages.
_CHANGES = {
    libraries.THREADPOOLCTL: libraries.use_ours,
    "tqdm.std": _without_monitor,
    "tqdm.notebook": _without_widgets,
    "rich.live": _without_refreshing,
    "pandas.compat._optional": _without_conda,
    "webbrowser": missing.without_browser,
    "ssl": certificates.use,
    "pytest_timeout": _without_timer_threads,
    "_pytest.assertion.rewrite": import_hooks.follow_rewriting,
    "importlib.metadata": entry_points.hide_unasked,
    "importlib_metadata": entry_points.hide_unasked,
    "subprocess": processes.refuse,
}


class _Pools:
    """Loads a module of pools that run calls inline."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        from . import pools

        pools.fill(module)


class _Urllib3Hook:
    """Loads a module whose `inject_into_urllib3` leaves urllib3 as it is."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        def inject_into_urllib3():
            """Keeps urllib3's own connections."""

        module.inject_into_urllib3 = inject_into_urllib3


class _Httpx2Hook:
    """Loads a module with the transports that httpx2 looks for; there is nothing that they could send with."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        from httpx2._exceptions import ConnectError
        from httpx2._transports.base import AsyncBaseTransport, BaseTransport

        class JavascriptFetchTransport(BaseTransport):
            """Fails like a connection that cannot be made."""

            def __init__(self, *arguments, **options):
                pass

            def handle_request(self, request):
                raise ConnectError(NO_NETWORK, request=request)

        class AsyncJavascriptFetchTransport(AsyncBaseTransport):
            """Fails like a connection that cannot be made."""

            def __init__(self, *arguments, **options):
                pass

            async def handle_async_request(self, request):
                raise ConnectError(NO_NETWORK, request=request)

        module.JavascriptFetchTransport = JavascriptFetchTransport
        module.AsyncJavascriptFetchTransport = AsyncJavascriptFetchTransport


def patch():
    """Installs the finder and the messages."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
        sys.meta_path.append(on_demand.Finder)
        for name, change in _CHANGES.items():
            import_hooks.after_import(name, change)
    slots.patch()
    dates.install()
    missing.install()
    random_numbers.install()
    system_calls.install()
    file_links.install()
    local_time.install()
    timers.install()
    waits.install()
    _thread.start_new_thread = _thread.start_new = threading._start_new_thread = _no_thread
    if hasattr(_thread, "start_joinable_thread"):
        _thread.start_joinable_thread = threading._start_joinable_thread = _no_thread
    _thread.get_native_id = threading.get_native_id = _native_id
    ThreadPoolExecutor.submit = _submit
    processes.install()


def _submit(executor, fn, /, *args, **kwargs):
    """`ThreadPoolExecutor.submit` on the calling thread, the only one: the future is done when it is returned."""
    if executor._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    if not getattr(executor, "_initialized", False):
        executor._initialized = True
        _initialize(executor)
    future = Future()
    future.set_running_or_notify_cancel()
    try:
        result = fn(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
    return future


def _initialize(executor):
    if hasattr(executor, "_create_worker_context"):  # since 3.14
        executor._create_worker_context().initialize()
    elif executor._initializer is not None:
        executor._initializer(*executor._initargs)


def _no_thread(*_arguments, **_options):
    raise RuntimeError(NO_THREADS)


def _native_id():
    """`threading.get_native_id`: that of a process's first thread is its own, as in Linux."""
    return os.getpid()
