"""The grammar of `awk`'s expressions."""

from brumate_shell.streams import Refused
from brumate_shell.token_cursor import TokenCursor

# Blocks and parentheses inside each other.
MAX_NESTING = 60
NO_COMMANDS = "starts no commands here: write the output on, as in awk '...' | sort"
_ASSIGNING = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "^="))
_COMPARING = frozenset(("<", "<=", "==", "!=", ">", ">="))
# Signs with which a value that is joined to the one before it can begin.
_BEGINNING = frozenset(("$", "(", "++", "--"))


class ExpressionParser(TokenCursor):
    """Reads expressions: a tree of tuples, each with its kind first."""

    def __init__(self, found):
        super().__init__(found)
        self.in_print = 0  # where `>` is a redirection
        self.parameters = ()

    def fail(self, problem=None):
        token = self.tokens[self.at]
        shown = "newline" if token.kind == "newline" else token.value
        raise Refused(f"line {token.line}: {problem or 'syntax error'} near {shown}", 1)

    def skip_newlines(self):
        while self.token.kind == "newline":
            self.at += 1

    def skip_ends(self):
        while self.token.kind == "newline" or self.sees(";"):
            self.at += 1

    def deeper(self):
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail("the program is nested too deeply")

    # Expressions, from the loosest to the tightest.

    def expression(self):
        self.deeper()
        found = self.ternary()
        operator = self.tokens[self.at].value if self.sees(*_ASSIGNING) else None
        if operator:
            if found[0] not in ("name", "local", "element", "field"):
                self.fail("what is on the left cannot be assigned to")
            self.at += 1
            self.skip_newlines()
            value = self.expression()
            found = ("assign", found, value) if operator == "=" else ("change", operator[:-1], found, value)
        self.nesting -= 1
        return found

    def ternary(self):
        condition = self.either()
        if not self.sees("?"):
            return condition
        self.at += 1
        self.skip_newlines()
        first = self.expression()
        self.skip_newlines()
        self.need(":")
        self.skip_newlines()
        return ("choose", condition, first, self.expression())

    def either(self):
        found = self.both()
        while self.take("||"):
            self.skip_newlines()
            found = ("or", found, self.both())
        return found

    def both(self):
        found = self.membership()
        while self.take("&&"):
            self.skip_newlines()
            found = ("and", found, self.membership())
        return found

    def membership(self):
        found = self.matching()
        while self.sees("in"):
            self.at += 1
            if self.token.kind != "name":
                self.fail("an array's name is missing")
            found = ("in", [found], self.variable(self.token.value))
            self.at += 1
        return found

    def matching(self):
        found = self.comparison()
        while operator := self.take("~", "!~"):
            found = ("match", found, self.comparison())
            if operator == "!~":
                found = ("not", found)
        return found

    def comparison(self):
        found = self.concatenation()
        if self.sees(*_COMPARING) and not (self.in_print and self.sees(">")):
            operator = self.token.value
            self.at += 1
            return ("compare", operator, found, self.concatenation())
        if self.sees("|", "|&"):
            if self.in_print and not (self.tokens[self.at + 1].value == "getline"):
                return found
            raise Refused(f'line {self.token.line}: "command" | getline: awk {NO_COMMANDS}', 2)
        return found

    def concatenation(self):
        found = self.additive()
        while self._begins_value():
            found = ("join", found, self.additive())
        return found

    def _begins_value(self):
        token = self.token
        if token.kind in ("number", "string", "name", "call", "builtin", "regex"):
            return True
        return token.kind == "sign" and token.value in _BEGINNING

    def additive(self):
        found = self.multiplicative()
        while operator := self.take("+", "-"):
            found = ("sum", operator, found, self.multiplicative())
        return found

    def multiplicative(self):
        found = self.unary()
        while operator := self.take("*", "/", "%"):
            found = ("sum", operator, found, self.unary())
        return found

    def unary(self):
        operator = self.take("!", "-", "+")
        if not operator:
            return self.power()
        self.deeper()
        inner = self.unary()
        self.nesting -= 1
        return ("not", inner) if operator == "!" else ("sign", operator, inner)

    def power(self):
        base = self.postfix()
        if self.take("^"):
            # -2^-3: the exponent may have a sign.
            operator = self.take("-", "+", "!")
            exponent = self.power()
            if operator:
                exponent = ("not", exponent) if operator == "!" else ("sign", operator, exponent)
            return ("sum", "^", base, exponent)
        return base

    def postfix(self):
        found = self.primary()
        if found[0] in ("name", "local", "element", "field") and self.sees("++", "--"):
            operator = self.token.value
            self.at += 1
            return ("after", operator, found)
        return found

    def variable(self, name):
        if name in self.parameters:
            return ("local", self.parameters.index(name), name)
        return ("name", name)

    def subscripts(self):
        self.need("[")
        inner, self.in_print = self.in_print, 0
        found = self.list("]")
        self.in_print = inner
        self.need("]")
        return found

    def primary(self):
        token = self.token
        kind, value = token.kind, token.value
        self.at += 1
        if kind in ("number", "string", "regex"):
            return (kind, value)
        if kind == "name":
            name = self.variable(value)
            return ("element", name, self.subscripts()) if self.sees("[") else name
        if kind == "call":
            self.at += 1
            return ("call", value, self.in_parentheses())
        if kind == "builtin":
            return self.builtin(value)
        if value == "getline" and kind == "keyword":
            return self.getline()
        if kind == "sign":
            if value == "$":
                self.deeper()
                if self.sees("++", "--"):
                    operator = self.take("++", "--")
                    inner = ("before", operator, self.primary())
                else:
                    inner = ("sign", self.take("-", "+"), self.primary()) if self.sees("-", "+") else self.primary()
                self.nesting -= 1
                return ("field", inner)
            if value in ("++", "--"):
                target = self.primary()
                if target[0] not in ("name", "local", "element", "field"):
                    self.fail(f"{value} needs a variable")
                return ("before", value, target)
            if value in ("-", "+", "!"):
                inner = self.unary()
                return ("not", inner) if value == "!" else ("sign", value, inner)
            if value == "(":
                return self.grouped()
        self.at -= 1
        return self.fail()

    def in_parentheses(self):
        inner, self.in_print = self.in_print, 0
        found = self.list(")")
        self.in_print = inner
        self.need(")")
        return found

    def grouped(self):
        found = self.in_parentheses()
        if len(found) > 1:
            if not self.sees("in"):
                self.fail()
            self.at += 1
            if self.token.kind != "name":
                self.fail("an array's name is missing")
            name = self.variable(self.token.value)
            self.at += 1
            return ("in", found, name)
        if not found:
            self.fail()
        return ("group", found[0])

    def builtin(self, name):
        if name == "system":
            raise Refused(f"line {self.token.line}: system(): awk {NO_COMMANDS}", 2)
        if not self.sees("("):
            if name != "length":
                self.fail("( is missing")
            return ("builtin", "length", [])
        self.at += 1
        return ("builtin", name, self.in_parentheses())

    def getline(self):
        target = None
        if self.token.kind == "name" or self.sees("$"):
            target = self.primary()
        source = None
        if self.take("<"):
            source = self.primary()
        return ("getline", target, source)
