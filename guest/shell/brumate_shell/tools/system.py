"""Commands about the machine and the interpreter."""

from _brumate.pristine import __builtins__

import builtins
import codecs
import io
import os
import sys
import time

from brumate_shell import options
from brumate_shell.streams import Refused, Stopped


def printenv(arguments, streams):
    """printenv [NAME...]: environment variables"""
    if not arguments:
        streams.out.write("".join([f"{name}={value}\n" for name, value in os.environ.items()]))
        return 0
    values = [os.environ[name] for name in arguments if name in os.environ]
    streams.out.write("".join([value + "\n" for value in values]))
    return 0 if len(values) == len(arguments) else 1


def whoami(arguments, streams):
    """whoami: the user"""
    streams.out.write(os.environ.get("USER", "user") + "\n")


def id(arguments, streams):
    """id [-unG]: the user's number and name"""
    name = os.environ.get("USER", "user")
    flags = set("".join(arguments)) - {"-"}
    number = str(os.getuid()) if hasattr(os, "getuid") else "0"
    if "u" in flags or "g" in flags or "G" in flags:
        streams.out.write((name if "n" in flags else number) + "\n")
    else:
        streams.out.write(f"uid={number}({name}) gid={number}({name}) groups={number}({name})\n")


def hostname(arguments, streams):
    """hostname: the machine"""
    streams.out.write("sandbox\n")


def uname(arguments, streams):
    """uname [-a]: the system"""
    streams.out.write("Emscripten sandbox wasm32\n" if "-a" in arguments else "Emscripten\n")


def nproc(arguments, streams):
    """nproc: the number of processors"""
    streams.out.write("1\n")


def sleep(arguments, streams):
    """sleep seconds: waits"""
    try:
        seconds = sum([float(argument.rstrip("smhd")) * _SECONDS.get(argument[-1:], 1) for argument in arguments])
        shell = streams.shell
        if shell is not None and shell.deadline is not None:
            seconds = max(min(seconds, shell.deadline - time.monotonic() + 0.001), 0)
        time.sleep(seconds)
    except (ValueError, OverflowError) as error:
        raise Refused(f"invalid time: {error}", 1) from None
    if shell is not None:
        shell.check_time()


_SECONDS = {"m": 60, "h": 3600, "d": 86400}


def true(arguments, streams):
    """true: succeeds"""
    return 0


def false(arguments, streams):
    """false: fails"""
    return 1


def python(arguments, streams):
    """python [-c code | -m module | file] [argument...]: runs Python here, in a namespace of its own"""
    line = ["python", *arguments]
    while arguments and arguments[0] in ("-u", "-B", "-q", "-I", "-E", "-s", "-O"):
        arguments = arguments[1:]
    if not arguments:
        code, name, argv = streams.input.read(), "<stdin>", [""]
        if not code:
            raise Refused("no interactive interpreter here: this notebook is one")
    elif arguments[0] in ("-V", "--version"):
        streams.out.write(f"Python {sys.version.split()[0]}\n")
        return 0
    elif arguments[0] == "-c":
        if len(arguments) < 2:
            raise Refused("-c needs code", 2)
        code, name, argv = arguments[1], "<string>", ["-c", *arguments[2:]]
    elif arguments[0] == "-m":
        if arguments[1:2] in (["pip"], ["pip3"]):
            from brumate_shell.tools.pip import command

            return command.pip(arguments[2:], streams)
        code, name, argv = None, "".join(arguments[1:2]), arguments[1:]
    elif arguments[0][:1] == "-" and arguments[0] != "-":
        raise Refused(f"the option {arguments[0]} is not supported here", 2)
    elif arguments[0] == "-":
        code, name, argv = streams.input.read(), "<stdin>", list(arguments)
    else:
        with open(arguments[0], "rb") as file:
            code = file.read()
        name, argv = arguments[0], list(arguments)
    return run_code(code, name, argv, line, streams)


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


def run_code(code, name, argv, line, streams):
    """Runs code, or a module by name, as `__main__`. Returns the exit status; what it prints goes to the streams.

    The session's directory, environment, hooks and context variables are as before afterwards.
    """
    import contextlib
    import contextvars

    from _brumate import ending
    from brumate_shell.bash import state

    # The `__main__` at the end is the program's.
    main, own = sys.modules.pop("__main__", None), _forget_own_modules()
    directory, environment = state.directory(), dict(os.environ)
    saved = sys.argv, sys.orig_argv, sys.path[:], sys.stdin
    known = frozenset(sys.modules)
    visit = ending.Visit(stops=(Stopped,))
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
                return contextvars.copy_context().run(_call, code, name, streams)
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
        state.go_back(directory)
        state.give_back(environment)
        _forget_own_modules()
        sys.modules.update(own)
        if main is not None:
            sys.modules["__main__"] = main


def _call(code, name, streams):
    """Runs the code and tells what it raises. Returns the exit status; nothing refers to the code's names then."""
    import runpy

    from _brumate import reports

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
    except Stopped:
        raise
    except Exception as error:
        streams.err.write(reports.describe(error)[2])
        return 1


def _forget_own_modules():
    """Takes modules of the working directory out of `sys.modules` and returns them: another interpreter would read them
    anew."""
    from _brumate import ending, space

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
