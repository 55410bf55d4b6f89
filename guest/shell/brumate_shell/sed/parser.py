"""The language of `sed`: from a script to its commands."""

import re

from brumate_shell.regexes import Pattern
from brumate_shell.streams import Refused, decode

from .nodes import Address, Command, Substitute

# Commands of one script.
MAX_COMMANDS = 10_000

# A character by its number.
_CODE = re.compile(r"x([0-9A-Fa-f]{2})")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
# Commands that take nothing, a label, the name of a file, a text.
_BARE = frozenset("=dDgGhHnNpPxzF")
_LABELLED = frozenset("btT")
_FILES = frozenset("rRwW")
_TEXTS = frozenset("aic")
_FLAG = {"I": re.IGNORECASE, "i": re.IGNORECASE, "M": re.MULTILINE, "m": re.MULTILINE}


def parse(script, extended):
    """The commands of a script, with branches and blocks resolved; and whether it began with `#n`."""
    return _Parser(script, extended).commands(), script[:3] in ("#n\n", "#n")


class _Parser:
    def __init__(self, text, extended):
        self.text = text
        self.at = 0
        self.extended = extended

    def fail(self, problem):
        raise Refused(f"-e expression #1, char {self.at}: {problem}", 1)

    def peek(self):
        return self.text[self.at : self.at + 1]

    def skip(self, chars=" \t"):
        while self.peek() and self.peek() in chars:
            self.at += 1

    def commands(self):
        found, blocks, labels = [], [], {}
        while True:
            self.skip(" \t\n;")
            if not self.peek():
                break
            if self.peek() == "#":
                self.line()
                continue
            first, second, negated = self.addresses()
            name = self.peek()
            self.at += 1
            if not name:
                self.fail("missing command")
            if name == "}":
                if not blocks:
                    self.fail("unexpected `}'")
                if first:
                    self.fail("} doesn't want any addresses")
                found[blocks.pop()].end = len(found)
                self.end_of_command()
                continue
            if name == ":":
                if first:
                    self.fail(": doesn't want any addresses")
                self.skip()
                label = re.compile(r"[^\s;}]+").match(self.text, self.at)
                if label is None:
                    self.fail('":" lacks a label')
                self.at = label.end()
                labels[label.group()] = len(found)
                continue
            command = Command(name, first, second, negated)
            found.append(command)
            if len(found) > MAX_COMMANDS:
                raise Refused("the script has too many commands")
            if name == "{":
                blocks.append(len(found) - 1)
            else:
                self.arguments_of(command)
        if blocks:
            self.fail("unmatched `{'")
        for command in found:
            if command.name in _LABELLED:
                if command.argument and command.argument not in labels:
                    raise Refused(f"-e expression #1: can't find label for jump to `{command.argument}'")
                command.end = labels.get(command.argument, len(found))
        return found

    # Addresses.

    def addresses(self):
        first, second = self.address(), None
        if first is not None:
            self.skip()
            if self.peek() == ",":
                self.at += 1
                self.skip()
                second = self.address(second=True)
                if second is None:
                    self.fail("unexpected `,'")
        self.skip()
        negated = False
        while self.peek() == "!":
            negated = True
            self.at += 1
            self.skip()
        return first, second, negated

    def address(self, second=False):
        char = self.peek()
        if char.isdigit():
            number = self.number()
            if self.peek() == "~" and not second:
                self.at += 1
                return Address("step", number, self.number() if self.peek().isdigit() else 0)
            return Address("line", number)
        if char == "$":
            self.at += 1
            return Address("last")
        if second and char and char in "+~":
            self.at += 1
            return Address("plus" if char == "+" else "multiple", self.number())
        if char == "/" or char == "\\":
            self.at += 1 if char == "/" else 2
            source = self.delimited(self.text[self.at - 1])
            flags = 0
            while self.peek() and self.peek() in "IM":
                flags |= _FLAG[self.peek()]
                self.at += 1
            return Address("regex", Pattern(source, self.extended, flags) if source else None)
        return None

    def number(self):
        found = re.compile(r"\d+").match(self.text, self.at)
        if found is None:
            self.fail("a number is missing")
        self.at = found.end()
        return int(found.group())

    def delimited(self, end, regex=True):
        """What stands up to `end`, which is taken as well. An escaped `end` loses its backslash."""
        out, text, in_set = [], self.text, False
        while True:
            char = text[self.at : self.at + 1]
            if not char or (char == "\n" and regex and not in_set):
                self.fail("unterminated address regex or `s' command")
            self.at += 1
            if char == "\\":
                following = text[self.at : self.at + 1]
                self.at += 1
                if following == end and not in_set:
                    # A delimiter that means something in an expression stands for itself.
                    out.append(
                        "\\" + end
                        if regex and end in ".*[]^$+?(){}|" and end != "|"
                        else end
                        if regex
                        else "\\" + end
                        if end in "&"
                        else end
                    )
                else:
                    out.append(char + following)
                    if following == "\n" and regex:
                        out[-1] = "\\n"
            elif char == "[" and regex and not in_set:
                found = re.compile(r"\^?\]?(?:\[[:=.].*?[:=.]\]|[^\]])*\]").match(text, self.at)
                if found and end not in ("[", "]"):
                    out.append("[" + found.group())
                    self.at = found.end()
                else:
                    out.append(char)
            elif char == end:
                return "".join(out)
            else:
                out.append(char)

    # Commands.

    def line(self):
        """The rest of a line."""
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        found, self.at = self.text[self.at : end], end
        return found

    def end_of_command(self):
        self.skip()
        char = self.peek()
        if char and char not in ";\n}#":
            self.fail(f"extra characters after command: {self.line()}")

    def arguments_of(self, command):
        name = command.name
        if name in _BARE:
            self.end_of_command()
        elif name in _LABELLED:
            self.skip()
            found = re.compile(r"[^\s;}]*").match(self.text, self.at)
            self.at = found.end()
            command.argument = found.group()
            self.end_of_command()
        elif name in "qQlL":
            self.skip()
            command.argument = self.number() if self.peek().isdigit() else 0
            self.end_of_command()
        elif name in _FILES:
            self.skip()
            command.argument = self.line()
            if not command.argument:
                self.fail("missing filename in r/R/w/W commands")
        elif name in _TEXTS:
            command.argument = self.added_text()
        elif name == "s":
            command.argument = self.substitute()
        elif name == "y":
            command.argument = self.characters()
            self.end_of_command()
        elif name == "e":
            raise Refused("the command e is not supported here: sed starts no commands", 2)
        else:
            self.fail(f"unknown command: `{name}'")

    def added_text(self):
        """The text of `a`, `i` and `c`: on the same line, or on those behind a backslash."""
        self.skip()
        text = self.text
        if text.startswith("\\", self.at):
            after = re.compile(r"\\[ \t]*\n").match(text, self.at)
            if after:
                self.at = after.end()
            else:
                self.at += 1
        elif not self.peek() or self.peek() == "\n":
            self.fail("expected \\ after `a', `c' or `i'")
        out = []
        while self.at < len(text) and text[self.at] != "\n":
            char = text[self.at]
            if char == "\\" and self.at + 1 < len(text):
                self.at += 1
                char = text[self.at]
            elif char == "\\":
                char = ""
            out.append(char)
            self.at += 1
        return "".join(out) + "\n"

    def characters(self):
        end = self.peek()
        self.at += 1
        texts = []
        for _ in range(2):
            text = self.delimited(end, regex=False)
            texts.append(
                re.sub(r"\\(.)", lambda found: _CONTROLS.get(found.group(1), found.group(1)), text, flags=re.DOTALL)
            )
        if len(texts[0]) != len(texts[1]):
            self.fail("strings for `y' command are different lengths")
        return str.maketrans(*texts)

    def substitute(self):
        end = self.peek()
        self.at += 1
        if not end or end in "\n\\":
            self.fail("unterminated `s' command")
        found, flags = Substitute(), 0
        source = self.delimited(end)
        replacement = self.delimited(end, regex=False)
        while self.peek() and self.peek() not in ";\n}# \t":
            flag = self.peek()
            if flag.isdigit():
                found.number = self.number()
                if not found.number:
                    self.fail("number option to `s' command may not be zero")
                continue
            self.at += 1
            if flag == "g":
                found.all = True
            elif flag == "p":
                found.prints = True
            elif flag in _FLAG:
                flags |= _FLAG[flag]
            elif flag == "w":
                self.skip()
                found.file = self.line()
            elif flag == "e":
                raise Refused("the flag e of s is not supported here: sed starts no commands", 2)
            else:
                self.fail("unknown option to `s'")
        self.end_of_command()
        found.pattern = Pattern(source, self.extended, flags) if source else None
        found.replacement = self.replacement(replacement, found.pattern)
        return found

    def replacement(self, text, pattern):
        """Pieces: texts, numbers of groups, and `("case", letter)`."""
        pieces, bare, at = [], [], 0

        def end_bare():
            if bare:
                pieces.append("".join(bare))
                bare.clear()

        while at < len(text):
            char = text[at]
            at += 1
            if char == "&":
                end_bare()
                pieces.append(0)
            elif char == "\\" and at < len(text):
                char = text[at]
                at += 1
                if char.isdigit():
                    end_bare()
                    pieces.append(int(char))
                    if pattern is not None and int(char) > pattern.groups:
                        self.fail(f"invalid reference \\{char} on `s' command's RHS")
                elif char in "ULEul":
                    end_bare()
                    pieces.append(("case", char))
                else:
                    code = _CODE.match(text, at - 1)
                    if code:
                        at = code.end()
                        bare.append(decode(bytes([int(code.group(1), 16)])))
                    else:
                        bare.append(_CONTROLS.get(char, char))
            else:
                bare.append(char)
        end_bare()
        return pieces
