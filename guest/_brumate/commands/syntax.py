"""The grammar of shell lines: words and operators, here-documents, and lists of pipelines.

What is left out is refused by name: loops, conditions, functions, background jobs, subshells.
"""

from ..pristine import __builtins__

# Longest script, in characters.
MAX_SCRIPT_CHARS = 1 << 20

_OPERATORS = (
    "&>>",
    "<<<",
    "<<-",
    "2>&1",
    "1>&2",
    ">&2",
    "&&",
    "||",
    ">>",
    "<<",
    "2>>",
    "2>",
    "1>",
    "&>",
    "|",
    ";",
    "&",
    ">",
    "<",
    "(",
    ")",
)
_KEYWORDS = frozenset(
    (
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "function",
        "select",
        "{",
        "}",
        "[[",
    )
)
_REDIRECTIONS = frozenset((">", ">>", "<", "2>", "2>>", "1>", "&>", "&>>", "<<<"))


class ShellSyntaxError(Exception):
    """A line that is not understood; the text says why."""


class Word:
    """One word, as parts of `(text, quote)`; the quote is `'`, `"` or empty."""

    __slots__ = ("parts",)

    def __init__(self, parts):
        self.parts = parts

    def plain(self):
        """The text when nothing of it is quoted, else None."""
        return "".join(text for text, quote in self.parts) if not any(quote for _, quote in self.parts) else None


class Command:
    """Words, redirections as `(operator, word or text)`."""

    __slots__ = ("words", "redirections")

    def __init__(self):
        self.words = []
        self.redirections = []


def parse(script):
    """The script as a list of `(connector, pipeline)`: connector `;`, `&&` or `||`, pipeline a list of [`Command`]s."""
    if len(script) > MAX_SCRIPT_CHARS:
        raise ShellSyntaxError("the script is too long")
    return _Parser(script).parse()


