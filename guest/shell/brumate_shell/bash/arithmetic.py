"""`$((...))`: whole numbers of 64 bits, with C's operators."""

import re

from brumate_shell.streams import Refused

# Variables that stand for expressions with variables, and parentheses.
MAX_DEPTH = 50
# Bits of a shift or power beyond which nothing is left.
_BITS = 64

_TOKEN = re.compile(
    r"\s*(?:(\d+#[0-9a-zA-Z@_]+|0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*)|"
    r"(<<=|>>=|\*\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^<>=!~?:,()\[\]]))",
    re.ASCII,
)
_LEVELS = [
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
]  # fmt: skip
_ASSIGNING = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))


def calculate(text, state, depth=0):
    """The value of an expression; assignments in it are made."""
    if depth > MAX_DEPTH:
        raise Refused(f"{text}: expressions are nested too deeply")
    text = text.strip()
    if text.isdigit() and (text[0] != "0" or len(text) == 1):
        return _wrap(int(text))
    if not text:
        return 0
    return _Calculation(text, state, depth).value()


def _wrap(number):
    """A number in 64 bits."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


class _Calculation:
    def __init__(self, text, state, depth):
        self.text = text
        self.state = state
        self.depth = depth
        self.skipped = 0  # inside what is not to be calculated, as after `0 &&`
        self.tokens = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                self.fail(f"syntax error near {text[at:].strip()}")
            self.tokens.append((found.lastindex, found.group(found.lastindex), found.start(found.lastindex)))
            at = found.end()
        self.at = 0

    def fail(self, problem):
        raise Refused(f"{self.text}: {problem}")

    def value(self):
        found = self.comma()
        if self.at < len(self.tokens):
            self.fail(f"syntax error near {self.text[self.tokens[self.at][2] :]}")
        return found

    def peek(self):
        return self.tokens[self.at][1] if self.at < len(self.tokens) else None

    def take(self, *signs):
        if self.at < len(self.tokens) and self.tokens[self.at][0] == 3 and self.tokens[self.at][1] in signs:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def comma(self):
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("expressions are nested too deeply")
        found = self.assigned()
        while self.take(","):
            found = self.assigned()
        self.depth -= 1
        return found

    def assigned(self):
        start = self.at
        place = self.place()
        if place is not None:
            operator = self.take(*_ASSIGNING)
            if operator:
                value = self.assigned()
                if operator != "=":
                    value = self.apply(operator[:-1], self.read(place), value)
                return self.write(place, value)
        self.at = start
        return self.chosen()

    def chosen(self):
        condition = self.level(0)
        if not self.take("?"):
            return condition
        self.skipped += not condition
        first = self.comma()
        self.skipped -= not condition
        if not self.take(":"):
            self.fail("`:' is missing")
        self.skipped += bool(condition)
        second = self.chosen()
        self.skipped -= bool(condition)
        return first if condition else second

    def level(self, number):
        if number == len(_LEVELS):
            return self.power()
        found = self.level(number + 1)
        while operator := self.take(*_LEVELS[number]):
            skips = (operator == "&&" and not found) or (operator == "||" and bool(found))
            self.skipped += skips
            found = self.apply(operator, found, self.level(number + 1))
            self.skipped -= skips
        return found

    def power(self):
        base = self.signed()
        if self.take("**"):
            exponent = self.power()
            if exponent < 0:
                self.fail("exponent less than 0")
            return 0 if self.skipped else _wrap(pow(base, exponent, 1 << _BITS))
        return base

    def signed(self):
        sign = self.take("-", "+", "!", "~", "++", "--")
        if sign in ("++", "--"):
            place = self.place()
            if place is None:
                return self.signed()
            return self.write(place, self.read(place) + (1 if sign == "++" else -1))
        if sign:
            value = self.signed()
            return _wrap(-value) if sign == "-" else value if sign == "+" else ~value if sign == "~" else int(not value)
        return self.single()

    def single(self):
        if self.take("("):
            found = self.comma()
            if not self.take(")"):
                self.fail("`)' is missing")
            return found
        place = self.place()
        if place is not None:
            value = self.read(place)
            sign = self.take("++", "--")
            if sign:
                self.write(place, value + (1 if sign == "++" else -1))
            return value
        if self.at >= len(self.tokens):
            self.fail("syntax error: operand expected")
        kind, text, at = self.tokens[self.at]
        if kind != 1:
            self.fail(f"syntax error: operand expected near {self.text[at:]}")
        self.at += 1
        return self.number(text)

    def number(self, text):
        try:
            if "#" in text:
                base, _, digits = text.partition("#")
                return _wrap(int(digits, int(base)))
            if text[:2] in ("0x", "0X"):
                return _wrap(int(text, 16))
            return _wrap(int(text, 8 if text[0] == "0" else 10))
        except ValueError:
            self.fail("value too great for base")

    def apply(self, operator, a, b):
        if self.skipped:
            return 0
        if operator in ("/", "%"):
            if not b:
                self.fail("division by 0")
            whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return _wrap(whole if operator == "/" else a - b * whole)
        return _wrap(int(_OPERATIONS[operator](a, b)))

    # Variables.

    def place(self):
        """The variable that begins here, as `(name, index)`."""
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != 2:
            return None
        name = self.tokens[self.at][1]
        self.at += 1
        index = None
        if self.at < len(self.tokens) and self.tokens[self.at][1] == "[":
            depth, start = 0, self.tokens[self.at][2] + 1
            while self.at < len(self.tokens):
                depth += {"[": 1, "]": -1}.get(self.tokens[self.at][1], 0)
                self.at += 1
                if not depth:
                    break
            else:
                self.fail("`]' is missing")
            index = self.text[start : self.tokens[self.at - 1][2]]
        return name, index

    def read(self, place):
        if self.skipped:
            return 0
        name, index = place
        if index is not None:
            array = self.state.get(name)
            from .state import Array

            if isinstance(array, Array):
                text = array.get(self.state.key(array, index))
            else:
                text = array if calculate(index, self.state, self.depth + 1) == 0 else None
        else:
            text = self.state.text(name)
        if text is None and "nounset" in self.state.options:
            from .state import Fatal

            raise Fatal(f"{name}: unbound variable")
        return calculate(text or "0", self.state, self.depth + 1)

    def write(self, place, value):
        value = _wrap(value)
        if not self.skipped:
            name, index = place
            if index is None:
                self.state.set(name, str(value))
            else:
                self.state.set_element(name, index, str(value))
        return value


_OPERATIONS = {
    "||": lambda a, b: bool(a or b),
    "&&": lambda a, b: bool(a and b),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<<": lambda a, b: a << (b % _BITS),
    ">>": lambda a, b: a >> (b % _BITS),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
