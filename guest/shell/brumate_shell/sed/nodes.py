"""What a `sed` script is made of."""


class Address:
    """A line: `kind` is `line`, `last`, `regex`, `step`, `plus` or `multiple`; an empty regex has the value None."""

    __slots__ = ("kind", "value", "step")

    def __init__(self, kind, value=None, step=None):
        self.kind = kind
        self.value = value
        self.step = step


class Command:
    """One command with its addresses. `active` is the state of a range while a script runs."""

    __slots__ = ("name", "first", "second", "negated", "argument", "end", "active", "until")

    def __init__(self, name, first, second, negated):
        self.name = name
        self.first = first
        self.second = second
        self.negated = negated
        self.argument = None  # a label, text, file name, number, or [`Substitute`]
        self.end = None  # of a block: the number of the command behind it; of a branch, where it goes
        self.active = False
        self.until = 0


class Substitute:
    """`s/regex/replacement/flags`: the replacement as texts, group numbers, and letters for cases."""

    __slots__ = ("pattern", "replacement", "all", "number", "prints", "file")

    def __init__(self):
        self.pattern = None
        self.replacement = []
        self.all = self.prints = False
        self.number = 1
        self.file = None
