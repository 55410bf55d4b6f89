"""What the parsers of `awk` and `jq` share: a place in a list of tokens."""


class TokenCursor:
    """Reads tokens one by one. Subclasses have `fail(problem)`, which raises an error about the present one."""

    def __init__(self, found, nesting=0):
        self.tokens = found
        self.at = 0
        self.nesting = nesting

    @property
    def token(self):
        return self.tokens[self.at]

    def sees(self, *values):
        token = self.tokens[self.at]
        return token.kind in ("sign", "keyword") and token.value in values

    def take(self, *values):
        if self.sees(*values):
            self.at += 1
            return self.tokens[self.at - 1].value
        return None

    def need(self, value):
        if not self.take(value):
            self.fail(f"{value} is missing")
