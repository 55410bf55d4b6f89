"""Commands that run other commands: `xargs`, `env`, `timeout`, `time`, `command`; and `which`, which finds them."""

import io
import re
import time

from brumate_shell import options
from brumate_shell.streams import Refused, Streams, decode

from .signals import TimedOut

# Commands that one `xargs` runs.
MAX_RUNS = 100_000
_ARGUMENT = re.compile(r"""((?:"[^"]*"|'[^']*'|\\.|[^\s"'\\])+)|(\S)""", re.DOTALL)
_QUOTED = re.compile(r"""(?s)"([^"]*)"|'([^']*)'|\\(.)""")


def run(words, streams):
    """Runs one command; an error of it is told. Returns its exit status."""
    from . import interpreter
    from .executor import Shell

    shell = streams.shell or Shell()
    inner = Streams(streams.input, streams.out, streams.err, shell)
    try:
        shell.check_time()
        return interpreter.call(words, inner)
    except BrokenPipeError:
        raise
    except (Refused, OSError, ValueError, OverflowError) as error:
        return shell.report(words[0], error, inner)


def xargs(arguments, streams):
    """xargs [-0rt] [-n COUNT] [-L LINES] [-I NAME] [-d CHARACTER] [-a FILE] [command...]: arguments from the input"""
    found, command = _options_in_front(arguments, "0rtxp", "nLIdaPsE", {
        "null": "0", "no-run-if-empty": "r", "verbose": "t", "max-args": "n", "max-lines": "L", "replace": "I",
        "delimiter": "d", "arg-file": "a", "max-procs": "P",
    })  # fmt: skip
    if "p" in found:
        raise Refused("-p: nobody can be asked here", 2)
    if "a" in found:
        with open(found["a"], "rb") as file:
            text = decode(file.read())
    else:
        text = decode(streams.input.read())
    command = command or ["echo"]
    inner = Streams(io.BytesIO(), streams.out, streams.err, streams.shell)
    status = 0
    for number, words in enumerate(_calls(command, found, text)):
        if number >= MAX_RUNS:
            raise Refused(f"more than {MAX_RUNS:,} commands")
        if "t" in found:
            streams.err.write(" ".join(words) + "\n")
        result = run(words, inner)
        if result == 255:
            streams.err.write(f"xargs: {words[0]}: exited with status 255; aborting\n")
            return 124
        if result in (126, 127) and number == 0:
            return result
        status = 123 if result else status
    return status


def _calls(command, found, text):
    """The commands that `xargs` runs, each as words."""
    if "I" in found:
        for item in _items(text, found, by_line=True):
            item = item if "0" in found or "d" in found else item.lstrip()
            yield [word.replace(found["I"], item) for word in command]
        return
    if "L" in found and "0" not in found and "d" not in found:
        groups, size = [], options.number(found["L"])
        lines = [line for line in text.split("\n") if line.strip()]
        for at in range(0, len(lines), max(size, 1)):
            groups.append([word for line in lines[at : at + size] for word in _words(line)])
    else:
        items = _items(text, found)
        size = options.number(found.get("n") or found.get("L") or "0") or len(items)
        groups = [items[at : at + size] for at in range(0, len(items), size)] if items else []
    if not groups and "r" not in found:
        groups = [[]]
    for group in groups:
        yield [*command, *group]


def _items(text, found, by_line=False):
    if "0" in found or "d" in found:
        end = "\0"
        if "d" in found:
            from .echoes import unescape

            end = unescape(found["d"]) or "\0"
        items = text.split(end)
        return items[:-1] if items[-1] == "" else items
    if by_line:
        return [_unquoted(line) for line in text.split("\n") if line.strip()]
    return _words(text)


def _words(text):
    words = []
    for match in _ARGUMENT.finditer(text):
        if match.group(2):
            raise Refused("unmatched quote; use -0 or -d '\\n' for names with quotes")
        words.append(_unquoted(match.group(1)))
    return words


def _unquoted(text):
    return _QUOTED.sub(lambda found: found.group(1) or found.group(2) or found.group(3) or "", text)


def _options_in_front(arguments, flags, values, long=()):
    """Options up to the first word that is none: the command's own stay with it."""
    own, at = [], 0
    long = dict(long)
    while at < len(arguments) and arguments[at][:1] == "-" and len(arguments[at]) > 1:
        word = arguments[at]
        at += 1
        if word == "--":
            break
        own.append(word)
        if word[:2] == "--":
            takes_value = long.get(word[2:], "") in values and "=" not in word and long.get(word[2:])
        else:
            letter = next((number for number, char in enumerate(word[1:], 1) if char in values), None)
            takes_value = letter == len(word) - 1
        if takes_value and at < len(arguments):
            own.append(arguments[at])
            at += 1
    found, _ = options.parse(own, flags, values, long)
    return found, list(arguments[at:])


def env(arguments, streams):
    """env [-i] [-u NAME] [NAME=value...] [command...]: environment variables, or a command with others"""
    import os

    found, words = _options_in_front(arguments, "i0", "u", {"ignore-environment": "i", "unset": "u"})
    before = dict(os.environ)
    try:
        if "i" in found:
            os.environ.clear()
        os.environ.pop(found.get("u", ""), None)
        while words and "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            os.environ[name] = value
        if words:
            return run(words, streams)
        for name, value in os.environ.items():
            streams.out.write(f"{name}={value}" + ("\0" if "0" in found else "\n"))
        return 0
    finally:
        os.environ.clear()
        os.environ.update(before)


