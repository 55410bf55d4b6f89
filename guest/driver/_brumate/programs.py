"""Programs of Python inside a session, as a shell line or a magic starts them: each in a namespace of its own."""

from .pristine import __builtins__

import builtins
import codecs
import contextlib
import contextvars
import io
import os
import sys

from . import ending, pristine, reports, space


class Surroundings:
    """The working directory and the environment, to be given back."""

    __slots__ = ("directory", "environment")

    def __init__(self):
        self.directory, self.environment = directory(), dict(os.environ)

    def give_back(self):
        """Makes them what they were."""
        if self.directory is not None and directory() != self.directory:
            os.chdir(self.directory)
        if dict(os.environ) != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)


def directory():
    """The working directory; None when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


class _Lent(io.TextIOBase):
    """A text stream that its user may close: the one below stays open."""

    encoding = "utf-8"
    errors = "strict"
    line_buffering = True
    write_through = False

    def __init__(self, stream):
        self._stream = stream
        self.buffer = _LentBytes(stream)

    def writable(self):
        return True

    def write(self, text):
        self._stream.write(text)
        return len(text)

    def reconfigure(self, *, encoding=None, errors=None, newline=None, line_buffering=None, write_through=None):
        """Notes what is asked for. What is below takes text, and has no encoding."""
        if encoding is not None:
            self.encoding, self.errors = encoding, "strict"
        if errors is not None:
            self.errors = errors
        if line_buffering is not None:
            self.line_buffering = bool(line_buffering)
        if write_through is not None:
            self.write_through = bool(write_through)


class _LentBytes(io.BufferedIOBase):
    """The bytes of a [`_Lent`]. A character may come in several pieces."""

    def __init__(self, stream):
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self):
        return True

    def write(self, data):
        data = memoryview(data).tobytes()
        self._stream.write(self._decoder.decode(data))
        return len(data)

    def end(self):
        """Passes on what is no complete character."""
        rest = self._decoder.decode(b"", True)
        if rest:
            self._stream.write(rest)


def run(code, name, argv, line, streams, stops=()):
    """Runs code, or a module by name, as `__main__`. Returns the exit status; what it prints goes to the streams.

    `streams` has a binary `input`, and `out` and `err` for text. `stops`: exceptions of these streams that
    end the program. The session's directory, environment, hooks and context variables are as before afterwards.
    """
    with pristine.GivenBack():
        return _run(code, name, argv, line, streams, stops)


def _run(code, name, argv, line, streams, stops):
    # The `__main__` at the end is the program's.
    main, own = sys.modules.pop("__main__", None), _forget_own_modules()
    surroundings = Surroundings()
    saved = sys.argv, sys.orig_argv, sys.path[:], sys.stdin
    known = frozenset(sys.modules)
    visit = ending.Visit(stops=stops)
    out, err = _Lent(streams.out), _Lent(streams.err)
    sys.argv, sys.orig_argv = argv, line
    if code is None:
        sys.path.insert(0, os.getcwd())
    else:
        sys.path.insert(0, "" if name[:1] == "<" else os.path.dirname(os.path.abspath(name)))
    sys.stdin = io.TextIOWrapper(io.BytesIO(streams.input.read()), "utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                return contextvars.copy_context().run(_call, code, name, streams, stops)
            finally:
                try:
                    visit.run_exit_functions()
                finally:
                    try:
                        for lent in (out, err):
                            lent.buffer.end()
                    finally:
                        visit.end(ending.own_modules(known))
    finally:
        sys.argv, sys.orig_argv, sys.path[:], sys.stdin = saved
        surroundings.give_back()
        _forget_own_modules()
        sys.modules.update(own)
        if main is not None:
            sys.modules["__main__"] = main


def _call(code, name, streams, stops):
    """Runs the code and tells what it raises. Returns the exit status; nothing refers to the code's names then."""
    import runpy

    try:
        module = type(sys)("__main__")
        # The live builtins: `exec` would give it ours.
        module.__builtins__ = builtins
        sys.modules["__main__"] = module
        if code is None:
            # `runpy.run_module` would take the module away before its exit functions run.
            try:
                _, spec, code = runpy._get_module_details(name, runpy._Error)
            except runpy._Error as error:
                streams.err.write(f"python: {error}\n")
                return 1
            module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, spec.parent
            module.__file__ = sys.argv[0] = spec.origin
            module.__cached__ = spec.cached
        else:
            if name[:1] != "<":
                module.__file__ = os.path.abspath(name)
            code = compile(code, name, "exec", dont_inherit=True)
        exec(code, vars(module))
        return 0
    except SystemExit as error:
        status, message = reports.exit_status(error)
        if message:
            streams.err.write(message + "\n")
        return status
    except stops:
        raise
    except Exception as error:
        with pristine.Repaired():
            streams.err.write(reports.describe(error)[2])
        return 1


def _forget_own_modules():
    """Takes modules of the working directory out of `sys.modules` and returns them: another interpreter would read them
    anew."""
    own = {}
    for name, module in list(sys.modules.items()):
        try:
            file = ending.file_of(module)
        except Exception:
            continue  # what a program has put there need not be a module
        if name != "__main__" and file is not None and file.startswith(space.WORKSPACE + "/"):
            own[name] = sys.modules.pop(name)
    space.forget_stale_paths()
    return own
