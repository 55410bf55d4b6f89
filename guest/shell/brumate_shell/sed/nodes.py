"""The parts of a parsed `sed` script."""


class Address:
    """An address, which selects lines. `kind` is `line`, `last`, `regex`, `step`, `plus` or `multiple`. For an empty
    regex `value` is None."""

    __slots__ = ("kind", "value", "step")

    def __init__(self, kind, value=None, step=None):
        self.kind = kind
        self.value = value
        self.step = step


class Command:
    """One command with its addresses. `active` is True while the script is inside the range of the two addresses."""

    __slots__ = ("name", "first", "second", "negated", "argument", "end", "active", "until")

    def __init__(self, name, first, second, negated):
        self.name = name
        self.first = first
        self.second = second
        self.negated = negated
        self.argument = None  # a label, text, file name, number, or [`Substitute`]
        # Of a block: the number of the command after it; of a branch: the number of the command to go to.
        self.end = None
        self.active = False
        self.until = 0


class Substitute:
    """The command `s/regex/replacement/flags`. `replacement` is a list of texts, group numbers, and letters that change
    upper and lower case."""

    __slots__ = ("pattern", "replacement", "all", "number", "prints", "file")

    def __init__(self):
        self.pattern = None
        self.replacement = []
        self.all = self.prints = False
        self.number = 1
        self.file = None
