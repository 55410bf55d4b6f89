"""The end of a program, as the end of a Python process: exit functions run, modules are cleared, files are flushed.

`Py_FinalizeEx` cannot be used: objects of an image are immortal, a session goes on after a script, and clearing a
thousand modules of libraries would take longer than most runs. The steps and their order are its own:

1. exit functions of `threading`, then those of `atexit` ([`run_exit_functions`]);
2. the program's modules go, `__main__` first, then what still refers to one of them is collected ([`release`]);
3. modules that something keeps are cleared, the last imported first;
4. objects that libraries keep are finalized ([`finalize_kept`]): natively the libraries' modules would be cleared.

A process of the guest ends once. A script inside a session is a [`Visit`].
"""

from .pristine import __builtins__

import atexit
import builtins
import gc
import io
import logging
import os
import sys
import threading
import types
import weakref

from . import ignored, pristine, streams

_run_exit_functions = atexit._run_exitfuncs
_collect_now = gc.collect
_objects = gc.get_objects
_is_finalized = gc.is_finalized
_Generator = types.GeneratorType
_Module = types.ModuleType
_ref = weakref.ref
_finalize = weakref.finalize
_is_finalizing = sys.is_finalizing
_OURS = os.path.dirname(__file__) + "/"


def _places_of_libraries():
    if sys.platform == "emscripten":
        return ("/lib/",)
    # Where the guest is tested.
    places = {os.path.dirname(os.__file__), sys.prefix, os.path.dirname(os.path.dirname(__file__))}
    return tuple([place + "/" for place in places])


_LIBRARIES = _places_of_libraries()


class _Known:
    """What an interpreter has before any program runs."""

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
    try:
        function()
    except BaseException as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        _report(message, function, error)


def _found(wanted):
    """Objects of the program whose class is `wanted`: a function that is asked once for each class."""
    objects = _objects()
    kinds = list(map(type, objects))
    chosen = {kind for kind in set(kinds) if wanted(kind)}
    return [some for some, kind in zip(objects, kinds, strict=True) if kind in chosen] if chosen else []


def _is_stream(kind):
    return issubclass(kind, io.IOBase)


def _streams():
    return [some for some in _found(_is_stream) if not streams.is_part_of_ours(some)]


def _rank(stream):
    """Streams that write to others come first."""
    return 0 if isinstance(stream, io.TextIOBase) else 2 if type(stream).__module__ == "_io" else 1


def _quietly(function, *arguments):
    try:
        function(*arguments)
    except Exception:
        pass  # of a library's object: natively this would happen elsewhere, or not at all


def _collect():
    """Collects garbage. Streams go last, text before bytes: the collector would finalize those of a cycle in any order,
    and what a closed file has not got yet would be lost."""
    held = sorted(_streams(), key=_rank, reverse=True)
    _collect_now()
    while held:
        stream = held.pop()
        if type(stream).__module__ == "_io" and not stream.closed:
            _quietly(stream.flush)
        del stream


# 1. Exit functions.


def run_exit_functions():
    """Runs what was registered with `threading` and `atexit`, the last first. They run as the guest."""
    _call(threading._shutdown, "Exception ignored on threading shutdown")
    _run_exit_functions()


# 2. and 3. Modules.


def _is_library(module):
    """Whether a module is of the interpreter, of an installed package or of the driver."""
    file = getattr(module, "__file__", None)
    if type(file) is str:
        return file.startswith(_LIBRARIES)
    return getattr(getattr(module, "__spec__", None), "origin", None) in ("built-in", "frozen")


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
        if not isinstance(module, _Module):
            continue
        names = vars(module)
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


def release():
    """Lets go of the program's modules, and of all that only they kept."""
    sys.is_finalizing = True.__bool__
    kept = _take_away(own_modules())
    _forget_attributes()
    _collect()
    if any(reference() is not None for reference in kept):
        _clear(kept)
        _collect()


# 4. What libraries keep.


def _finalizer(kind):
    """The finalizer of a class, if it is a function of Python; streams are flushed."""
    for base in type.__dict__["__mro__"].__get__(kind):
        if "__del__" in base.__dict__:
            function = base.__dict__["__del__"]
            return function if type(function) is types.FunctionType else None
    return None


def _flush(stream):
    """Passes on what a stream holds. Formats with an end (gzip, bz2, ...) are ended."""
    if stream.closed:
        return
    stream.flush()
    if type(stream).__module__ != "_io":
        stream.close()


