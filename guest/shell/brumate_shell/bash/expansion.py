"""Words to arguments: `{a,b}`, `~`, `$...`, splitting, `*?[...]`."""

import functools
import glob
import os
import re

from brumate_shell import patterns
from brumate_shell.streams import Refused

from . import parameters
from .arithmetic import calculate
from .nodes import Assignment, Parameter, Substitution, Text, Word
from .parameters import Several
from .state import Fatal
from .words import ShellSyntaxError

# Arguments of one command.
MAX_ARGUMENTS = 100_000

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?|([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
_DECLARING = frozenset(("declare", "typeset", "local", "export", "readonly"))


def arguments(words, shell):
    """All words of a command, expanded. Assignments of arrays stay as they are."""
    found = []
    declares = words and words[0].plain() in _DECLARING
    for word in words:
        if type(word) is Assignment:
            found.append(word)
        elif declares and word.parts and type(word.parts[0]) is Text and _ASSIGNED.match(word.parts[0].text):
            found.append(text(word, shell, assigned=True))
        else:
            found += fields(word, shell)
        if len(found) > MAX_ARGUMENTS:
            raise ShellSyntaxError("too many arguments")
    return found


def fields(word, shell):
    """The arguments that one word stands for."""
    parts = word.parts
    if len(parts) == 1 and type(parts[0]) is Text and (parts[0].quoted or parts[0].text.isalnum()):
        return [parts[0].text]
    words = [parts]
    if any([type(part) is Text and not part.quoted and "{" in part.text for part in parts]):
        words = []
        _braces(_units(parts), words)
        words = [_joined(units) for units in words]
    found = []
    for parts in words:
        found += _fields(parts, shell)
    return found


def text(word, shell, assigned=False):
    """A word as one text, without splitting and globbing."""
    out = []
    for number, part in enumerate(word.parts):
        if type(part) is Text:
            said = part.text
            if not part.quoted and "~" in said and (assigned or not number):
                said = _homes(said, assigned, number)
            out.append(said)
        else:
            found = _value(part, shell)
            out.append(_as_one(found, shell) if isinstance(found, Several) else found)
    return "".join(out)


def pattern(word, shell):
    """A word as a pattern of the shell: what is quoted in it stands for itself."""
    out = []
    for number, part in enumerate(word.parts):
        if type(part) is Text:
            said = _homes(part.text, False, number) if not part.quoted and not number else part.text
        else:
            found = _value(part, shell)
            said = _as_one(found, shell) if isinstance(found, Several) else found
        out.append(patterns.quoted(said) if part.quoted else said)
    return "".join(out)


def regex(word, shell):
    """A word as a regular expression: what is quoted in it stands for itself."""
    out = []
    for part in word.parts:
        said = text(Word([part]), shell)
        out.append(re.sub(r"([\\.*+?(){}\[\]^$|])", r"\\\1", said) if part.quoted else said)
    return "".join(out)


def _as_one(values, shell):
    if not values.joined:
        return " ".join(values)
    separator = shell.state.text("IFS")
    return (" " if separator is None else separator[:1]).join(values)


class _Expand:
    """How [`parameters`] expands the words inside of `${...}`."""

    def __init__(self, shell):
        self.shell = shell

    def __call__(self, word):
        return text(word, self.shell)

    def pattern(self, word):
        return pattern(word, self.shell)

    def default(self, word):
        """The word behind `:-`: several values stay several."""
        if len(word.parts) == 1 and type(word.parts[0]) is Parameter:
            return _value(word.parts[0], self.shell)
        return _Default(text(word, self.shell), word)


class _Default(str):
    """A default's text, with the word it is from: its quotes count where it is split."""

    def __new__(cls, said, word):
        self = super().__new__(cls, said)
        self.word = word
        return self


def _value(part, shell):
    kind = type(part)
    if kind is Parameter:
        return parameters.value(part, shell, _Expand(shell))
    if kind is Substitution:
        return shell.substitute(part.body)
    try:
        return str(calculate(text(part.word, shell), shell.state))
    except Fatal:
        raise
    except Refused as error:
        raise Fatal(str(error)) from None


# Fields.


class _Fields:
    """Fields while they grow: what each says, and as a pattern."""

    def __init__(self, separators):
        self.done = []
        self.said, self.form, self.keep = [], [], False
        self.separators = separators

    def add(self, said, quoted):
        self.said.append(said)
        self.form.append(patterns.quoted(said) if quoted else said)
        self.keep = self.keep or quoted

    def end(self, keep=False):
        said = "".join(self.said)
        if said or self.keep or keep:
            self.done.append((said, "".join(self.form)))
        self.said, self.form, self.keep = [], [], False

    def split(self, value):
        """Adds a value that is not quoted."""
        if not self.separators:
            if value:
                self.add(value, False)
            return
        at = 0
        for found in _splitter(self.separators).finditer(value):
            if found.start() > at:
                self.add(value[at : found.start()], False)
            at = found.end()
            self.end(keep=not found.group().isspace())
        if at < len(value):
            self.add(value[at:], False)


@functools.lru_cache(maxsize=50)
def _splitter(separators):
    blanks = "".join([char for char in separators if char in " \t\n"])
    others = "".join([char for char in separators if char not in " \t\n"])
    blank = f"[{re.escape(blanks)}]" if blanks else "(?!)"
    if not others:
        return re.compile(blank + "+")
    return re.compile(f"(?:{blank})*[{re.escape(others)}](?:{blank})*|(?:{blank})+")


def _fields(parts, shell):
    separators = shell.state.text("IFS")
    found = _Fields(" \t\n" if separators is None else separators)
    _collect(parts, shell, found, True)
    found.end()
    if "noglob" in shell.state.options:
        return [said for said, _ in found.done]
    result = []
    for said, form in found.done:
        result += _globbed(said, form, shell) if patterns.has_magic(form) else [said]
    return result


def _collect(parts, shell, found, at_start):
    for number, part in enumerate(parts):
        if type(part) is Text:
            said = part.text
            if not part.quoted and at_start and not number and said[:1] == "~":
                home = _homes(said, False, 0)
                if home != said:
                    said = home
            found.add(said, part.quoted) if said or part.quoted else None
            continue
        value = _value(part, shell)
        if isinstance(value, Several):
            _collect_several(value, part, shell, found)
        elif part.quoted:
            found.add(value, True)
        elif type(value) is _Default:
            for inner in value.word.parts:
                if type(inner) is Text and not inner.quoted:
                    found.split(inner.text)
                else:
                    _collect([inner], shell, found, False)
        else:
            found.split(value)


def _collect_several(values, part, shell, found):
    if part.quoted and values.joined:
        found.add(_as_one(values, shell), True)
        return
    for number, value in enumerate(values):
        if number:
            found.end(keep=False)
        found.add(value, True) if part.quoted else found.split(value)


def _globbed(said, form, shell):
    extras = shell.state.extras
    form = patterns.for_glob(form)
    matches = glob.glob(form, recursive="globstar" in extras, include_hidden="dotglob" in extras)
    if "globstar" in extras:
        matches = [match for match in matches if match]
    if matches or "nullglob" in extras:
        return sorted(matches)
    return [said]


def _homes(said, assigned, number):
    pieces = said.split(":") if assigned else [said]
    for at, piece in enumerate(pieces):
        head, equals, rest = piece.partition("=") if assigned and not at and not number else ("", "", piece)
        if rest[:1] == "~":
            name, slash, tail = rest.partition("/")
            pieces[at] = head + equals + os.path.expanduser(name) + slash + tail
    return ":".join(pieces)


# Braces.


def _units(parts):
    """Characters that are not quoted one by one, and the other parts as they are."""
    units = []
    for part in parts:
        if type(part) is Text and not part.quoted:
            units += part.text
        else:
            units.append(part)
    return units


def _joined(units):
    parts, bare = [], []
    for unit in units:
        if type(unit) is str:
            bare.append(unit)
            continue
        if bare:
            parts.append(Text("".join(bare), False))
            bare = []
        parts.append(unit)
    if bare:
        parts.append(Text("".join(bare), False))
    return parts


def _braces(units, found, begin=0):
    """Adds what the units stand for to `found`, each a list of units."""
    for start in range(begin, len(units)):
        if units[start] != "{":
            continue
        depth, commas = 0, []
        for end in range(start, len(units)):
            unit = units[end]
            if unit == "{":
                depth += 1
            elif unit == "," and depth == 1:
                commas.append(end)
            elif unit == "}":
                depth -= 1
                if not depth:
                    break
        else:
            continue
        choices = _choices(units, start, end, commas)
        if choices is None:
            continue
        for choice in choices:
            _braces(units[:start] + list(choice) + units[end + 1 :], found, start)
        return
    if len(found) >= MAX_ARGUMENTS:
        raise ShellSyntaxError("too many arguments")
    found.append(units)


def _choices(units, start, end, commas):
    if commas:
        edges = [start, *commas, end]
        return [units[a + 1 : b] for a, b in zip(edges, edges[1:], strict=False)]
    inner = units[start + 1 : end]
    if not all([type(unit) is str for unit in inner]):
        return None
    match = _RANGE.fullmatch("".join(inner))
    if match is None:
        return None
    first, last, step, letter, last_letter, letter_step = match.groups()
    if letter:
        a, b, step = ord(letter), ord(last_letter), letter_step
    else:
        a, b = int(first), int(last)
    stride = abs(int(step or 1)) or 1
    numbers = range(a, b + 1, stride) if b >= a else range(a, b - 1, -stride)
    if len(numbers) > MAX_ARGUMENTS:
        raise ShellSyntaxError("too many arguments")
    if letter:
        return [chr(number) for number in numbers]
    padded = any([text.lstrip("-")[:1] == "0" and len(text.lstrip("-")) > 1 for text in (first, last)])
    width = max(len(first), len(last)) if padded else 0
    return [f"{number:0{width}d}" for number in numbers]
