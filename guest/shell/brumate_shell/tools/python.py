"""`python`: programs of Python, and what is given to the interpreter on its command line."""

import sys

from _brumate import programs
from brumate_shell.streams import Refused, Stopped


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
            from .pip.command import pip

            return pip(arguments[2:], streams)
        code, name, argv = None, "".join(arguments[1:2]), arguments[1:]
    elif arguments[0][:1] == "-" and arguments[0] != "-":
        raise Refused(f"the option {arguments[0]} is not supported here", 2)
    elif arguments[0] == "-":
        code, name, argv = streams.input.read(), "<stdin>", list(arguments)
    else:
        with open(arguments[0], "rb") as file:
            code = file.read()
        name, argv = arguments[0], list(arguments)
    return programs.run(code, name, argv, line, streams, stops=(Stopped,))
