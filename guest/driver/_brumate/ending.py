"""The end of a program, as the end of a Python process: exit functions run, modules are cleared, files are flushed.

`Py_FinalizeEx` cannot be used: objects of an image are immortal, a session goes on after a script, and clearing a
thousand modules of libraries would take longer than most runs. The steps and their order are its own:

1. exit functions of `threading` run, threads that are no daemons are waited for, exit functions of `atexit` run
   ([`run_exit_functions`]);
2. the program's modules go, `__main__` first, then what still refers to one of them is collected ([`release`]);
3. modules that something keeps are cleared, the last imported first;
4. objects that libraries keep are finalized ([`finalize_kept`]): natively the libraries' modules would be cleared.

A process of the guest ends once. A script inside a session is a [`Visit`].
"""

from .pristine import __builtins__

import _io
import atexit
import builtins
import gc
import itertools
import logging
import os
import sys
import threading
import types
import warnings
import weakref

from . import idle_threads, ignored, own_files, pristine, streams

_run_exit_functions = atexit._run_exitfuncs
_collect_now = gc.collect
_objects = gc.get_objects
_is_finalized = gc.is_finalized
_Generator = types.GeneratorType
_Module = types.ModuleType
_ref = weakref.ref
_finalize = weakref.finalize
_is_finalizing = sys.is_finalizing
_frame = sys._getframe
# Attributes of classes and modules may run code of a program; these functions ask the interpreter.
_bases = type.__dict__["__mro__"].__get__
_members = type.__dict__["__dict__"].__get__
_module_names = types.ModuleType.__dict__["__dict__"].__get__
_any_names = object.__getattribute__
_Stream = _io._IOBase
_TextStream = _io._TextIOBase
_PLAIN_STREAMS = tuple([kind for kind in vars(_io).values() if type(kind) is type and _Stream in kind.__mro__])


def _places_of_libraries():
    if sys.platform == "emscripten":
        return ("/usr/", "/lib/")
    # Where the guest is tested.
    places = {os.path.dirname(os.__file__), sys.prefix, *own_files.PLACES}
    return tuple([place + "/" for place in places])


_LIBRARIES = _places_of_libraries()


class _Known:
    """Modules and attributes of the interpreter before any program runs."""

    modules = frozenset()
    attributes = frozenset()
    builtins = frozenset()


def note_known():
    """Takes what is there for the interpreter's own. Called when an image is complete."""
    _Known.modules = frozenset(sys.modules)
    _Known.attributes = frozenset(vars(sys))
    _Known.builtins = frozenset(vars(builtins))


def _report(message, what, error):
    """Prints an exception that nobody can catch, as CPython does."""
    details = types.SimpleNamespace(
        exc_type=type(error), exc_value=error, exc_traceback=error.__traceback__, err_msg=message, object=what
    )
    hook = sys.unraisablehook or ignored.print_ignored
    try:
        hook(details)
    except BaseException:
        pass  # nobody is left to hear it


def _call(function, message):
    """Calls a function of the program. Only an interrupt is raised: it may be that of a limit."""
    try:
        function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        _report(message, function, error)


def _is_a(kind, wanted):
    """Whether a class is another or derived from it. Runs no code of either."""
    for base in _bases(kind):
        if base is wanted:
            return True
    return False


def _found(wanted):
    """Objects of the program whose class is `wanted`: a function that is asked once for each class.

    Classes need not be hashable, and memory may be nearly full: there is only one list of all objects.
    """
    objects = _objects()
    kinds = dict(zip(map(id, map(type, objects)), map(type, objects), strict=True))
    chosen = {number for number, kind in kinds.items() if wanted(kind)}
    return list(itertools.compress(objects, map(chosen.__contains__, map(id, map(type, objects))))) if chosen else []


def _is_stream(kind):
    return _is_a(kind, _Stream)


def _is_plain(stream):
    """Whether a stream's class is one of the interpreter's own."""
    return any(type(stream) is kind for kind in _PLAIN_STREAMS)


def _streams():
    return [some for some in _found(_is_stream) if not streams.is_part_of_ours(some)]


def _rank(stream):
    """Streams that write to others come first."""
    return 0 if _is_a(type(stream), _TextStream) else 2 if _is_plain(stream) else 1


def _quietly(function, *arguments):
    try:
        function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass  # of a library's object: natively this would happen elsewhere, or not at all


def _flush_open(stream):
    if not stream.closed:
        stream.flush()


