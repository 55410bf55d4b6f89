"""`bc`: calculations with any number of digits."""

import decimal
import re

from brumate_shell import options
from brumate_shell.lines import text_of
from brumate_shell.streams import Refused, decode

# Digits behind the point, depth of parentheses, digits of a whole number.
MAX_SCALE = 1000
MAX_DEPTH = 50
MAX_DIGITS = 10_000

_TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*|\.\d+)|([a-z_]\w*)|(\*\*|[-+*/%^]=|==|!=|<=|>=|&&|\|\||\+\+|--|[-+*/%^()=<>!;,]))"
)


def bc(arguments, streams):
    """bc [-l] [file...]: calculates with any number of digits: + - * / % ^ ( ), variables, scale, sqrt, comparisons"""
    found, paths = options.parse(arguments, flags="lqs")
    texts = [text_of(path, streams) for path in paths] + ([] if paths else [decode(streams.input.read())])
    machine = _Bc("l" in found)
    with decimal.localcontext() as context:
        context.prec = MAX_SCALE * 2
        context.traps[decimal.Inexact] = False
        text = re.sub(r"/\*.*?\*/|#[^\n]*", "", "\n".join(texts).replace("\\\n", ""), flags=re.DOTALL)
        for line in re.split(r"[\n;]", text):
            if line.strip() in ("quit", "halt"):
                break
            if line.strip():
                try:
                    machine.line(line, streams)
                except ArithmeticError as error:
                    raise Refused(f"{line.strip()}: {type(error).__name__}") from None
    return machine.status


