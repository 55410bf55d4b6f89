"""What WebAssembly lacks, replaced or said clearly: processes, JavaScript.

Only for `sys.platform == "emscripten"`; other platforms have all of it.
"""

from .pristine import __builtins__

import functools
import importlib.machinery
import os
import sys

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
    process_executor,
    processes,
    random_numbers,
    semaphores,
    slots,
    system_calls,
    thread_support,
    timers,
)

_Spec = importlib.machinery.ModuleSpec

NO_NETWORK = "this sandbox has no network"
NO_JAVASCRIPT = "this Python runs without JavaScript or Pyodide's own packages"
NO_TRIO = "its event loop needs epoll or kqueue, which this sandbox lacks; use asyncio, or anyio with asyncio"
ONE_ENVIRONMENT = (
    "each sandbox is an environment of its own; install packages with `%pip install` in a session, or name them in a "
    "`# /// script` block (PEP 723)"
)

_PROCESS_MODULES = frozenset(("_multiprocessing", "_posixshmem"))
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
        if name == process_executor.MODULE:
            return _Spec(name, _ProcessExecutor)
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


class _Raised:
    """An exception of a call that `joblib` made in a thread. Elsewhere it is pickled for another process."""

    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        return _Raised._error_of, (self,)

    def _error_of(self):
        return self.error


def _with_threads(module):
    """`joblib` takes a platform without processes for one without threads, and the two for the same."""
    backends = sys.modules.get("joblib._parallel_backends")
    if backends is None or getattr(module, "mp", True) is not None or getattr(backends, "mp", True) is not None:
        return
    import multiprocessing.pool

    backends.mp, backends.ThreadPool = multiprocessing, multiprocessing.pool.ThreadPool
    backends.cpu_count = os.cpu_count
    sys.modules["joblib._utils"]._ExceptionWithTraceback = _Raised
    # What is meant for processes shares nothing: it runs in turn.
    module.DEFAULT_BACKEND = "sequential"


def _use_our_pool(module):
    from . import pools

    pools.replace(module)


# What to do to a module that expects processes or JavaScript, or another way to install packages.
_CHANGES = {
    libraries.THREADPOOLCTL: libraries.use_ours,
    "tqdm.notebook": _without_widgets,
    "pandas.compat._optional": _without_conda,
    "webbrowser": missing.without_browser,
    "ssl": certificates.use,
    "_pytest.assertion.rewrite": import_hooks.follow_rewriting,
    "importlib.metadata": entry_points.hide_unasked,
    "importlib_metadata": entry_points.hide_unasked,
    "subprocess": processes.refuse,
    "multiprocessing.pool": _use_our_pool,
    "joblib.parallel": _with_threads,
}


class _ProcessExecutor:
    """Loads `concurrent.futures.process`."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        process_executor.fill(module)


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
    thread_support.install()
    processes.install()
