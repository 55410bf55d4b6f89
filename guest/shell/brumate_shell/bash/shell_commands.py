"""Commands that change the shell itself: `cd`, `set`, `eval`, `return`, `getopts` and the like."""

import os

from brumate_shell import options
from brumate_shell.streams import Refused

from .signals import Break, Continue, Exit, Return
from .variables import state_of


def _count(arguments, default, what):
    if not arguments:
        return default
    try:
        return int(arguments[0])
    except ValueError:
        raise Refused(f"{arguments[0]}: {what} needed", 2) from None


def break_(arguments, streams):
    """break [N]: leaves a loop, or N of them"""
    if streams.shell.loops:
        raise Break(_count(arguments, 1, "a number of loops"))
    raise Refused("only meaningful in a loop", 0)


def continue_(arguments, streams):
    """continue [N]: goes on with the next turn of a loop"""
    if streams.shell.loops:
        raise Continue(_count(arguments, 1, "a number of loops"))
    raise Refused("only meaningful in a loop", 0)


def return_(arguments, streams):
    """return [STATUS]: leaves a function"""
    raise Return(status=_count(arguments, state_of(streams).status, "a status") & 0xFF)


def exit_(arguments, streams):
    """exit [STATUS]: ends the script"""
    raise Exit(status=_count(arguments, state_of(streams).status, "a status") & 0xFF)


def cd(arguments, streams):
    """cd [directory]: for the rest of this line or cell; %cd changes it for good"""
    arguments = [argument for argument in arguments if argument not in ("-P", "-L", "--")]
    if len(arguments) > 1:
        raise Refused("too many arguments")
    target = arguments[0] if arguments else os.environ.get("HOME", "/")
    if target == "-":
        target = streams.shell.state.text("OLDPWD") if streams.shell else None
        if target is None:
            raise Refused("OLDPWD not set")
        streams.out.write(target + "\n")
    before = os.getcwd()
    os.chdir(target)
    if streams.shell is not None:
        streams.shell.state.set("OLDPWD", before)
        if "PWD" in os.environ:
            os.environ["PWD"] = os.getcwd()


def pushd(arguments, streams):
    """pushd directory: goes there; popd comes back"""
    if not arguments:
        raise Refused("say which directory", 2)
    before = os.getcwd()
    os.chdir(arguments[0])
    state_of(streams).directories.append(before)
    streams.out.write(" ".join([os.getcwd(), *reversed(state_of(streams).directories)]) + "\n")


def popd(arguments, streams):
    """popd: goes back to where pushd was called"""
    if not state_of(streams).directories:
        raise Refused("directory stack empty")
    os.chdir(state_of(streams).directories.pop())
    streams.out.write(" ".join([os.getcwd(), *reversed(state_of(streams).directories)]) + "\n")


def eval_(arguments, streams):
    """eval text...: runs a text as a script"""
    from . import syntax

    streams.shell.deeper()
    try:
        return streams.shell.run(syntax.parse(" ".join(arguments)), streams)
    finally:
        streams.shell.depth -= 1


def source(arguments, streams):
    """source file [argument...]: runs a script in this shell"""
    from . import syntax

    if not arguments:
        raise Refused("a file name is missing", 2)
    with open(arguments[0], encoding="utf-8", errors="surrogateescape") as file:
        tree = syntax.parse(file.read())
    shell = streams.shell
    before = shell.state.arguments
    if arguments[1:]:
        shell.state.arguments = arguments[1:]
    shell.deeper()
    try:
        return shell.run(tree, streams)
    except Return as end:
        return end.status
    finally:
        shell.depth -= 1
        shell.state.arguments = before


def exec_(arguments, streams):
    """exec command: runs a command, and ends the script; redirections of the shell itself are refused"""
    from . import interpreter

    if not arguments:
        raise Refused("exec without a command is not supported: redirect a { ...; } instead", 2)
    raise Exit(status=interpreter.call(arguments, streams))


