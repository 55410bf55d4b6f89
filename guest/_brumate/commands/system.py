"""Commands about the machine and the interpreter."""

from ..pristine import __builtins__

import io
import os
import sys
import time

from . import options
from .interpreter import Refused

_MAX_NUMBERS = 1_000_000


def date(arguments, streams):
    """date [+FORMAT] [-u] [-I]: the time"""
    found, operands = options.parse(arguments, flags="uIR", long={"utc": "u", "iso-8601": "I"})
    now = time.gmtime() if "u" in found else time.localtime()
    form = (
        operands[0][1:]
        if operands and operands[0][:1] == "+"
        else "%Y-%m-%d"
        if "I" in found
        else "%a %b %e %H:%M:%S %Z %Y"
    )
    streams.out.write(time.strftime(form.replace("%s", str(int(time.time()))), now) + "\n")


def env(arguments, streams):
    """env: environment variables"""
    if arguments:
        raise Refused("running a command is not supported; use NAME=value in front of it", 2)
    for name, value in os.environ.items():
        streams.out.write(f"{name}={value}\n")


def export(arguments, streams):
    """export NAME=value...: for the rest of this line or cell; %env changes it for good"""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals:
            os.environ[name] = value


def unset(arguments, streams):
    """unset NAME...: removes environment variables for the rest of this line or cell"""
    for name in arguments:
        os.environ.pop(name, None)


def which(arguments, streams):
    """which name...: whether there is such a command"""
    from . import table

    status = 0
    for name in arguments:
        if table.find(name.rpartition("/")[2]) is None:
            status = 1
        else:
            streams.out.write((name if "/" in name else f"/bin/{name}") + "\n")
    return status


def whoami(arguments, streams):
    """whoami: the user"""
    streams.out.write(os.environ.get("USER", "user") + "\n")


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
        time.sleep(sum([float(argument.removesuffix("s")) for argument in arguments]))
    except (ValueError, OverflowError) as error:
        raise Refused(f"invalid time: {error}", 2) from None


def seq(arguments, streams):
    """seq [first [step]] last: numbers"""
    numbers = [options.number(argument) for argument in arguments]
    first, step, last = {1: lambda n: (1, 1, n[0]), 2: lambda n: (n[0], 1, n[1]), 3: lambda n: n}.get(
        len(numbers), lambda n: (1, 0, 0)
    )(numbers)
    if not step:
        raise Refused("one to three numbers are needed", 2)
    values = range(first, last + (1 if step > 0 else -1), step)
    if len(values) > _MAX_NUMBERS:
        raise Refused("too many numbers")
    streams.out.write("".join([f"{value}\n" for value in values]))


def true(arguments, streams):
    """true: succeeds"""
    return 0


def false(arguments, streams):
    """false: fails"""
    return 1


def python(arguments, streams):
    """python [-c code | -m module | file] [argument...]: runs Python here, in a namespace of its own"""
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
            from . import packages

            return packages.pip(arguments[2:], streams)
        code, name, argv = None, "".join(arguments[1:2]), arguments[1:]
    elif arguments[0][:1] == "-" and arguments[0] != "-":
        raise Refused(f"the option {arguments[0]} is not supported here", 2)
    elif arguments[0] == "-":
        code, name, argv = streams.input.read(), "<stdin>", list(arguments)
    else:
        with open(arguments[0], "rb") as file:
            code = file.read()
        name, argv = arguments[0], list(arguments)
    return _run(code, name, argv, streams)


class _Lent(io.TextIOBase):
    """A text stream that its user may close: the one below stays open."""

    def __init__(self, stream):
        self._stream = stream

    def writable(self):
        return True

    def write(self, text):
        self._stream.write(text)
        return len(text)


def _run(code, name, argv, streams):
    """Runs code, or a module by name, as `__main__`. Returns the exit status; what it prints goes to the streams."""
    import contextlib
    import runpy

    from .. import reports

    main = sys.modules.get("__main__")
    own = _forget_own_modules()
    saved = sys.argv, sys.path[:], sys.stdin
    sys.argv = argv
    sys.path[:0] = [os.path.dirname(os.path.abspath(name))] if code is not None and name[:1] != "<" else []
    sys.stdin = io.TextIOWrapper(io.BytesIO(streams.input.read()), "utf-8")
    try:
        out, err = _Lent(streams.out), _Lent(streams.err)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            if code is None:
                runpy.run_module(name, run_name="__main__", alter_sys=True)
            else:
                module = type(sys)("__main__")
                module.__file__ = name
                sys.modules["__main__"] = module
                exec(compile(code, name, "exec"), module.__dict__)
        return 0
    except SystemExit as error:
        status, message = reports.exit_status(error)
        if message:
            streams.err.write(message + "\n")
        return status
    except Exception as error:
        streams.err.write(reports.describe(error)[2])
        return 1
    finally:
        sys.argv, sys.path[:], sys.stdin = saved
        _forget_own_modules()
        sys.modules.update(own)
        if main is not None:
            sys.modules["__main__"] = main


def _forget_own_modules():
    """Takes modules of the working directory out of `sys.modules` and returns them: another interpreter would read them
    anew."""
    from .. import space

    own = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name != "__main__" and type(file) is str and file.startswith(space.WORKSPACE + "/"):
            own[name] = sys.modules.pop(name)
    space.forget_stale_paths()
    return own