class _Parser:
    def __init__(self, script):
        self.text = script.replace("\r\n", "\n")
        self.at = 0
        self.documents = []  # here-documents whose text begins on the next line: (command, end, strip tabs, expand)

    def parse(self):
        entries, pipeline, command, connector = [], [], Command(), ";"

        def end_command():
            nonlocal command
            if not command.words and not command.redirections:
                return False
            pipeline.append(command)
            command = Command()
            return True

        def end_pipeline(following):
            nonlocal pipeline, connector
            if end_command():
                entries.append((connector, pipeline))
                pipeline = []
            elif pipeline:
                raise ShellSyntaxError("a command is missing after |")
            elif following in ("&&", "||") or connector in ("&&", "||"):
                if following == "\n":
                    return  # the line goes on after && or ||
                raise ShellSyntaxError(
                    f"a command is missing beside {following if following != chr(10) else connector}"
                )
            connector = ";" if following == "\n" else following

        while True:
            token = self._token()
            if token is None:
                break
            if isinstance(token, Word):
                if not command.words and token.plain() in _KEYWORDS:
                    raise ShellSyntaxError(f"{token.plain()}: no loops, conditions or functions here; use Python")
                command.words.append(token)
            elif token == "\n":
                self._read_documents()
                if pipeline and not command.words and not command.redirections:
                    continue  # after |
                end_pipeline(token)
            elif token in (";", "&&", "||"):
                end_pipeline(token)
            elif token == "|":
                if not end_command():
                    raise ShellSyntaxError("a command is missing before |")
            elif token in ("2>&1", "1>&2", ">&2"):
                command.redirections.append((token, None))
            elif token in ("<<", "<<-"):
                self._document(command, token)
            elif token in _REDIRECTIONS:
                target = self._token()
                if not isinstance(target, Word):
                    raise ShellSyntaxError(f"a file name is missing after {token}")
                command.redirections.append((token, target))
            elif token == "&":
                raise ShellSyntaxError("background jobs are not supported")
            else:
                raise ShellSyntaxError(f"{token} is not supported")
        self._read_documents()
        end_pipeline("\n")
        if connector in ("&&", "||"):
            raise ShellSyntaxError(f"a command is missing after {connector}")
        return entries

    def _token(self):
        """The next word (a [`Word`]) or operator (a text); None at the end."""
        text = self.text
        while self.at < len(text):
            if text[self.at] in " \t":
                self.at += 1
            elif text.startswith("\\\n", self.at):
                self.at += 2
            elif text[self.at] == "#":
                while self.at < len(text) and text[self.at] != "\n":
                    self.at += 1
            else:
                break
        if self.at >= len(text):
            return None
        if text[self.at] == "\n":
            self.at += 1
            return "\n"
        for operator in _OPERATORS:
            if text.startswith(operator, self.at):
                self.at += len(operator)
                return operator
        return self._word()

    def _word(self):
        text, parts, bare = self.text, [], []

        def end_bare():
            if bare:
                parts.append(("".join(bare), ""))
                bare.clear()

        while self.at < len(text):
            char = text[self.at]
            if char in " \t\n|;<>()" or (char == "&" and bare[-1:] != [">"]):
                break
            if char == "\\":
                if self.at + 1 < len(text) and text[self.at + 1] != "\n":
                    end_bare()
                    parts.append((text[self.at + 1], "'"))
                self.at += 2
            elif char == "'":
                end = text.find("'", self.at + 1)
                if end < 0:
                    raise ShellSyntaxError("a quote ' is not closed")
                end_bare()
                parts.append((text[self.at + 1 : end], "'"))
                self.at = end + 1
            elif char == '"':
                end_bare()
                parts.append((self._double_quoted(), '"'))
            elif char == "$" and text.startswith("$(", self.at) or char == "`":
                bare.append(self._substitution())
            else:
                bare.append(char)
                self.at += 1
        end_bare()
        return Word(parts)

    def _double_quoted(self):
        text, start = self.text, self.at + 1
        self.at = start
        out = []
        while self.at < len(text):
            char = text[self.at]
            if char == '"':
                self.at += 1
                return "".join(out)
            if char == "\\" and text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`", "\n"):
                if text[self.at + 1] != "\n":
                    # A dollar that means itself is marked, to be unmarked by the expansion.
                    out.append("\\$" if text[self.at + 1] == "$" else text[self.at + 1])
                self.at += 2
            elif text.startswith("$(", self.at) or char == "`":
                out.append(self._substitution())
            else:
                out.append(char)
                self.at += 1
        raise ShellSyntaxError('a quote " is not closed')

    def _substitution(self):
        """`$(...)`, as it stands; backquotes are rewritten to it."""
        text = self.text
        if text[self.at] == "`":
            end = text.find("`", self.at + 1)
            if end < 0:
                raise ShellSyntaxError("a quote ` is not closed")
            inner, self.at = text[self.at + 1 : end], end + 1
            return f"$({inner})"
        if text.startswith("$((", self.at):
            raise ShellSyntaxError("$((...)) is not supported; use Python")
        depth, at = 0, self.at + 1
        while at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
            if not depth:
                start, self.at = self.at, at
                return text[start:at]
        raise ShellSyntaxError("$( is not closed")

    def _document(self, command, operator):
        word = self._token()
        if not isinstance(word, Word):
            raise ShellSyntaxError(f"a word is missing after {operator}")
        end = "".join(part for part, _ in word.parts)
        self.documents.append((command, end, operator == "<<-", word.plain() is not None))

    def _read_documents(self):
        for command, end, strip, expand in self.documents:
            lines = []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line, self.at = self.text[self.at : stop], stop + 1
                line = line.lstrip("\t") if strip else line
                if line == end:
                    break
                lines.append(line + "\n")
            else:
                raise ShellSyntaxError(f"here-document: no line {end}")
            command.redirections.append(("<<", Word([("".join(lines), '"' if expand else "'")])))
        self.documents = []