def _collect():
    """Collects garbage. Streams go last, text before bytes: the collector would finalize those of a cycle in any order,
    and what a closed file has not got yet would be lost."""
    try:
        held = sorted(_streams(), key=_rank, reverse=True)
    except MemoryError:
        held = []
    _collect_now()
    while held:
        stream = held.pop()
        if _is_plain(stream):
            _quietly(_flush_open, stream)
        del stream


# 1. Exit functions.


def run_exit_functions():
    """Runs what was registered with `threading` and `atexit`, the last first. They run as the guest."""
    # The last of these functions: an interrupt in the standard library's own wait would be lost.
    threading._threading_atexits.insert(0, _end_main_thread)
    _call(threading._shutdown, "Exception ignored on threading shutdown")
    _run_exit_functions()


def _end_main_thread():
    handle = getattr(threading.main_thread(), "_os_thread_handle", None)  # since 3.13
    if handle is not None:
        handle._set_done()
    join_threads()


def join_threads(known=frozenset()):
    """Waits for threads that are no daemons, except those in `known`. Workers of executors do the work that is left."""
    idle_threads.finish_workers(known)
    while left := [some for some in threading.enumerate() if not (some.daemon or some in known or _is_current(some))]:
        for thread in left:
            thread.join()


def _is_current(thread):
    return thread is threading.main_thread() or thread is threading.current_thread()


# 2. and 3. Modules.


def file_of(module):
    """The file of a module, or what stands for it (`built-in`); None if there is none. Runs no code of the module, nor
    a module that waits for its first use."""
    try:
        names = _module_names(module) if _is_a(type(module), _Module) else _any_names(module, "__dict__")
    except AttributeError:
        return None
    file = names.get("__file__")
    if type(file) is not str:
        file = getattr(names.get("__spec__"), "origin", None)
    return file if type(file) is str else None


def _is_library(module):
    """Whether a module is of the interpreter, of an installed package or of the driver."""
    file = file_of(module)
    return file is not None and (file in ("built-in", "frozen") or file.startswith(_LIBRARIES))


def own_modules(known=None):
    """Names of the program's modules, `__main__` first and then in the order of their import.

    `known`: names that are none of it; by default those of the interpreter.
    """
    modules, names = sys.modules, []
    added = modules.keys() - (_Known.modules if known is None else known)
    for name in [name for name in modules if name in added] if added else ():
        try:
            if name != "__main__" and not _is_library(modules[name]):
                names.append(name)
        except Exception:
            pass  # what a program has put there need not be a module
    return ["__main__", *names] if "__main__" in modules else names


def _take_away(names):
    """Takes modules out of `sys.modules`; returns weak references to those."""
    modules, kept = sys.modules, []
    for name in names:
        try:
            kept.append(_ref(modules.pop(name)))
        except (KeyError, TypeError):
            pass
    return kept


def _clear(kept):
    """Clears modules that are still there: private names first, and `__builtins__` never."""
    for reference in reversed(kept):
        module = reference()
        if not _is_a(type(module), _Module):
            continue
        names = _module_names(module)
        for private in (True, False):
            for name in list(names):
                if type(name) is str and name != "__builtins__" and (name[:1] == "_" and name[1:2] != "_") is private:
                    names[name] = None
        del module, names


def _forget_attributes():
    """Takes the program's changes out of `sys` and `builtins`, which keep its functions alive."""
    sys.excepthook, sys.displayhook = sys.__excepthook__, sys.__displayhook__
    sys.unraisablehook = ignored.print_ignored
    streams.take_back()
    for name in vars(sys).keys() - _Known.attributes:
        delattr(sys, name)
    live = vars(builtins)
    for name in live.keys() - _Known.builtins:
        del live[name]
    pristine.repair()


def _ignore(arguments, /):
    """Takes the place of `threading.excepthook`."""


def release():
    """Lets go of the program's modules, and of all that only they kept."""
    try:
        names = own_modules()
    except MemoryError:
        names = ["__main__"]
    sys.is_finalizing = True.__bool__
    # Of daemons that run on though the program has ended.
    threading.excepthook = _ignore
    kept = _take_away(names)
    _forget_attributes()
    _collect()
    if any(reference() is not None for reference in kept):
        _clear(kept)
        _collect()


# 4. What libraries keep.


def _finalizer(kind):
    """The finalizer of a class, if it is a function of Python; streams are flushed."""
    for base in _bases(kind):
        members = _members(base)
        if "__del__" in members:
            function = members["__del__"]
            return function if type(function) is types.FunctionType else None
    return None


