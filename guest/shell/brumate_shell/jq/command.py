"""`jq`: filters of JSON."""

from brumate_shell.streams import Refused, decode

_LONG = {
    "raw-output": "r", "compact-output": "c", "slurp": "s", "null-input": "n", "exit-status": "e", "sort-keys": "S",
    "raw-input": "R", "join-output": "j", "ascii-output": "a", "tab": "tab", "color-output": "C",
    "monochrome-output": "M", "raw-output0": "0", "unbuffered": "u", "from-file": "f",
}  # fmt: skip
# Options with a name and a value behind them.
_NAMED = ("arg", "argjson", "slurpfile", "rawfile")


class _Settings:
    def __init__(self):
        self.flags = set()
        self.indent = "  "
        self.named = {}
        self.positional = []
        self.program = None
        self.paths = []


def jq(arguments, streams):
    """jq [-rcsneSRja] [--arg NAME VALUE] [--argjson NAME JSON] [--tab] [--indent N] [-f FILE] filter [file...]"""
    from . import parser
    from .functions import Halt
    from .run import Machine
    from .scopes import Break
    from .values import JqError, dumped, truth

    settings = _settings(arguments)
    tree = parser.parse(settings.program)
    flags = settings.flags
    variables = {**settings.named, "ARGS": {"positional": settings.positional, "named": settings.named}}
    inputs = _Inputs(settings, streams)
    machine = Machine(inputs, variables, streams)
    inputs.machine = machine
    indent = None if "c" in flags else settings.indent
    last, status = None, 0

    def put(value):
        nonlocal last
        last = (value,)
        raw = type(value) is str and flags & set("rj0")
        text = value if raw else dumped(value, indent, "S" in flags, "a" in flags)
        streams.out.write(text + ("" if "j" in flags else "\0" if "0" in flags else "\n"))

    try:
        for value in [None] if "n" in flags else inputs:
            try:
                for found in machine.run(tree, value):
                    put(found)
            except JqError as error:
                status = 5
                streams.err.write(f"jq: error: {_message(error.value, dumped)}\n")
            except Break:
                status = 5
                streams.err.write("jq: error: break\n")
    except JqError as error:
        streams.err.write(f"jq: {_message(error.value, dumped)}\n")
        status = 2
    except Halt as end:
        if end.status or type(end.value) is str:
            if end.status:
                streams.err.write(end.value if type(end.value) is str else dumped(end.value) + "\n")
        return int(end.status)
    except RecursionError:
        raise Refused("error: the program or the value is nested too deeply", 5) from None
    if inputs.failed:
        return 2
    if status or "e" not in flags:
        return status
    return 4 if last is None else 0 if truth(last[0]) else 1


def _message(value, dumped):
    if type(value) is str:
        return value
    return f"{dumped(value)} (not a string)"


def _settings(arguments):
    found, queue, rest_is = _Settings(), list(arguments), None
    only_operands = False
    while queue:
        word = queue.pop(0)
        if only_operands or word[:1] != "-" or word == "-":
            if found.program is None and "f" not in found.flags:
                found.program = word
            elif rest_is is None:
                found.paths.append(word)
            else:
                found.positional.append(word if rest_is == "args" else _json(word, "--jsonargs"))
            continue
        if word == "--":
            only_operands = True
            continue
        if word[:2] == "--":
            name = word[2:]
            if name in _NAMED:
                if len(queue) < 2:
                    raise Refused(f"{word} takes two parameters", 2)
                found.named[queue[0]] = _named_value(name, queue[1])
                queue = queue[2:]
            elif name in ("args", "jsonargs"):
                rest_is = name
            elif name == "indent":
                count = int(queue.pop(0)) if queue and queue[0].isdigit() else -1
                if not 0 <= count <= 7:
                    raise Refused("--indent takes a number from 0 to 7", 2)
                found.indent = " " * count
                if not count:
                    found.flags.add("c")
            elif name == "tab":
                found.indent = "\t"
            elif name in _LONG:
                found.flags.add(_LONG[name])
            else:
                raise Refused(f"the option {word} is not supported here", 2)
            continue
        for letter in word[1:]:
            if letter not in "rcsneSRjaCMuf":
                raise Refused(f"the option -{letter} is not supported here", 2)
            found.flags.add(letter)
    if "f" in found.flags:
        if found.program is not None:
            found.paths.insert(0, found.program)
        if not found.paths:
            raise Refused("-f: a file is missing", 2)
        with open(found.paths.pop(0), "rb") as file:
            found.program = decode(file.read())
    if found.program is None:
        if not arguments:
            raise Refused("a filter is missing", 2)
        found.program = "."
    return found


def _json(text, option):
    from .values import Decoder, JqError

    try:
        values = list(Decoder(text))
    except JqError:
        values = []
    if len(values) != 1:
        raise Refused(f"invalid JSON text passed to {option}: {text}", 2)
    return values[0]


def _named_value(option, text):
    if option == "arg":
        return text
    if option == "argjson":
        return _json(text, "--argjson")
    with open(text, "rb") as file:
        data = decode(file.read())
    if option == "rawfile":
        return data
    from .values import Decoder, JqError

    try:
        return list(Decoder(data))
    except JqError as error:
        raise Refused(f"{text}: {error.value}", 2) from None


class _Inputs:
    """The values of the input files, one by one."""

    def __init__(self, settings, streams):
        self.settings = settings
        self.streams = streams
        self.failed = False
        self.machine = None
        self.values = self._all()

    def __iter__(self):
        return self.values

    def _texts(self):
        for path in self.settings.paths or ["-"]:
            try:
                if path == "-":
                    text = decode(self.streams.input.read())
                else:
                    with open(path, "rb") as file:
                        text = decode(file.read())
            except OSError as error:
                self.streams.err.write(f"jq: error: Could not open {path}: {error.strerror}\n")
                self.failed = True
                continue
            self.machine.file = None if path == "-" else path
            yield text

    def _all(self):
        from .values import Decoder

        flags = self.settings.flags
        if "R" in flags:
            if "s" in flags:
                yield "".join(self._texts())
                return
            for text in self._texts():
                lines = text.split("\n")
                yield from lines if lines[-1] else lines[:-1]
            return
        if "s" in flags:
            yield [value for text in self._texts() for value in Decoder(text)]
            return
        for text in self._texts():
            yield from Decoder(text)
