"""`expr` and `seq`: calculations."""

import decimal
import re

from brumate_shell import options
from brumate_shell.streams import Refused

# Numbers that `seq` writes.
MAX_NUMBERS = 10_000_000


def seq(arguments, streams):
    """seq [-w] [-s SEPARATOR] [-f FORMAT] [first [step]] last: numbers"""
    words = [word if not re.fullmatch(r"-\.?\d.*", word) else "\0" + word for word in arguments]
    found, operands = options.parse(
        words, flags="w", values="sf", long={"separator": "s", "format": "f", "equal-width": "w"}
    )
    texts = [word.lstrip("\0") for word in operands]
    if not 1 <= len(texts) <= 3:
        raise Refused("one to three numbers are needed", 1)
    try:
        numbers = [decimal.Decimal(text) for text in texts]
    except decimal.InvalidOperation:
        raise Refused(f"invalid floating point argument: {' '.join(texts)}", 1) from None
    first, step, last = {1: (1, 1, numbers[-1]), 2: (numbers[0], 1, numbers[-1])}.get(len(numbers), numbers)
    first, step = decimal.Decimal(first), decimal.Decimal(step)
    if not step:
        raise Refused("the step must not be zero", 1)
    count = int((last - first) / step) + 1 if (last - first) / step >= 0 else 0
    if count > MAX_NUMBERS:
        raise Refused("too many numbers")
    digits = max(
        [-int(number.as_tuple().exponent) for number in (first, step) if number.as_tuple().exponent < 0], default=0
    )
    values = [f"{first + step * number:.{digits}f}" for number in range(count)]
    if "f" in found:
        from brumate_shell.awk.values import formatted

        values = [formatted(found["f"], [float(value)]) for value in values]
    elif "w" in found and values:
        width = max([len(value) for value in values])
        values = [value.zfill(width) for value in values]
    if values:
        streams.out.write(found.get("s", "\n").join(values) + "\n")


def expr(arguments, streams):
    """expr VALUE OPERATOR VALUE...: calculates, compares, matches"""
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if not arguments:
        raise Refused("a value is missing", 2)
    value = _Expression(arguments).all()
    streams.out.write(str(value) + "\n")
    return 1 if value in ("", "0", 0) or re.fullmatch(r"-?0+", str(value)) else 0


class _Expression:
    def __init__(self, words):
        self.words = words
        self.at = 0

    def all(self):
        found = self.level(0)
        if self.at < len(self.words):
            raise Refused(f"syntax error: unexpected argument '{self.words[self.at]}'", 2)
        return found

    _LEVELS = [("|",), ("&",), ("<", "<=", "=", "==", "!=", ">=", ">"), ("+", "-"), ("*", "/", "%"), (":",)]

    def level(self, number):
        if number == len(self._LEVELS):
            return self.single()
        found = self.level(number + 1)
        while self.at < len(self.words) and self.words[self.at] in self._LEVELS[number]:
            operator = self.words[self.at]
            self.at += 1
            found = self.apply(operator, found, self.level(number + 1))
        return found

    def apply(self, operator, a, b):
        def is_true(value):
            return str(value) not in ("", "0")

        if operator == "|":
            return a if is_true(a) else b if is_true(b) else "0"
        if operator == "&":
            return a if is_true(a) and is_true(b) else "0"
        if operator == ":":
            return _matched(a, b)
        numbers = [re.fullmatch(r"\s*-?\d+\s*", str(value)) for value in (a, b)]
        if operator in self._LEVELS[2]:
            a, b = (int(a), int(b)) if all(numbers) else (str(a), str(b))
            return str(
                int(
                    {"<": a < b, "<=": a <= b, "=": a == b, "==": a == b, "!=": a != b, ">=": a >= b, ">": a > b}[
                        operator
                    ]
                )
            )
        if not all(numbers):
            raise Refused("non-integer argument", 2)
        a, b = int(a), int(b)
        if operator in "/%" and not b:
            raise Refused("division by zero", 2)
        whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if operator in "/%" else 0
        return str({"+": a + b, "-": a - b, "*": a * b, "/": whole, "%": a - b * whole}[operator])

    def next(self):
        if self.at >= len(self.words):
            raise Refused("syntax error: missing argument", 2)
        self.at += 1
        return self.words[self.at - 1]

    def single(self):
        word = self.next()
        if word == "(":
            found = self.level(0)
            if self.next() != ")":
                raise Refused("syntax error: expecting ')'", 2)
            return found
        if self.at < len(self.words) and word in ("length", "substr", "index", "match", "+"):
            if word == "+":
                return self.next()
            if word == "length":
                return str(len(str(self.single())))
            first = str(self.single())
            if word == "match":
                return _matched(first, self.single())
            if word == "index":
                chars = str(self.single())
                return str(min([first.find(char) + 1 for char in chars if char in first], default=0))
            start, length = int(self.single()), int(self.single())
            return first[start - 1 : start - 1 + length] if start > 0 and length > 0 else ""
        return word


def _matched(text, expression):
    from brumate_shell.regexes import Pattern

    pattern = Pattern(str(expression), extended=False)
    found = pattern.match(str(text))
    if pattern.groups:
        return (found.group(1) or "") if found else ""
    return str(found.end()) if found else "0"