def _flush(stream):
    """Passes on what a stream holds. Formats with an end (gzip, bz2, ...) are ended."""
    if stream.closed:
        return
    stream.flush()
    if not _is_plain(stream):
        stream.close()


def finalize_kept():
    """Finalizes objects of the program that something else than its modules keeps. If memory is full, streams only."""
    try:
        try:
            _finalize_found(only_streams=False)
            return
        except MemoryError:
            pass
        _collect_now()
        _finalize_found(only_streams=True)
    finally:
        sys.is_finalizing = _is_finalizing


def _finalize_found(only_streams):
    connection = getattr(sys.modules.get("sqlite3"), "Connection", _Known)

    def wanted(kind):
        return kind is _Generator or _is_a(kind, connection) or _is_stream(kind) or _finalizer(kind) is not None

    found = _found(_is_stream if only_streams else wanted)
    open_streams = [some for some in found if _is_stream(type(some)) and not streams.is_part_of_ours(some)]
    try:
        for some in found:
            kind = type(some)
            if kind is _Generator:
                file = some.gi_code.co_filename
                if some.gi_frame is not None and not some.gi_running and not file.startswith(_LIBRARIES):
                    _call(some.close, "Exception ignored while closing generator")
            elif _is_stream(kind):
                pass
            elif _is_a(kind, connection):
                _quietly(some.close)
            elif not _is_finalized(some):
                function = _finalizer(kind)
                if function.__code__.co_filename.startswith(_LIBRARIES):
                    _quietly(function, some)
                else:
                    _call(types.MethodType(function, some), None)
    finally:
        for stream in sorted(open_streams, key=_rank):
            _quietly(_flush, stream)


# A script inside a session.


def _imports_library(frame):
    """Whether code runs because a library is imported: what it registers stays as long as the library."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>":
            return code.co_filename.startswith(_LIBRARIES) and frame.f_globals.get("__name__") != "__main__"
        frame = frame.f_back
    return False


class _ExitFunctions:
    """`atexit` for one program. `stops`: exceptions that are no failure of an exit function, but its end."""

    NAMES = ("register", "unregister", "_run_exitfuncs", "_clear", "_ncallbacks")

    def __init__(self, stops):
        self.functions = []
        self.threading = []
        self._stops = stops
        self._before = {name: getattr(atexit, name) for name in self.NAMES}
        self._before_threading = threading._register_atexit
        for name in self._before:
            setattr(atexit, name, getattr(self, name))
        threading._register_atexit = self._register_threading

    def give_back(self):
        """Makes `atexit` the session's again."""
        for name, function in self._before.items():
            setattr(atexit, name, function)
        threading._register_atexit = self._before_threading

    def register(self, func, /, *args, **kwargs):
        """Register a function to be executed upon normal program termination."""
        # `weakref` registers once for all programs.
        of_all = type(func) is types.MethodType and func.__func__ is _finalize._exitfunc.__func__
        if of_all or _imports_library(_frame(1)):
            return self._before["register"](func, *args, **kwargs)
        if not callable(func):
            raise TypeError("the first argument must be callable")
        self.functions.append((func, args, kwargs))
        return func

    def unregister(self, func, /):
        """Unregister an exit function which was previously registered using atexit.register."""
        self.functions[:] = [entry for entry in self.functions if not entry[0] == func]
        if _frame(1).f_code.co_filename.startswith(_LIBRARIES):
            self._before["unregister"](func)

    def _register_threading(self, func, *args, **kwargs):
        if _imports_library(_frame(1)):
            self._before_threading(func, *args, **kwargs)
        else:
            self.threading.append((func, args, kwargs))

    def _run_exitfuncs(self):
        self._run(self.functions, "Exception ignored in atexit callback")

    def run_threading(self):
        self._run(self.threading, "Exception ignored on threading shutdown")

    def _run(self, functions, message):
        while functions:
            func, args, kwargs = functions.pop()
            try:
                func(*args, **kwargs)
            except self._stops:
                raise
            except BaseException as error:
                error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
                _report(message, func, error)

    def _clear(self):
        self.functions.clear()

    def _ncallbacks(self):
        return len(self.functions)


