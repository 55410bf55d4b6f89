"""The grammar of shell lines: from a script to its tree.

What is left out is refused by name: background jobs, process substitution, `select`, `coproc`.
"""

import re

from .nodes import AndOr, Assignment, Calculation, Pipeline, Redirection, Sequence, Simple, Subshell, Text, Word
from .syntax_control import ControlReader
from .words import MAX_SCRIPT_CHARS, ShellSyntaxError

__all__ = ["MAX_SCRIPT_CHARS", "ShellSyntaxError", "parse"]

# Words that end a list of commands.
_CLOSING = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))
_FUNCTION = re.compile(r"([A-Za-z_][\w.:-]*)[ \t]*\([ \t]*\)")
_REDIRECTION = re.compile(r"(\d*)(&>>|&>|<<<|<<-|<<|>>|>\||>&|<&|<>|>|<)")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?=)", re.ASCII)
_ELEMENT = re.compile(r"([A-Za-z_]\w*)\[", re.ASCII)
_DESCRIPTORS = re.compile(r"[\d-]+")
_DECLARING = frozenset(("declare", "typeset", "local", "export", "readonly"))


def parse(script):
    """The script as a [`Sequence`]."""
    parser = _Parser(script.replace("\r\n", "\n"))
    found = parser.sequence()
    if parser.at < len(parser.text):
        raise ShellSyntaxError(f"syntax error near {parser.here()}")
    if parser.documents:
        parser.read_documents()
    return found