def timeout(arguments, streams):
    """timeout [-k TIME] [-s SIGNAL] TIME command...: ends a command that takes longer, between its steps"""
    _, words = _options_in_front(arguments, "v", "ks", {"kill-after": "k", "signal": "s", "preserve-status": ""})
    if len(words) < 2:
        raise Refused("a time and a command are needed", 125)
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)", words[0])
    if match is None:
        raise Refused(f"invalid time interval '{words[0]}'", 125)
    seconds = float(match.group(1)) * {"m": 60, "h": 3600, "d": 86400}.get(match.group(2), 1)
    shell = streams.shell
    if shell is None or not seconds:
        return run(words[1:], streams)
    before = shell.deadline
    own = time.monotonic() + seconds
    shell.deadline = own if before is None else min(own, before)
    try:
        return run(words[1:], streams)
    except TimedOut:
        if before is not None and time.monotonic() > before:
            raise
        return 124
    finally:
        shell.deadline = before


def time_(arguments, streams):
    """time command...: how long a command takes"""
    from .executor import times

    began = time.time(), time.process_time()
    status = run(arguments, streams) if arguments else 0
    streams.err.write(times(time.time() - began[0], time.process_time() - began[1]))
    return status


def command_(arguments, streams):
    """command [-v] name [argument...]: runs a command, or says whether there is one"""
    if arguments[:1] in (["-v"], ["-V"]):
        from brumate_shell import table

        status = 0
        for name in arguments[1:]:
            if streams.shell is not None and name in streams.shell.state.functions or table.is_of_the_shell(name):
                streams.out.write(name + "\n")
            elif table.exists(name):
                streams.out.write(f"/usr/bin/{name}\n" if "/" not in name else name + "\n")
            else:
                status = 1
        return status
    if arguments[:1] == ["-p"]:
        arguments = arguments[1:]
    return builtin(arguments, streams)


def builtin(arguments, streams):
    """builtin name [argument...]: runs a command, not a function of that name"""
    from brumate_shell import table

    if not arguments:
        return 0
    function = table.find(arguments[0])
    if function is None:
        raise Refused(f"{arguments[0]}: {table.refusal(arguments[0])}", 127)
    return function(list(arguments[1:]), streams)


def which(arguments, streams):
    """which name...: whether there is such a command"""
    from brumate_shell import table

    status = 0
    for name in [argument for argument in arguments if argument not in ("-a", "-s")]:
        if not table.exists(name):
            status = 1
        else:
            streams.out.write((name if "/" in name else f"/usr/bin/{name}") + "\n")
    return status


def type_(arguments, streams):
    """type [-tpa] name...: what a command is"""
    from brumate_shell import table

    from .syntax_control import KEYWORDS

    found, names = options.parse(arguments, flags="tpaPf")
    status = 0
    functions = streams.shell.state.functions if streams.shell is not None else ()
    for name in names:
        match = KEYWORDS.fullmatch(name)
        kind = (
            "keyword" if match else "function" if name in functions
            else "builtin" if table.is_of_the_shell(name) else "file" if table.exists(name) else None
        )  # fmt: skip
        if kind is None:
            if "t" not in found:
                streams.err.write(f"type: {name}: not found\n")
            status = 1
        elif "t" in found:
            streams.out.write(kind + "\n")
        elif kind == "file":
            path = name if "/" in name else f"/usr/bin/{name}"
            streams.out.write(path + "\n" if "p" in found or "P" in found else f"{name} is {path}\n")
        elif "p" not in found and "P" not in found:
            shown = {"keyword": "a shell keyword", "function": "a function", "builtin": "a shell builtin"}[kind]
            streams.out.write(f"{name} is {shown}\n")
    return status


def bash(arguments, streams):
    """bash [-euxc] [script [argument...]]: runs a script in a shell of its own"""
    from . import interpreter
    from .executor import Shell

    settings, words, text = [], list(arguments), None
    is_command = False
    while words and words[0][:1] in "-+" and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        if word[:2] == "--":
            if word in ("--norc", "--noprofile", "--login", "--posix"):
                continue
            if word == "--version":
                streams.out.write("the shell lines of this sandbox: see docs/shell.md\n")
                return 0
            raise Refused(f"the option {word} is not supported here", 2)
        for letter in word[1:]:
            if letter == "c":
                is_command = True
            elif letter == "o":
                settings += ["-o", *words[:1]]
                words = words[1:]
            elif letter not in "lis":
                settings.append(word[0] + letter)
    if is_command:
        if not words:
            raise Refused("-c: a script is missing", 2)
        text, words = words[0], words[1:]
        name = words.pop(0) if words else "bash"
    elif words:
        name = words.pop(0)
    else:
        name, text = "bash", decode(streams.input.read())
    if text is None:
        import os

        if os.path.isdir(name):
            raise Refused(f"{name}: Is a directory", 126)
        if not os.path.exists(name):
            raise Refused(f"{name}: No such file or directory", 127)
        with open(name, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    if settings:
        text = "set " + " ".join(settings) + "\n" + text
    return interpreter.script_of_its_own(
        name, words, Streams(streams.input, streams.out, streams.err, streams.shell or Shell()), text
    )