def set_(arguments, streams):
    """set [-euxf] [-o pipefail] [--] [argument...]: options and arguments of the shell"""
    state = state_of(streams)
    if not arguments:
        for name in sorted({*state.own, *os.environ}):
            streams.out.write(f"{name}={state.text(name) or ''}\n")
        return 0
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        if word in ("--", "-"):
            state.arguments = queue
            break
        if word[:1] not in ("-", "+") or len(word) < 2:
            state.arguments = [word, *queue]
            break
        for letter in word[1:]:
            if letter == "o":
                if not queue:
                    for name in sorted(state.options):
                        streams.out.write(f"{name}\ton\n")
                    return 0
                state.set_long_option(queue.pop(0), word[0] == "-")
            else:
                state.set_option(letter, word[0] == "-")
    return 0


_EXTRAS = ("nullglob", "globstar", "dotglob", "nocasematch")
_EXTRAS_WITHOUT_EFFECT = (
    "extglob",
    "expand_aliases",
    "lastpipe",
    "inherit_errexit",
    "checkwinsize",
    "failglob",
    "histappend",
)


def shopt(arguments, streams):
    """shopt -s|-u name...: nullglob, globstar, dotglob, nocasematch"""
    state = state_of(streams)
    found, names = options.parse(arguments, flags="suqo")
    status = 0
    for name in names:
        if name not in _EXTRAS:
            if name == "extglob" or name not in _EXTRAS_WITHOUT_EFFECT:
                raise Refused(f"{name} is not supported here; there are {', '.join(_EXTRAS)}")
            continue
        if "s" in found:
            state.extras.add(name)
        elif "u" in found:
            state.extras.discard(name)
        else:
            status |= name not in state.extras
    return int(status)


def shift(arguments, streams):
    """shift [N]: takes arguments from the front"""
    state, count = state_of(streams), _count(arguments, 1, "a number")
    if not 0 <= count <= len(state.arguments):
        return 1
    state.arguments = state.arguments[count:]
    return 0


def getopts(arguments, streams):
    """getopts LETTERS NAME [argument...]: the next option of a script"""
    state = state_of(streams)
    if len(arguments) < 2:
        raise Refused("usage: getopts LETTERS NAME", 2)
    letters, name, words = arguments[0], arguments[1], arguments[2:] or state.arguments
    quiet, letters = letters[:1] == ":", letters.removeprefix(":")
    number = int(state.text("OPTIND") or 1)
    at = 1
    if state.words_of_getopts is not None and state.words_of_getopts[0] == number:
        at = state.words_of_getopts[1]
    word = words[number - 1] if number <= len(words) else ""
    state.unset("OPTARG")
    if at == 1 and (word[:1] != "-" or len(word) < 2 or word == "--"):
        state.set("OPTIND", str(number + (word == "--")))
        state.set(name, "?")
        state.words_of_getopts = None
        return 1
    letter, rest = word[at], word[at + 1 :]
    known, following = letter in letters and letter != ":", number + (not rest)
    value = None
    if known and letters[letters.index(letter) + 1 :][:1] == ":":
        following = number + 1
        if rest:
            value, rest = rest, ""
        elif number < len(words):
            value, following = words[number], number + 2
        else:
            known = False
            if not quiet:
                streams.err.write(f"{state.name}: option requires an argument -- {letter}\n")
            else:
                state.set("OPTARG", letter)
            state.set(name, ":" if quiet else "?")
    elif not known:
        if quiet:
            state.set("OPTARG", letter)
        else:
            streams.err.write(f"{state.name}: illegal option -- {letter}\n")
        state.set(name, "?")
    if known:
        state.set(name, letter)
        if value is not None:
            state.set("OPTARG", value)
    state.words_of_getopts = (number, at + 1) if rest else None
    state.set("OPTIND", str(following if not rest else number))
    return 0


def umask(arguments, streams):
    """umask [MODE]: which permissions new files have not"""
    if arguments:
        os.umask(int(arguments[0], 8))
    else:
        before = os.umask(0o022)
        os.umask(before)
        streams.out.write(f"{before:04o}\n")