def finalize_kept():
    """Finalizes objects of the program that something else than its modules keeps."""
    connection = getattr(sys.modules.get("sqlite3"), "Connection", _Known)

    def wanted(kind):
        return kind is _Generator or issubclass(kind, (connection, io.IOBase)) or _finalizer(kind) is not None

    open_streams = []
    for some in _found(wanted):
        kind = type(some)
        if kind is _Generator:
            file = some.gi_code.co_filename
            if some.gi_frame is not None and not some.gi_running and not file.startswith(_LIBRARIES):
                _call(some.close, "Exception ignored while closing generator")
        elif issubclass(kind, io.IOBase):
            if not streams.is_part_of_ours(some):
                open_streams.append(some)
        elif issubclass(kind, connection):
            _quietly(some.close)
        elif not _is_finalized(some):
            function = _finalizer(kind)
            if function.__code__.co_filename.startswith(_LIBRARIES):
                _quietly(function, some)
            else:
                _call(types.MethodType(function, some), None)
    for stream in sorted(open_streams, key=_rank):
        _quietly(_flush, stream)
    sys.is_finalizing = _is_finalizing


# A script inside a session.


class _ExitFunctions:
    """`atexit` for one program."""

    NAMES = ("register", "unregister", "_run_exitfuncs", "_clear", "_ncallbacks")

    def __init__(self):
        self.functions = []

    def register(self, func, /, *args, **kwargs):
        """Register a function to be executed upon normal program termination."""
        if not callable(func):
            raise TypeError("the first argument must be callable")
        self.functions.append((func, args, kwargs))
        return func

    def unregister(self, func, /):
        """Unregister an exit function which was previously registered using atexit.register."""
        self.functions[:] = [entry for entry in self.functions if not entry[0] == func]

    def _run_exitfuncs(self):
        while self.functions:
            func, args, kwargs = self.functions.pop()
            try:
                func(*args, **kwargs)
            except BaseException as error:
                error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
                _report("Exception ignored in atexit callback", func, error)

    def _clear(self):
        self.functions.clear()

    def _ncallbacks(self):
        return len(self.functions)


class Visit:
    """A program inside a session: what it leaves in the interpreter is taken away at its end, the session's stays."""

    def __init__(self):
        self._exits = _ExitFunctions()
        self._before = {name: getattr(atexit, name) for name in self._exits.NAMES}
        for name in self._before:
            setattr(atexit, name, getattr(self._exits, name))
        self._finalizers = set(_finalize._registry)
        self._handlers = list(logging._handlerList)
        self._levels = [(logger, list(logger.handlers), logger.level) for logger in _loggers()]
        self._threading = len(getattr(threading, "_threading_atexits", ()))
        # The streams themselves: an address alone may be another's later.
        self._streams = _streams()
        self._hooks = sys.excepthook, sys.displayhook, sys.unraisablehook

    def run_exit_functions(self):
        """Runs what the program has registered. They run as the guest."""
        registered = getattr(threading, "_threading_atexits", [])
        while len(registered) > self._threading:
            _call(registered.pop(), "Exception ignored on threading shutdown")
        self._exits._run_exitfuncs()
        new = [(info.index, f) for f, info in _finalize._registry.items() if f not in self._finalizers and info.atexit]
        for _, function in sorted(new, key=lambda entry: -entry[0]):
            _call(function, "Exception ignored in weakref.finalize")
        self._end_logging()

    def _end_logging(self):
        known = {id(reference) for reference in self._handlers}
        new = [reference for reference in logging._handlerList if id(reference) not in known]
        if new:
            logging.shutdown(new)
        logging._handlerList[:] = self._handlers
        seen = set()
        for logger, handlers, level in self._levels:
            seen.add(id(logger))
            logger.handlers[:] = handlers
            if logger.level != level:
                logger.setLevel(level)
        for logger in _loggers():
            if id(logger) not in seen:
                logger.handlers.clear()

    def end(self, names):
        """Lets go of the modules of these names, and flushes what the program has left open."""
        for name, function in self._before.items():
            setattr(atexit, name, function)
        sys.excepthook, sys.displayhook, sys.unraisablehook = self._hooks
        kept = _take_away(names)
        _collect()
        _clear(kept)
        _collect()
        self._flush()

    def hand_over(self):
        """Ends the program, but leaves its names to the session: exit functions run, what was written is flushed."""
        for name, function in self._before.items():
            setattr(atexit, name, function)
        self._exits._run_exitfuncs()
        self._flush()

    def _flush(self):
        known = {id(stream) for stream in self._streams}
        left = [some for some in _streams() if id(some) not in known]
        for stream in sorted(left, key=_rank):
            _quietly(stream.flush)


def _loggers():
    root = logging.getLogger()
    return [root, *[some for some in root.manager.loggerDict.values() if isinstance(some, logging.Logger)]]