class _Parser(ControlReader):
    # Lists.

    def commands_until_parenthesis(self):
        found = self.sequence()
        if not self.text.startswith(")", self.at):
            at_end = self.at >= len(self.text)
            raise ShellSyntaxError("$( is not closed" if at_end else f"syntax error near {self.here()}")
        self.at += 1
        return found

    def sequence(self):
        """Commands up to a word or a sign that closes a construct, which is not taken."""
        entries = []
        while True:
            self.skip_newlines()
            text, at = self.text, self.at
            if at >= len(text) or text[at] == ")" or text.startswith(";;", at) or text.startswith(";&", at):
                break
            if self.keyword() in _CLOSING:
                break
            entries.append(self.and_or())
            self.skip_blanks()
            if text.startswith("&", self.at):
                raise ShellSyntaxError(
                    "background jobs (&) are not supported: there are no processes; leave & out, commands run in turn"
                )
            if text.startswith(";", self.at) and text[self.at + 1 : self.at + 2] not in (";", "&"):
                self.at += 1
            elif self.at < len(text) and text[self.at] not in "\n);" and self.keyword() not in _CLOSING:
                raise ShellSyntaxError(f"syntax error near {self.here()}")
        return Sequence(entries)

    def body(self, construct):
        found = self.sequence()
        if not found.entries:
            raise ShellSyntaxError(f"{construct}: a command is missing before {self.here()}")
        return found

    def and_or(self):
        first, rest = self.pipeline(""), []
        while True:
            self.skip_blanks()
            operator = self.text[self.at : self.at + 2]
            if operator not in ("&&", "||"):
                break
            self.at += 2
            self.skip_newlines()
            rest.append((operator, self.pipeline(operator)))
        return AndOr(first, rest) if rest else first

    def pipeline(self, before):
        negated = timed = False
        while True:
            self.skip_blanks()
            word = self.keyword()
            if word == "!":
                negated = not negated
            elif word == "time":
                timed = True
            else:
                break
            self.at += len(word)
            if timed and self.text.startswith(" -p", self.at):
                self.at += 3
        commands = [self.command(before)]
        while True:
            self.skip_blanks()
            if not self.text.startswith("|", self.at) or self.text.startswith("||", self.at):
                break
            if self.text.startswith("|&", self.at):
                self.at += 1
                commands[-1].redirections.append(Redirection(2, ">&", Word([Text("1", False)])))
            self.at += 1
            self.skip_newlines()
            commands.append(self.command("|"))
        return Pipeline(commands, negated, timed)

    # Commands.

    def command(self, before):
        self.deeper()
        text, word = self.text, self.keyword()
        compound = {
            "if": self.if_, "for": self.for_, "while": self.while_, "until": self.while_, "case": self.case,
            "{": self.group, "[[": self.conditional, "function": self.function,
        }.get(word)  # fmt: skip
        if compound:
            self.at += len(word)
            found = compound(word)
        elif word in ("select", "coproc"):
            raise ShellSyntaxError(f"{word} is not supported: nobody types here, and there are no processes")
        elif word in _CLOSING:
            raise ShellSyntaxError(f"syntax error near {word}")
        elif text.startswith("((", self.at) and (end := self.end_of_sum(self.at + 2)) is not None:
            found = Calculation(self.inner_word(text[self.at + 2 : end]), [])
            self.at = end + 2
        elif text.startswith("(", self.at):
            self.at += 1
            found = Subshell(self.body("("), [])
            self.expect(")", "(")
        elif match := _FUNCTION.match(text, self.at):
            self.at = match.end()
            found = self.function_body(match.group(1))
        else:
            found = self.simple(before)
        if not isinstance(found, Simple):
            self.skip_blanks()
            while self.redirection(found.redirections):
                self.skip_blanks()
        self.nesting -= 1
        return found

    def simple(self, before):
        found, text = Simple([], [], []), self.text
        while True:
            self.skip_blanks()
            if self.at >= len(text) or self.redirection(found.redirections):
                if self.at >= len(text):
                    break
                continue
            if text[self.at] in "\n|&;()":
                if text[self.at] == "(" and found.words:
                    raise ShellSyntaxError(f"syntax error near ( after {found.words[-1].literal() or 'a word'}")
                break
            declares = found.words and found.words[0].plain() in _DECLARING
            if not found.words or declares:
                assignment = self.assignment(declares)
                if assignment is not None:
                    (found.words if declares else found.assignments).append(assignment)
                    continue
            found.words.append(self.word())
        if not found.words and not found.assignments and not found.redirections:
            if before:
                raise ShellSyntaxError(f"a command is missing after {before}")
            near = self.text[self.at : self.at + 2]
            if near[:1] == "|" or near == "&&":
                raise ShellSyntaxError(f"a command is missing before {near if near in ('||', '&&') else '|'}")
            raise ShellSyntaxError(f"syntax error near {self.here()}")
        return found

    def assignment(self, declares=False):
        """The assignment that begins here, or None. Behind `declare` and the like only one of an array is."""
        text, start = self.text, self.at
        match, index = _ASSIGNED.match(text, start), None
        if match:
            name, operator = match.groups()
            self.at = match.end()
        else:
            match = _ELEMENT.match(text, start)
            if match is None:
                return None
            name = match.group(1)
            self.at = match.end() - 1
            try:
                index = self._index()
            except ShellSyntaxError:
                index = None
            operator = "+=" if text.startswith("+=", self.at) else "=" if text.startswith("=", self.at) else ""
            if index is None or isinstance(index, str) or not operator:
                self.at = start
                return None
            self.at += len(operator)
        if text.startswith("(", self.at):
            self.at += 1
            return Assignment(name, index, operator == "+=", self.array())
        if declares:
            self.at = start
            return None
        return Assignment(name, index, operator == "+=", self.word())

    def array(self):
        """Elements up to the closing parenthesis, as `(index or None, word)`."""
        elements = []
        while True:
            self.skip_newlines()
            if self.at >= len(self.text):
                raise ShellSyntaxError("=( is not closed")
            if self.text[self.at] == ")":
                self.at += 1
                return elements
            index = None
            if self.text[self.at] == "[":
                start = self.at
                index = self._index()
                if self.text.startswith("=", self.at) and not isinstance(index, str):
                    self.at += 1
                else:
                    self.at, index = start, None
            if self.text[self.at] in "|&;<>(":
                raise ShellSyntaxError(f"syntax error near {self.here()} in =( )")
            elements.append((index, self.word()))

    def redirection(self, found):
        """Takes the redirection that begins here, if one does."""
        match = _REDIRECTION.match(self.text, self.at)
        if match is None:
            return False
        digits, operator = match.groups()
        if self.text.startswith("(", match.end()) and operator in ("<", ">"):
            self.refuse_process_substitution(operator)
        fd = int(digits) if digits else None
        if operator == "<>" or (fd is not None and fd > 2):
            raise ShellSyntaxError(f"the redirection {match.group()} is not supported: there are 0, 1 and 2")
        self.at = match.end()
        self.skip_blanks()
        if self.text.startswith((">(", "<("), self.at):
            self.refuse_process_substitution(self.text[self.at])
        target = self.word()
        if not target.parts:
            raise ShellSyntaxError(f"a file name is missing after {operator}")
        if operator in ("<<", "<<-"):
            redirection = Redirection(fd, "<<", None)
            end = "".join([part.text for part in target.parts if type(part) is Text])
            self.documents.append((redirection, end, operator == "<<-", target.plain() is not None))
        else:
            redirection = Redirection(fd, operator, target)
            if operator in (">&", "<&") and not _DESCRIPTORS.fullmatch(target.plain() or ""):
                if operator == "<&" or fd is not None:
                    raise ShellSyntaxError(f"{operator} needs 0, 1 or 2")
                redirection.operator = "&>"
        found.append(redirection)
        return True

    def refuse_process_substitution(self, operator):
        raise ShellSyntaxError(
            f"process substitution {operator}(...) is not supported: write to a file first, and name that"
        )

    def read_documents(self):
        """Takes the texts of here-documents, which begin here."""
        documents, self.documents = self.documents, []
        for redirection, end, strip, expand in documents:
            lines = []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line, self.at = self.text[self.at : stop], min(stop + 1, len(self.text))
                line = line.lstrip("\t") if strip else line
                if line == end:
                    break
                lines.append(line + "\n")
            else:
                raise ShellSyntaxError(f"here-document: no line {end}")
            text = "".join(lines)
            if expand:
                reader = _Parser(text, self.nesting)
                redirection.target = Word(reader._parts("document"))
            else:
                redirection.target = Word([Text(text, True)])