class _Logging:
    """The session's logging, put aside: a program starts with a root logger of its own."""

    NAMES = ("_loggerClass", "_logRecordFactory", "_warnings_showwarning", "lastResort", "raiseExceptions")

    def __init__(self):
        root = logging.getLogger()
        self._values = {name: getattr(logging, name) for name in self.NAMES}
        self._references, self._named = list(logging._handlerList), list(logging._handlers.items())
        self._disable = root.manager.disable
        self._loggers = [
            (some, list(some.handlers), list(some.filters), some.level, some.disabled, some.propagate)
            for some in _loggers()
        ]
        logging._handlerList.clear()
        logging._handlers.clear()
        root.handlers[:] = _null_handlers(root)
        root.filters.clear()
        root.disabled = False
        root.manager.disable = logging.NOTSET
        root.setLevel(logging.WARNING)

    def give_back(self):
        """Ends the program's handlers, and makes everything as it was."""
        try:
            logging.shutdown(logging._handlerList[:])
        finally:
            for name, value in self._values.items():
                setattr(logging, name, value)
            logging._handlerList[:] = self._references
            logging._handlers.clear()
            logging._handlers.update(self._named)
            seen = set()
            for logger, handlers, filters, level, disabled, propagate in self._loggers:
                seen.add(id(logger))
                logger.handlers[:], logger.filters[:] = handlers, filters
                logger.level, logger.disabled, logger.propagate = level, disabled, propagate
            for logger in _loggers():
                if id(logger) not in seen:
                    # Null handlers are of libraries.
                    logger.handlers[:] = _null_handlers(logger)
            manager = logging.getLogger().manager
            manager.disable = self._disable
            manager._clear_cache()


def _null_handlers(logger):
    return [some for some in logger.handlers if type(some) is logging.NullHandler]


def _loggers():
    root = logging.getLogger()
    return [root, *[some for some in root.manager.loggerDict.values() if isinstance(some, logging.Logger)]]


class _Hooks:
    """Functions of `builtins`, `sys` and `warnings` that a program may replace.

    A replacement may be defined in a module that is cleared.
    """

    WARNINGS = ("showwarning", "formatwarning", "_showwarnmsg", "_showwarnmsg_impl", "_formatwarnmsg_impl", "filters")

    def __init__(self):
        self._builtins = dict(vars(builtins))
        self._sys = sys.excepthook, sys.displayhook, sys.unraisablehook
        self._warnings = [(name, getattr(warnings, name)) for name in self.WARNINGS if hasattr(warnings, name)]
        self._filters = list(warnings.filters)

    def give_back(self):
        live = vars(builtins)
        for name in live.keys() - self._builtins.keys():
            del live[name]
        live.update(self._builtins)
        sys.excepthook, sys.displayhook, sys.unraisablehook = self._sys
        for name, value in self._warnings:
            setattr(warnings, name, value)
        warnings.filters[:] = self._filters
        if hasattr(warnings, "_filters_mutated"):
            warnings._filters_mutated()
        else:
            with warnings._lock:
                warnings._filters_mutated_lock_held()


class Visit:
    """A program inside a session: what it leaves in the interpreter is taken away at its end, the session's stays.

    `stops`: exceptions that end its exit functions, and are not told as a failure of one. `shares`: it is no process
    of its own, so logging and hooks are those of the session.
    """

    def __init__(self, stops=(), shares=False):
        self._threads = frozenset(threading.enumerate())
        self._finalizers = set(_finalize._registry)
        # The streams themselves: an address alone may be another's later.
        self._streams = _streams()
        self._hooks = None if shares else _Hooks()
        self._exits = _ExitFunctions((KeyboardInterrupt, *stops))
        self._logging = None if shares else _Logging()

    def run_exit_functions(self):
        """Runs what the program has registered. They run as the guest."""
        self._exits.run_threading()
        join_threads(self._threads)
        self._exits._run_exitfuncs()
        new = [(info.index, f) for f, info in _finalize._registry.items() if f not in self._finalizers and info.atexit]
        for _, function in sorted(new, key=lambda entry: -entry[0]):
            _call(function, "Exception ignored in weakref.finalize")

    def end(self, names):
        """Lets go of the modules of these names, and flushes what the program has left open."""
        try:
            try:
                self._exits.give_back()
            finally:
                self._hooks.give_back()
        finally:
            try:
                self._logging.give_back()
            finally:
                self._let_go(names)

    def _let_go(self, names):
        try:
            kept = _take_away(names)
            _collect()
            _clear(kept)
            _collect()
        finally:
            self._flush()

    def hand_over(self):
        """Ends the program, but leaves its names to the session: exit functions run, what was written is flushed."""
        try:
            self._exits.run_threading()
            self._exits._run_exitfuncs()
        finally:
            self._exits.give_back()
            self._flush()

    def _flush(self):
        known = {id(stream) for stream in self._streams}
        left = [some for some in _streams() if id(some) not in known]
        for stream in sorted(left, key=_rank):
            _quietly(stream.flush)
