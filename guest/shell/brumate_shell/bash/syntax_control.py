"""The grammar of control flow, and of `[[ ... ]]`."""

import re

from .nodes import Case, Conditional, CountedFor, For, Function, Group, If, Simple, While, Word
from .words import Reader, ShellSyntaxError

KEYWORDS = re.compile(
    r"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|function|select|coproc|time|[{}!]|\[\[)(?=[\s;|&()<>]|$)"
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FUNCTION_NAME = re.compile(r"[ \t]*([A-Za-z_][\w.:-]*)(?:[ \t]*\([ \t]*\))?")
_UNARY = re.compile(r"-[a-zA-Z]")
_BINARY = frozenset(("==", "=", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"))


class ControlReader(Reader):
    """Reads what begins with a keyword. Lists and simple commands are the subclass's."""

    def here(self):
        """What stands at this place, for messages."""
        found = re.compile(r"[A-Za-z_]\w*|;;&?|;&|&&|\|\||\S").match(self.text, self.at)
        return found.group() if found else "the end"

    def keyword(self):
        """The keyword that begins here, which is not taken."""
        found = KEYWORDS.match(self.text, self.at)
        return found.group() if found else None

    def expect(self, word, construct):
        self.skip_newlines()
        if word[0].isalpha() or word == "}":
            if re.compile(re.escape(word) + r"(?=[\s;|&()<>]|$)").match(self.text, self.at) is None:
                raise ShellSyntaxError(f"{construct}: {word} is missing before {self.here()}")
        elif not self.text.startswith(word, self.at):
            raise ShellSyntaxError(f"{construct}: {word} is missing before {self.here()}")
        self.at += len(word)

    def skip_newlines(self):
        while True:
            self.skip_blanks()
            if not self.text.startswith("\n", self.at):
                return
            self.at += 1
            self.read_documents()

    # Control flow.

    def if_(self, _):
        branches, otherwise = [], None
        condition = self.body("if")
        self.expect("then", "if")
        branches.append((condition, self.body("if")))
        while True:
            word = self.keyword()
            if word == "elif":
                self.at += 4
                condition = self.body("elif")
                self.expect("then", "elif")
                branches.append((condition, self.body("elif")))
            elif word == "else":
                self.at += 4
                otherwise = self.body("else")
            else:
                self.expect("fi", "if")
                return If(branches, otherwise, [])

    def loop_body(self, construct):
        self.skip_blanks()
        if self.text.startswith(";", self.at):
            self.at += 1
        self.expect("do", construct)
        found = self.body(construct)
        self.expect("done", construct)
        return found

    def for_(self, _):
        self.skip_blanks()
        if self.text.startswith("((", self.at):
            end = self.end_of_sum(self.at + 2)
            parts = self.text[self.at + 2 : end].split(";") if end is not None else ()
            if len(parts) != 3:
                raise ShellSyntaxError("for (( )) needs three expressions")
            self.at = end + 2
            words = [self.inner_word(part.strip()) for part in parts]
            return CountedFor(*words, self.loop_body("for"), [])
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise ShellSyntaxError(f"for: {self.here()} is no name")
        self.at = match.end()
        self.skip_newlines()
        words = None
        if re.compile(r"in(?=[\s;])").match(self.text, self.at):
            self.at += 2
            words = []
            while True:
                self.skip_blanks()
                if self.at >= len(self.text) or self.text[self.at] in "\n;":
                    break
                if self.text[self.at] in "|&()<>":
                    raise ShellSyntaxError(f"for: syntax error near {self.here()}")
                words.append(self.word())
        return For(match.group(), words, self.loop_body("for"), [])

    def while_(self, word):
        condition = self.body(word)
        return While(condition, word == "until", self.loop_body(word), [])

    def group(self, _):
        found = Group(self.body("{"), [])
        self.expect("}", "{")
        return found

    def function(self, _):
        match = _FUNCTION_NAME.match(self.text, self.at)
        if match is None:
            raise ShellSyntaxError(f"function: {self.here()} is no name")
        self.at = match.end()
        return self.function_body(match.group(1))

    def function_body(self, name):
        self.skip_newlines()
        found = self.command(f"{name}()")
        if isinstance(found, (Simple, Function)):
            raise ShellSyntaxError(f"{name}(): a body in {{ }} is missing")
        return Function(name, found, [])

    def case(self, _):
        self.skip_blanks()
        word = self.word()
        self.expect("in", "case")
        branches = []
        while True:
            self.skip_newlines()
            if self.keyword() == "esac":
                self.at += 4
                return Case(word, branches, [])
            if self.text.startswith("(", self.at):
                self.at += 1
            patterns = []
            while True:
                self.skip_blanks()
                pattern = self.word()
                if not pattern.parts:
                    raise ShellSyntaxError(f"case: a pattern is missing before {self.here()}")
                patterns.append(pattern)
                self.skip_blanks()
                if not self.text.startswith("|", self.at):
                    break
                self.at += 1
            self.expect(")", "case")
            body = self.sequence()
            end = next((sign for sign in (";;&", ";;", ";&") if self.text.startswith(sign, self.at)), None)
            if end is None:
                if self.keyword() != "esac":
                    raise ShellSyntaxError(f"case: ;; is missing before {self.here()}")
                end = ";;"
            else:
                self.at += len(end)
            branches.append((patterns, body, end))

    # [[ ... ]]

    def conditional(self, _):
        found = self.either()
        self.skip_newlines()
        if not self.text.startswith("]]", self.at):
            raise ShellSyntaxError(f"[[: syntax error near {self.here()}")
        self.at += 2
        return Conditional(found, [])

    def either(self):
        found = self.both()
        while True:
            self.skip_newlines()
            if not self.text.startswith("||", self.at):
                return found
            self.at += 2
            found = ("or", found, self.both())

    def both(self):
        found = self.single()
        while True:
            self.skip_newlines()
            if not self.text.startswith("&&", self.at):
                return found
            self.at += 2
            found = ("and", found, self.single())

    def single(self):
        self.skip_newlines()
        text = self.text
        if self.keyword() == "!":
            self.at += 1
            return ("not", self.single())
        if text.startswith("(", self.at):
            self.at += 1
            self.deeper()
            found = self.either()
            self.nesting -= 1
            self.expect(")", "[[")
            return found
        first = self.operand()
        self.skip_blanks()
        if _UNARY.fullmatch(first.plain() or "") and not text.startswith(("]]", "&&", "||", ")"), self.at):
            return ("unary", first.plain(), self.operand())
        if text.startswith(("]]", "&&", "||", ")", "\n"), self.at):
            return ("word", first)
        operator = text[self.at] if text[self.at] in "<>" else self.word().plain()
        if operator in ("<", ">"):
            self.at += 1
        if operator not in _BINARY:
            raise ShellSyntaxError(f"[[: the operator {operator or self.here()} is not supported")
        self.skip_blanks()
        if operator == "=~":
            return ("binary", operator, first, Word(self._parts("regex")))
        return ("binary", operator, first, self.operand())

    def operand(self):
        self.skip_blanks()
        if self.text.startswith("]]", self.at):
            raise ShellSyntaxError("[[: an operand is missing before ]]")
        found = self.word()
        if not found.parts:
            raise ShellSyntaxError(f"[[: syntax error near {self.here()}")
        return found
