"""The grammar of `jq`'s constructs: objects, `if`, `try`, `reduce`, `foreach`, `def`, and patterns."""

from brumate_shell.streams import Refused
from brumate_shell.token_cursor import TokenCursor

from .lexer import MAX_NESTING


class ConstructParser(TokenCursor):
    """Reads constructs, whose first word is taken. Pipes and terms are the subclass's."""

    def fail(self, problem=None):
        token = self.token
        shown = "a string" if token.kind == "string" else token.value
        raise Refused(f"syntax error: {problem or 'unexpected'} {'before ' if problem else ''}{shown}", 3)

    def deeper(self):
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise Refused("the program is nested too deeply", 3)

    def object(self):
        pairs = []
        while not self.take("}"):
            pairs.append(self.pair())
            if not self.sees("}"):
                self.need(",")
        return ("object", pairs)

    def pair(self):
        token = self.token
        self.at += 1
        if token.kind == "variable":
            return ("literal", token.value[1:]), ("variable", token.value[1:])
        if token.kind in ("name", "keyword"):
            key, short = ("literal", token.value), ("index", ("self",), ("literal", token.value))
        elif token.kind == "string":
            self.at -= 1
            key = self.string(None)
            short = ("index", ("self",), key)
        elif token.kind == "format":
            key = self.string(token.value) if self.token.kind == "string" else ("format", token.value)
            short = ("index", ("self",), key)
        elif token.kind == "number":
            key = short = ("literal", token.value)
        elif token.kind == "sign" and token.value == "(":
            key, short = self.pipe(), None
            self.need(")")
        else:
            self.at -= 1
            self.fail("a key is missing")
        if not self.take(":"):
            if short is None:
                self.fail(": is missing")
            return key, short
        return key, self.value_of_pair()

    def value_of_pair(self):
        found = self.alternative()
        if self.take("|"):
            return ("pipe", found, self.value_of_pair())
        return found

    def if_(self):
        condition = self.pipe()
        self.need("then")
        body = self.pipe()
        if self.take("elif"):
            return ("if", condition, body, self.if_())
        otherwise = self.pipe() if self.take("else") else ("self",)
        self.need("end")
        return ("if", condition, body, otherwise)

    def try_(self):
        body = self.body_of_try()
        return ("try", body, self.body_of_try() if self.take("catch") else None)

    def body_of_try(self):
        if self.take("-"):
            return ("negative", self.postfix())
        return self.postfix()

    def reduce(self):
        loop = self.loop()
        self.need(")")
        return ("reduce", *loop)

    def loop(self):
        """What `reduce` and `foreach` have in common: source, pattern, first state, and step."""
        source = self.postfix()
        self.need("as")
        pattern = self.pattern()
        self.need("(")
        first = self.pipe()
        self.need(";")
        return source, pattern, first, self.pipe()

    def foreach(self):
        loop = self.loop()
        out = self.pipe() if self.take(";") else ("self",)
        self.need(")")
        return ("foreach", *loop, out)

    def definition(self):
        self.need("def")
        token = self.token
        if token.kind not in ("name", "keyword"):
            self.fail("a function's name is missing")
        self.at += 1
        parameters = []
        if self.take("("):
            while True:
                if self.token.kind not in ("name", "variable", "keyword"):
                    self.fail("a parameter is missing")
                parameters.append(self.token.value)
                self.at += 1
                if not self.take(";"):
                    break
            self.need(")")
        self.need(":")
        body = self.pipe()
        self.need(";")
        return ("def", token.value, parameters, body)

    def pattern(self):
        """What is behind `as`: a variable, or the form of an array or object."""
        if self.token.kind == "variable":
            return ("name", self.variable())
        if self.take("["):
            parts = []
            while not self.take("]"):
                parts.append(self.pattern())
                if not self.sees("]"):
                    self.need(",")
            return ("list", parts)
        self.need("{")
        parts = []
        while not self.take("}"):
            token, name = self.token, None
            if token.kind == "variable":
                name = self.variable()
                key = ("literal", name)
            else:
                self.at += 1
                if token.kind in ("name", "keyword"):
                    key = ("literal", token.value)
                elif token.kind == "string":
                    self.at -= 1
                    key = self.string(None)
                elif token.kind == "sign" and token.value == "(":
                    key = self.pipe()
                    self.need(")")
                else:
                    self.at -= 1
                    self.fail("a key is missing")
            inner = self.pattern() if self.take(":") else None
            if inner is None and name is None:
                self.fail(": is missing")
            parts.append((key, name, inner))
            if not self.sees("}"):
                self.need(",")
        return ("fields", parts)