class _Bc:
    """One calculation after the other. Numbers are decimals with as many digits as `scale` says."""

    def __init__(self, with_library):
        self.variables = {
            "scale": decimal.Decimal(20 if with_library else 0),
            "ibase": decimal.Decimal(10),
            "obase": decimal.Decimal(10),
        }
        self.with_library = with_library
        self.depth = 0
        self.status = 0

    def line(self, text, streams):
        match = re.fullmatch(r'\s*(?:print\s+)?"([^"]*)"\s*', text)
        if match:
            streams.out.write(match.group(1).replace("\\n", "\n"))
            return
        if re.match(r"\s*(define|if|for|while|print|return|auto|read)\b", text) or "{" in text:
            raise Refused(f"{text.strip()}: bc calculates here, it has no statements; use awk or Python", 1)
        self.tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise Refused(f"syntax error near {text[at:].strip()}", 1)
            self.tokens.append((found.lastindex, found.group(found.lastindex)))
            at = found.end()
        self.at = 0
        assigns = (
            len(self.tokens) > 1
            and self.tokens[0][0] == 2
            and self.tokens[1][1] in ("=", "+=", "-=", "*=", "/=", "%=", "^=")
        )
        value = self.expression()
        if self.at < len(self.tokens):
            raise Refused(f"syntax error near {self.tokens[self.at][1]}", 1)
        if not assigns:
            streams.out.write(self.shown(value) + "\n")

    def take(self, *signs):
        if self.at < len(self.tokens) and self.tokens[self.at][0] == 3 and self.tokens[self.at][1] in signs:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    @property
    def scale(self):
        return min(int(self.variables["scale"]), MAX_SCALE)

    def cut(self, value, scale):
        if value.adjusted() > MAX_DIGITS:
            raise Refused("the number is too long", 1)
        with decimal.localcontext() as context:
            context.prec = max(value.adjusted(), 0) + scale + 10
            return value.quantize(decimal.Decimal(1).scaleb(-scale), rounding=decimal.ROUND_DOWN)

    def expression(self):
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refused("nested too deeply", 1)
        start = self.at
        if self.at + 1 < len(self.tokens) and self.tokens[self.at][0] == 2:
            name = self.tokens[self.at][1]
            self.at += 1
            operator = self.take("=", "+=", "-=", "*=", "/=", "%=", "^=")
            if operator:
                value = self.expression()
                if operator != "=":
                    value = self.apply(operator[0], self.variables.get(name, decimal.Decimal(0)), value)
                self.variables[name] = value
                self.depth -= 1
                return value
            self.at = start
        found = self.compared()
        while operator := self.take("&&", "||"):
            other = self.compared()
            found = decimal.Decimal(int(bool(found and other) if operator == "&&" else bool(found or other)))
        self.depth -= 1
        return found

    def compared(self):
        found = self.sum()
        while operator := self.take("==", "!=", "<=", ">=", "<", ">"):
            other = self.sum()
            found = decimal.Decimal(
                int(
                    {
                        "==": found == other,
                        "!=": found != other,
                        "<=": found <= other,
                        ">=": found >= other,
                        "<": found < other,
                        ">": found > other,
                    }[operator]
                )
            )
        return found

    def sum(self):
        found = self.product()
        while operator := self.take("+", "-"):
            found = self.apply(operator, found, self.product())
        return found

    def product(self):
        found = self.power()
        while operator := self.take("*", "/", "%"):
            found = self.apply(operator, found, self.power())
        return found

    def power(self):
        if self.take("-"):
            return -self.power()
        if self.take("!"):
            return decimal.Decimal(int(not self.power()))
        base = self.single()
        return self.apply("^", base, self.power()) if self.take("^", "**") else base

    def single(self):
        if self.at >= len(self.tokens):
            raise Refused("syntax error at the end", 1)
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == 1:
            return decimal.Decimal(text.rstrip(".") if text.endswith(".") else text)
        if kind == 2:
            if self.take("("):
                value = self.expression()
                if not self.take(")"):
                    raise Refused("syntax error: ) is missing", 1)
                return self.function(text, value)
            return self.variables.get(text, decimal.Decimal(0))
        if text == "(":
            value = self.expression()
            if not self.take(")"):
                raise Refused("syntax error: ) is missing", 1)
            return value
        raise Refused(f"syntax error near {text}", 1)

    def apply(self, operator, a, b):
        digits = [max(-int(value.as_tuple().exponent), 0) for value in (a, b)]
        scale = self.scale
        if operator == "+":
            return a + b
        if operator == "-":
            return a - b
        if operator == "*":
            return self.cut(a * b, min(sum(digits), max(scale, *digits)))
        if operator == "^":
            if b != int(b):
                b = decimal.Decimal(int(b))
            if abs(b) > MAX_DIGITS:
                raise Refused("the exponent is too large", 1)
            with decimal.localcontext() as context:
                context.prec = MAX_DIGITS
                value = a ** int(b)
            return self.cut(value, scale if b < 0 else min(digits[0] * int(b), max(scale, digits[0])))
        if not b:
            raise Refused("divide by zero", 1)
        quotient = self.cut(a / b, scale)
        if operator == "/":
            return quotient
        return self.cut(a - quotient * b, max(scale + digits[1], digits[0]))

    def function(self, name, value):
        digits = max(-int(value.as_tuple().exponent), 0)
        if name == "sqrt":
            if value < 0:
                raise Refused("square root of a negative number", 1)
            return self.cut(value.sqrt(), max(self.scale, digits))
        if name == "length":
            return decimal.Decimal(len(value.as_tuple().digits))
        if name == "scale":
            return decimal.Decimal(digits)
        if self.with_library and name in ("e", "l"):
            with decimal.localcontext() as context:
                context.prec = self.scale + 40
                return self.cut(value.exp() if name == "e" else value.ln(), self.scale)
        if self.with_library and name in ("s", "c", "a"):
            import math

            if self.scale > 15:
                return self.cut(_series(name, value, self.scale), self.scale)
            return self.cut(
                decimal.Decimal({"s": math.sin, "c": math.cos, "a": math.atan}[name](float(value))), self.scale
            )
        raise Refused(f"the function {name} is not defined", 1)

    def shown(self, value):
        base = int(self.variables["obase"])
        if base != 10:
            return _in_base(int(value), base)
        text = f"{value:f}"
        negative, text = text.startswith("-"), text.lstrip("-")
        text = text.removeprefix("0") if text.startswith("0.") else text
        if not text.strip("0."):
            return "0"
        return ("-" if negative else "") + text


def _series(name, value, scale):
    """Sine, cosine and arc tangent by their series."""
    with decimal.localcontext() as context:
        context.prec = scale + 30
        small = decimal.Decimal(1).scaleb(-scale - 20)
        if name == "a":
            if abs(value) > decimal.Decimal("0.3"):
                return 2 * _series("a", value / (1 + (1 + value * value).sqrt()), scale)
            total = power = value
            number = 1
            while abs(power) > small:
                power = -power * value * value
                number += 2
                total += power / number
            return total
        total = term = value if name == "s" else decimal.Decimal(1)
        number = 1 if name == "s" else 0
        while abs(term) > small:
            term = -term * value * value / ((number + 1) * (number + 2))
            number += 2
            total += term
        return total


def _in_base(number, base):
    if not 2 <= base <= 16:
        raise Refused("obase is 2 to 16 here", 1)
    sign, number, out = "-" if number < 0 else "", abs(number), ""
    while True:
        number, digit = divmod(number, base)
        out = "0123456789ABCDEF"[digit] + out
        if not number:
            return sign + out
