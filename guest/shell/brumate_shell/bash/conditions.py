"""`test`, `[` and `[[`: files, texts and numbers compared."""

import os
import re
import stat

from brumate_shell import patterns
from brumate_shell.regexes import Pattern
from brumate_shell.streams import Refused

from . import expansion
from .arithmetic import calculate

_SIZES_AND_NUMBERS = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_TEXTS = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
_TIMES = ("-nt", "-ot", "-ef")
_FILES = {
    "-f": stat.S_ISREG,
    "-d": stat.S_ISDIR,
    "-p": stat.S_ISFIFO,
    "-S": stat.S_ISSOCK,
    "-b": stat.S_ISBLK,
    "-c": stat.S_ISCHR,
}
_BITS = {"-u": stat.S_ISUID, "-g": stat.S_ISGID, "-k": stat.S_ISVTX}
_ACCESS = {"-r": os.R_OK, "-w": os.W_OK, "-x": os.X_OK}
_UNARY = frozenset(
    (*_FILES, *_BITS, *_ACCESS, "-e", "-a", "-s", "-L", "-h", "-z", "-n", "-v", "-o", "-t", "-O", "-G", "-N", "-R")
)


def quoted(text):
    """A text that the shell reads as itself."""
    return "'" + text.replace("'", "'\\''") + "'"


def unary(operator, value, shell):
    """`-f file` and the like."""
    if operator in ("-z", "-n"):
        return bool(value) == (operator == "-n")
    if operator == "-v":
        name, bracket, index = value.partition("[")
        if bracket:
            found = shell.state.get(name) if shell else None
            return isinstance(found, dict) and found.get(shell.state.key(found, index.rstrip("]"))) is not None
        return shell is not None and shell.state.text(name) is not None
    if operator == "-o":
        return shell is not None and value in shell.state.options
    if operator == "-t":
        return False
    if operator not in _UNARY:
        raise Refused(f"{operator}: unary operator expected", 2)
    try:
        information = os.lstat(value) if operator in ("-L", "-h") else os.stat(value)
    except (OSError, ValueError):
        return False
    mode = information.st_mode
    if operator in ("-L", "-h"):
        return stat.S_ISLNK(mode)
    if operator == "-s":
        return information.st_size > 0
    if operator in _FILES:
        return _FILES[operator](mode)
    if operator in _BITS:
        return bool(mode & _BITS[operator])
    if operator in _ACCESS:
        return os.access(value, _ACCESS[operator])
    return True


def _number(text):
    try:
        return int(text.strip())
    except ValueError:
        raise Refused(f"{text}: integer expression expected", 2) from None


def _binary(a, operator, b):
    if operator in _TEXTS:
        return _TEXTS[operator](a, b)
    if operator in _SIZES_AND_NUMBERS:
        return _SIZES_AND_NUMBERS[operator](_number(a), _number(b))
    return _times(a, operator, b)


def _times(a, operator, b):
    def information(path):
        try:
            return os.stat(path)
        except OSError:
            return None

    first, second = information(a), information(b)
    if operator == "-ef":
        return first is not None and second is not None and os.path.samestat(first, second)
    if operator == "-ot":
        first, second = second, first
    return first is not None and (second is None or first.st_mtime_ns > second.st_mtime_ns)


_BINARY = frozenset((*_TEXTS, *_SIZES_AND_NUMBERS, *_TIMES))


def test(arguments, streams):
    """test EXPRESSION, [ EXPRESSION ]: compares files, texts and numbers"""
    return 0 if arguments and _Test(arguments, streams.shell).all() else 1


def bracket(arguments, streams):
    """[ EXPRESSION ]: the same as test"""
    if arguments[-1:] != ["]"]:
        raise Refused("missing `]'", 2)
    return test(arguments[:-1], streams)


class _Test:
    def __init__(self, words, shell):
        self.words = words
        self.shell = shell
        self.at = 0

    def all(self):
        found = self.either()
        if self.at < len(self.words):
            raise Refused(f"too many arguments near {self.words[self.at]}", 2)
        return found

    def left(self):
        return len(self.words) - self.at

    def either(self):
        found = self.both()
        while self.words[self.at : self.at + 1] == ["-o"]:
            self.at += 1
            found = self.both() or found
        return found

    def both(self):
        found = self.single()
        while self.words[self.at : self.at + 1] == ["-a"]:
            self.at += 1
            found = self.single() and found
        return found

    def single(self):
        words, at = self.words, self.at
        if not self.left():
            raise Refused("argument expected", 2)
        first = words[at]
        if self.left() >= 3 and words[at + 1] in _BINARY:
            self.at += 3
            return _binary(first, words[at + 1], words[at + 2])
        if first == "!" and self.left() > 1:
            self.at += 1
            return not self.single()
        if first == "(" and self.left() > 1:
            self.at += 1
            found = self.either()
            if words[self.at : self.at + 1] != [")"]:
                raise Refused("`)' expected", 2)
            self.at += 1
            return found
        if self.left() > 1 and first in _UNARY and words[at + 1] not in ("-a", "-o"):
            self.at += 2
            return unary(first, words[at + 1], self.shell)
        if self.left() == 3 and words[at + 1][:1] == "-" and words[at + 1] not in ("-a", "-o"):
            raise Refused(f"{words[at + 1]}: binary operator expected", 2)
        self.at += 1
        return bool(first)


def holds(expression, shell):
    """Whether the expression of a `[[ ... ]]` is true."""
    kind = expression[0]
    if kind == "not":
        return not holds(expression[1], shell)
    if kind == "and":
        return holds(expression[1], shell) and holds(expression[2], shell)
    if kind == "or":
        return holds(expression[1], shell) or holds(expression[2], shell)
    if kind == "word":
        return bool(expansion.text(expression[1], shell))
    if kind == "unary":
        return unary(expression[1], expansion.text(expression[2], shell), shell)
    _, operator, left, right = expression
    first = expansion.text(left, shell)
    ignore_case = "nocasematch" in shell.state.extras
    if operator in ("=", "==", "!="):
        return patterns.matches(first, expansion.pattern(right, shell), ignore_case) == (operator != "!=")
    if operator == "=~":
        return _regex(first, expansion.regex(right, shell), shell, ignore_case)
    second = expansion.text(right, shell)
    if operator in _SIZES_AND_NUMBERS:
        return _SIZES_AND_NUMBERS[operator](calculate(first, shell.state), calculate(second, shell.state))
    return _binary(first, operator, second)


def _regex(text, expression, shell, ignore_case):
    from .state import Array

    found = Pattern(expression, extended=True, flags=re.IGNORECASE if ignore_case else 0).search(text)
    values = [] if found is None else [found.group(), *[group or "" for group in found.groups()]]
    shell.state.own["BASH_REMATCH"] = Array(enumerate(values))
    return found is not None
