"""Raising, catching, finally, chained and own exceptions, context managers."""

from contextlib import contextmanager, suppress


class Refused(ValueError):
    def __init__(self, number):
        super().__init__(f"refused {number}")
        self.number = number


def check(number):
    if number % 3 == 0:
        raise Refused(number)
    if number % 5 == 0:
        raise KeyError(number)
    return number


def deep(number, level):
    try:
        return check(number) if level == 0 else deep(number, level - 1)
    finally:
        released.append(level)


@contextmanager
def counted(counts):
    try:
        yield
    except LookupError as error:
        counts["chained"] += 1
        raise RuntimeError("lookup") from error


released = []


def run():
    counts = {"own": 0, "chained": 0, "fine": 0}
    released.clear()
    for number in range(12_000):
        try:
            with counted(counts):
                deep(number, 3)
                counts["fine"] += 1
        except Refused as refused:
            counts["own"] += refused.number & 1
        except RuntimeError as error:
            counts["chained"] += isinstance(error.__cause__, KeyError)
    missing = {}
    for number in range(12_000):
        with suppress(KeyError):
            del missing[number]
        try:
            int("x")
        except ValueError:
            pass
    return [sorted(counts.items()), len(released)]
