"""The grammar of `jq`: from words to a tree of tuples, each with its kind first."""

from brumate_shell.streams import Refused

from .constructs import ConstructParser
from .lexer import tokens

_COMPARING = frozenset(("==", "!=", "<", "<=", ">", ">="))
_ASSIGNING = frozenset(("=", "|=", "+=", "-=", "*=", "/=", "%=", "//="))


def parse(text):
    """The tree of a program."""
    found = _Parser(tokens(text))
    if found.token.kind == "end":
        return ("self",)
    tree = found.pipe()
    if found.token.kind != "end":
        found.fail()
    return tree


def parse_functions(text):
    """`def`s as `{name/arity: (parameters, body)}`."""
    found, functions = _Parser(tokens(text)), {}
    while found.token.kind != "end":
        _, name, parameters, body = found.definition()
        functions[f"{name}/{len(parameters)}"] = (parameters, body)
    return functions


class _Parser(ConstructParser):
    # From the loosest to the tightest.

    def pipe(self):
        self.deeper()
        try:
            if self.sees("def"):
                definition = self.definition()
                return ("where", definition[1], definition[2], definition[3], self.pipe())
            if self.sees("label"):
                self.at += 1
                name = self.variable()
                self.need("|")
                return ("label", name, self.pipe())
            first = self.comma()
            if self.sees("as"):
                return self.binding(first)
            return ("pipe", first, self.pipe()) if self.take("|") else first
        finally:
            self.nesting -= 1

    def binding(self, source):
        self.need("as")
        patterns = [self.pattern()]
        while self.take("?//"):
            patterns.append(self.pattern())
        self.need("|")
        return ("bind", source, patterns, self.pipe())

    def comma(self):
        found = self.alternative()
        while self.take(","):
            found = ("comma", found, self.alternative())
        return found

    def alternative(self):
        found = self.assignment()
        if self.take("//"):
            return ("either", found, self.alternative())
        return found

    def assignment(self):
        found = self.or_()
        if self.token.kind == "sign" and self.token.value in _ASSIGNING:
            operator = self.token.value
            self.at += 1
            return ("assign", operator, found, self.alternative())
        return found

    def or_(self):
        found = self.and_()
        while self.take("or"):
            found = ("or", found, self.and_())
        return found

    def and_(self):
        found = self.comparison()
        while self.take("and"):
            found = ("and", found, self.comparison())
        return found

    def comparison(self):
        found = self.sum()
        if self.token.kind == "sign" and self.token.value in _COMPARING:
            operator = self.token.value
            self.at += 1
            return ("compare", operator, found, self.sum())
        return found

    def sum(self):
        found = self.product()
        while operator := self.take("+", "-"):
            found = ("calculate", operator, found, self.product())
        return found

    def product(self):
        found = self.signed()
        while operator := self.take("*", "/", "%"):
            found = ("calculate", operator, found, self.signed())
        return found

    def signed(self):
        if self.take("-"):
            return ("negative", self.signed())
        found = self.postfix()
        if self.sees("as"):
            return self.binding(found)
        return found

    # Terms.

    def postfix(self):
        self.deeper()
        found = self.term()
        while True:
            token = self.token
            if token.kind == "field":
                self.at += 1
                found = ("index", found, ("literal", token.value[1:]))
            elif self.sees("?"):
                self.at += 1
                found = ("try", found, None)
            elif self.sees("["):
                found = self.index(found)
            elif self.sees(".") and (
                self.tokens[self.at + 1].kind == "string" or self.tokens[self.at + 1].value == "["
            ):
                self.at += 1
                found = ("index", found, self.string(None)) if self.token.kind == "string" else self.index(found)
            else:
                self.nesting -= 1
                return found

    def index(self, found):
        self.need("[")
        if self.take("]"):
            return ("each", found)
        if self.take(":"):
            end = self.pipe()
            self.need("]")
            return ("slice", found, None, end)
        start = self.pipe()
        if self.take(":"):
            end = None if self.sees("]") else self.pipe()
            self.need("]")
            return ("slice", found, start, end)
        self.need("]")
        return ("index", found, start)

    def term(self):
        token = self.token
        kind, value = token.kind, token.value
        self.at += 1
        if kind == "number":
            return ("literal", _number(value))
        if kind == "string":
            self.at -= 1
            return self.string(None)
        if kind == "format":
            if self.token.kind == "string":
                return self.string(value)
            return ("format", value)
        if kind == "field":
            return ("index", ("self",), ("literal", value[1:]))
        if kind == "variable":
            if value == "$__loc__":
                return ("literal", {"file": "<top-level>", "line": 1})
            return ("variable", value[1:])
        if kind == "name":
            return self.call(value)
        if kind == "sign":
            if value == ".":
                if self.token.kind == "string":
                    return ("index", ("self",), self.string(None))
                return ("self",)
            if value == "..":
                return ("call", "recurse", [])
            if value == "(":
                inner = self.pipe()
                self.need(")")
                return inner
            if value == "[":
                if self.take("]"):
                    return ("array", None)
                inner = self.pipe()
                self.need("]")
                return ("array", inner)
            if value == "{":
                return self.object()
            if value == "-":
                return ("negative", self.postfix())
        if kind == "keyword":
            method = {"if": self.if_, "try": self.try_, "reduce": self.reduce, "foreach": self.foreach}.get(value)
            if method is not None:
                return method()
            if value == "def":
                self.at -= 1
                return self.pipe()
            if value in ("import", "include"):
                raise Refused(f"{value} is not supported: there are no modules of jq here", 3)
        self.at -= 1
        return self.fail()

    def call(self, name):
        if name in ("true", "false", "null"):
            return ("literal", {"true": True, "false": False, "null": None}[name])
        if name == "break" and self.token.kind == "variable":
            return ("break", self.variable())
        arguments = []
        if self.take("("):
            arguments.append(self.pipe())
            while self.take(";"):
                arguments.append(self.pipe())
            self.need(")")
        return ("call", name, arguments)

    def variable(self):
        if self.token.kind != "variable":
            self.fail("a variable is missing")
        self.at += 1
        return self.tokens[self.at - 1].value[1:]

    def string(self, form):
        """A string, with what is to be put in formatted."""
        parts = self.token.value
        self.at += 1
        if len(parts) == 1:
            return ("literal", parts[0])
        found = []
        for part in parts:
            if type(part) is str:
                found.append(part)
                continue
            inner = type(self)(part, self.nesting + 1)
            found.append(inner.pipe())
            if inner.token.kind != "end":
                inner.fail()
        return ("text", form, found)


def _number(text):
    value = float(text)
    return int(text) if text.isdigit() else value
