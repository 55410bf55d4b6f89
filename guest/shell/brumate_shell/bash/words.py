"""Reads words: quotes, `$...`, and the texts of here-documents."""

import re

from .nodes import Parameter, Substitution, Sum, Text, Word

# Longest script, in characters.
MAX_SCRIPT_CHARS = 1 << 20
# Commands, substitutions and parentheses inside each other.
MAX_NESTING = 40

_BLANKS = " \t"
# What ends a word, and what ends a part of one, by the way it is quoted.
_METACHARACTERS = " \t\n|&;<>()"
_SPECIAL_NAMES = "@*#?$!-"
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_INDIRECT = re.compile(r"[A-Za-z_]|[#\d@*]\}", re.ASCII)
_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_NUMBERED = re.compile(r"x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}")
_OPERATORS = re.compile(r":?[-=+?]|%%?|##?|//?|:|\^\^?|,,?|@")
# Plain characters in a word, in double quotes.
_PLAIN = re.compile(r"[^\s|&;<>()\\'\"$`]+")
_QUOTED_PLAIN = re.compile(r"[^\\\"$`]+")


class ShellSyntaxError(Exception):
    """A line that is not understood; the text says why."""


class Reader:
    """A place in a script, and the words that begin there. The grammar of commands is on top of it."""

    def __init__(self, text, nesting=0):
        if len(text) > MAX_SCRIPT_CHARS:
            raise ShellSyntaxError("the script is too long")
        self.text = text
        self.at = 0
        self.nesting = nesting
        self.documents = []

    def commands_until_parenthesis(self):
        raise NotImplementedError

    def skip_blanks(self):
        """Goes over blanks, escaped line ends and a comment."""
        text = self.text
        while self.at < len(text):
            if text[self.at] in _BLANKS:
                self.at += 1
            elif text.startswith("\\\n", self.at):
                self.at += 2
            elif text[self.at] == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            else:
                break

    def word(self, stop=""):
        """The word that begins here; one without characters is an error of the caller's."""
        return Word(self._parts("word", stop))

    def deeper(self):
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise ShellSyntaxError("the script is nested too deeply")

    def _parts(self, style, stop=""):
        """Parts up to the end of what `style` says: `word`, `quotes` (in double quotes), `argument` (of `${...}`),
        `quoted argument`, `document`, `sum` (all there is), `regex` (of `[[ =~ ]]`)."""
        text, parts, bare = self.text, [], []
        quoted = style in ("quotes", "quoted argument", "document", "sum")
        depth = 0

        def end_bare():
            if bare:
                parts.append(Text("".join(bare), quoted))
                bare.clear()

        while self.at < len(text):
            if style == "word" and not stop:
                found = _PLAIN.match(text, self.at)
            else:
                found = _QUOTED_PLAIN.match(text, self.at) if style == "quotes" else None
            if found:
                bare.append(found.group())
                self.at = found.end()
                continue
            char = text[self.at]
            if char in stop and not depth:
                break
            if style == "word" and char in _METACHARACTERS:
                break
            if style == "regex" and char.isspace() and not depth:
                break
            if style == "regex" and char in "()":
                depth += 1 if char == "(" else -1
            if char == "\\":
                self._escape(style, stop, bare, parts, end_bare)
            elif char == '"' and style not in ("quotes", "document"):
                end_bare()
                self.at += 1
                if style != "sum":
                    inner = self._parts("quotes", '"')
                    if text[self.at : self.at + 1] != '"':
                        raise ShellSyntaxError('a quote " is not closed')
                    self.at += 1
                    parts += inner or [Text("", True)]
            elif char == "'" and not quoted:
                end_bare()
                end = text.find("'", self.at + 1)
                if end < 0:
                    raise ShellSyntaxError("a quote ' is not closed")
                parts.append(Text(text[self.at + 1 : end], True))
                self.at = end + 1
            elif char in "$`":
                part = self._dollar(quoted)
                if part is None:
                    bare.append(char)
                    self.at += 1
                else:
                    end_bare()
                    parts.append(part)
            else:
                bare.append(char)
                self.at += 1
        end_bare()
        return parts

    def _escape(self, style, stop, bare, parts, end_bare):
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            return
        if style in ("word", "argument", "regex"):
            end_bare()
            parts.append(Text(following or "\\", True))
        elif following and following in (
            "$`\\" if style in ("document", "sum") else "$`\\}\"" if stop == "}" else '$`\\"'
        ):
            bare.append(following)
        else:
            bare.append("\\" + following)

    # What begins with a dollar sign.

    def _dollar(self, quoted):
        """The part that begins here, or None for a dollar sign that means itself."""
        text, at = self.text, self.at
        if text[at] == "`":
            return self._backquoted(quoted)
        following = text[at + 1 : at + 2]
        if following == "(":
            if text.startswith("((", at + 1):
                end = self.end_of_sum(at + 3)
                if end is not None:
                    self.at = end + 2
                    return Sum(self.inner_word(text[at + 3 : end]), quoted)
            self.deeper()
            self.at += 2
            body = self.commands_until_parenthesis()
            self.nesting -= 1
            return Substitution(body, quoted)
        if following == "{":
            return self._braced(quoted)
        if following == "[":
            raise ShellSyntaxError("$[...] is not supported; write $((...))")
        if following == "'" and not quoted:
            return self._ansi_quoted()
        if following == '"' and not quoted:
            self.at += 1
            return Text("", True)
        found = _NAME.match(text, at + 1)
        if found:
            self.at = found.end()
            return Parameter(found.group(), None, "", None, quoted)
        if following and (following in _SPECIAL_NAMES or following in "0123456789"):
            self.at += 2
            return Parameter(following, None, "", None, quoted)
        return None

    def end_of_sum(self, at):
        """Where the `))` is that closes a `((` before `at`; None if a single `)` comes first."""
        text, depth = self.text, 0
        while at < len(text):
            if text[at] == "(":
                depth += 1
            elif text[at] == ")":
                if not depth:
                    return at if text.startswith("))", at) else None
                depth -= 1
            at += 1
        return None

    def inner_word(self, text):
        """A text of the script as one word, as in double quotes."""
        reader = type(self)(text, self.nesting)
        reader.deeper()
        return Word(reader._parts("sum"))

    def _backquoted(self, quoted):
        text, at, out = self.text, self.at + 1, []
        while at < len(text) and text[at] != "`":
            if text[at] == "\\" and text[at + 1 : at + 2] and text[at + 1] in ('$`\\"' if quoted else "$`\\"):
                at += 1
            out.append(text[at])
            at += 1
        if at >= len(text):
            raise ShellSyntaxError("a quote ` is not closed")
        self.at = at + 1
        reader = type(self)("".join(out) + ")", self.nesting)
        reader.deeper()
        return Substitution(reader.commands_until_parenthesis(), quoted)

    def _ansi_quoted(self):
        """`$'...'`"""
        text, at, out = self.text, self.at + 2, []
        while at < len(text) and text[at] != "'":
            if text[at] == "\\":
                number = _NUMBERED.match(text, at + 1)
                if number:
                    digits = number.group()
                    code = int(digits, 8) & 0xFF if digits[0].isdigit() else int(digits[1:], 16)
                    out.append(bytes([code]).decode("utf-8", "surrogateescape") if digits[0] not in "uU" else chr(code))
                    at = number.end()
                    continue
                out.append(_ESCAPES.get(text[at + 1 : at + 2], text[at : at + 2]))
                at += 2
            else:
                out.append(text[at])
                at += 1
        if at >= len(text):
            raise ShellSyntaxError("a quote ' is not closed")
        self.at = at + 1
        # Bytes that were written one by one may be one character.
        return Text("".join(out).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"), True)

    # ${...}

    def _braced(self, quoted):
        text, start = self.text, self.at
        self.at += 2
        prefix = ""
        if text.startswith("#", self.at) and text[self.at + 1 : self.at + 2] not in ("}", "-", ":", "%", "#", "/"):
            prefix = "#"
        elif text.startswith("!", self.at) and _INDIRECT.match(text, self.at + 1):
            prefix = "!"
        self.at += len(prefix)
        name = self._parameter_name(start)
        index = None
        if text.startswith("[", self.at):
            index = self._index()
        if prefix == "!" and text[self.at : self.at + 1] in ("*", "@") and text[self.at + 1 : self.at + 2] == "}":
            raise ShellSyntaxError("${!prefix*} is not supported")
        found = _OPERATORS.match(text, self.at)
        operator, argument = "", None
        if prefix:
            operator = "length" if prefix == "#" else "keys" if index in ("@", "*") else "indirect"
        elif found:
            operator = found.group()
            self.at = found.end()
            argument = self._argument(operator, quoted)
        if text[self.at : self.at + 1] != "}":
            end = text.find("}", start)
            shown = text[start : end + 1 if end >= 0 else start + 20]
            raise ShellSyntaxError(f"{shown} is not supported" if end >= 0 else "${ is not closed")
        self.at += 1
        return Parameter(name, index, operator, argument, quoted)

    def _parameter_name(self, start):
        text = self.text
        found = _NAME.match(text, self.at) or re.compile(r"\d+|[@*#?$!-]").match(text, self.at)
        if found is None:
            end = text.find("}", start)
            raise ShellSyntaxError(f"{text[start : end + 1 if end >= 0 else start + 20]} is not supported")
        self.at = found.end()
        return found.group()

    def _index(self):
        """`[...]` behind a name: `@`, `*`, or a word."""
        self.at += 1
        if self.text[self.at : self.at + 2] in ("@]", "*]"):
            self.at += 2
            return self.text[self.at - 2]
        parts = self._parts("argument", "]")
        if not self.text.startswith("]", self.at):
            raise ShellSyntaxError("[ is not closed")
        self.at += 1
        return Word(parts)

    def _argument(self, operator, quoted):
        # In double quotes a pattern is still quoted by itself; a default is not.
        pattern = operator[0] in "%#/^,"
        style = "quoted argument" if quoted and not pattern else "argument"
        if operator == ":":
            first = Word(self._parts("sum", ":}"))
            second = None
            if self.text.startswith(":", self.at):
                self.at += 1
                second = Word(self._parts("sum", "}"))
            return first, second
        if operator in ("/", "//"):
            anchor = self.text[self.at : self.at + 1]
            if operator == "/" and anchor and anchor in "#%":
                self.at += 1
            else:
                anchor = ""
            pattern = Word(self._parts(style, "/}"))
            other = Word([])
            if self.text.startswith("/", self.at):
                self.at += 1
                other = Word(self._parts(style, "}"))
            return anchor, pattern, other
        return Word(self._parts(style, "}"))
