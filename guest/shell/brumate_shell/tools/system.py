"""Commands about the machine and the interpreter."""

import os
import time

from brumate_shell.streams import Refused


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
