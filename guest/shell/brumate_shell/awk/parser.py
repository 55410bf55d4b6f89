"""The grammar of `awk`: rules, functions and statements."""

from brumate_shell.streams import Refused

from .grammar import NO_COMMANDS, ExpressionParser
from .lexer import tokens


class Program:
    """Rules as `(pattern, body)`; functions by name as `(parameters, body)`."""

    def __init__(self):
        self.begin = []
        self.end = []
        self.rules = []
        self.functions = {}


def parse(text):
    return _Parser(tokens(text)).program()


class _Parser(ExpressionParser):
    # Rules.

    def program(self):
        found = Program()
        self.skip_ends()
        while self.token.kind != "end":
            if self.take("function", "func"):
                self.function(found)
            elif self.take("BEGIN"):
                self.skip_newlines()
                found.begin.append(self.block())
            elif self.take("END"):
                self.skip_newlines()
                found.end.append(self.block())
            else:
                pattern = None
                if not self.sees("{"):
                    pattern = ("one", self.expression())
                    if self.take(","):
                        self.skip_newlines()
                        pattern = ("range", pattern[1], self.expression())
                body = self.block() if self.sees("{") else None
                found.rules.append((pattern, body))
            if (
                self.token.kind not in ("newline", "end")
                and not self.sees(";", "}")
                and self.tokens[self.at - 1].value != "}"
            ):
                self.fail()
            self.skip_ends()
        return found

    def function(self, found):
        if self.token.kind not in ("name", "call"):
            self.fail("a function's name is missing")
        name = self.token.value
        self.at += 1
        self.need("(")
        parameters = []
        while not self.take(")"):
            self.skip_newlines()
            if self.token.kind != "name":
                self.fail("a parameter's name is missing")
            parameters.append(self.token.value)
            self.at += 1
            if not self.sees(")"):
                self.need(",")
                self.skip_newlines()
        self.skip_newlines()
        self.parameters = tuple(parameters)
        if name in found.functions:
            self.fail(f"the function {name} is there twice")
        found.functions[name] = None
        found.functions[name] = (parameters, self.block())
        self.parameters = ()

    # Statements.

    def block(self):
        self.need("{")
        self.deeper()
        statements = []
        while True:
            self.skip_ends()
            if self.take("}"):
                self.nesting -= 1
                return ("block", statements)
            if self.token.kind == "end":
                self.fail("} is missing")
            statements.append(self.statement())

    def end_of_statement(self):
        if self.token.kind == "newline" or self.sees(";"):
            self.at += 1
        elif not self.sees("}") and self.token.kind != "end":
            self.fail()

    def body(self):
        """The statement of a loop or condition."""
        if self.take(";"):
            return ("block", [])
        self.skip_newlines()
        return self.statement()

    def statement(self):
        self.deeper()
        try:
            return self._statement()
        finally:
            self.nesting -= 1

    def _statement(self):
        if self.sees("{"):
            return self.block()
        word = self.token.value if self.token.kind == "keyword" else None
        if word == "if":
            return self.if_()
        if word == "while":
            self.at += 1
            self.need("(")
            condition = self.expression()
            self.need(")")
            return ("while", condition, self.body())
        if word == "do":
            self.at += 1
            body = self.body()
            self.skip_ends()
            self.need("while")
            self.need("(")
            condition = self.expression()
            self.need(")")
            self.end_of_statement()
            return ("do", body, condition)
        if word == "for":
            return self.for_()
        found = self.simple(word)
        self.end_of_statement()
        return found

    def if_(self):
        self.at += 1
        self.need("(")
        condition = self.expression()
        self.need(")")
        body, start = self.body(), self.at
        self.skip_ends()
        if self.take("else"):
            return ("if", condition, body, self.body())
        self.at = start
        return ("if", condition, body, None)

    def for_(self):
        self.at += 1
        self.need("(")
        names = self.tokens[self.at : self.at + 4]
        if names[0].kind == "name" and names[1].value == "in" and names[2].kind == "name" and names[3].value == ")":
            self.at += 4
            return ("each", self.variable(names[0].value), self.variable(names[2].value), self.body())
        first = None if self.sees(";") else self.simple(None)
        self.need(";")
        self.skip_newlines()
        condition = None if self.sees(";") else self.expression()
        self.need(";")
        self.skip_newlines()
        following = None if self.sees(")") else self.simple(None)
        self.need(")")
        return ("for", first, condition, following, self.body())

    def simple(self, word):
        if word in ("break", "continue", "next", "nextfile"):
            self.at += 1
            return (word,)
        if word in ("exit", "return"):
            self.at += 1
            at_end = self.token.kind in ("newline", "end") or self.sees(";", "}")
            return (word, None if at_end else self.expression())
        if word == "delete":
            self.at += 1
            if self.token.kind != "name":
                self.fail("an array's name is missing")
            name = self.variable(self.token.value)
            self.at += 1
            return ("delete", name, self.subscripts() if self.sees("[") else None)
        if word in ("print", "printf"):
            return self.print(word)
        return ("value", self.expression())

    def print(self, word):
        self.at += 1
        values = None
        start = self.at
        if self.sees("("):
            # `print (a, b) > "file"`, and not `print (a)(b)`.
            self.at += 1
            inner, self.in_print = self.in_print, 0
            values = self.list(")")
            self.in_print = inner
            if not self.take(")") or not (self.token.kind in ("newline", "end") or self.sees(";", "}", ">", ">>", "|")):
                values, self.at = None, start
        if values is None:
            self.in_print += 1
            at_end = self.token.kind in ("newline", "end") or self.sees(";", "}", ">", ">>", "|")
            values = [] if at_end else self.list("")
            self.in_print -= 1
        target = None
        operator = self.take(">", ">>", "|")
        if operator == "|":
            raise Refused(f'line {self.token.line}: {word} | "command": awk {NO_COMMANDS}', 2)
        if operator:
            self.in_print += 1
            target = (operator, self.concatenation())
            self.in_print -= 1
        if word == "printf" and not values:
            self.fail("a format is missing")
        return (word, values, target)

    def list(self, end):
        found = []
        if end and self.sees(end):
            return found
        while True:
            self.skip_newlines()
            found.append(self.expression())
            if end:
                self.skip_newlines()
            if not self.take(","):
                return found
