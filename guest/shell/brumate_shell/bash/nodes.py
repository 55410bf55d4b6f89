"""The syntax tree of shell lines."""


class Node:
    """A part of the tree. Its fields are its slots. The arguments have the order of the slots."""

    __slots__ = ()

    def __init__(self, *values):
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)


# Words.


class Word(Node):
    """One word, as a list of parts."""

    __slots__ = ("parts",)

    def plain(self):
        """Returns the text if no part of the word is quoted or must be expanded, else None."""
        if all([type(part) is Text and not part.quoted for part in self.parts]):
            return "".join([part.text for part in self.parts])
        return None

    def literal(self):
        """Returns the text without its quotes if no part of the word must be expanded, else None."""
        return "".join([part.text for part in self.parts]) if all([type(p) is Text for p in self.parts]) else None


class Text(Node):
    """Characters. Quoted characters are never split, and are never a pattern."""

    __slots__ = ("text", "quoted")


class Parameter(Node):
    """`$name` and `${name...}`. `index` is a word, `@`, `*` or None. The operator decides the type of `argument`."""

    __slots__ = ("name", "index", "operator", "argument", "quoted")


class Substitution(Node):
    """`$(...)`: the output of a list of commands."""

    __slots__ = ("body", "quoted")


class Sum(Node):
    """`$((...))`: the word is expanded, then calculated."""

    __slots__ = ("word", "quoted")


# Commands.


class Simple(Node):
    """A simple command: the assignments in front of it, its words, its redirections."""

    __slots__ = ("assignments", "words", "redirections")


class Assignment(Node):
    """`name=value`, `name+=value`, `name[index]=value`, `name=(...)`.

    The value is a word, or a list of pairs `(index word or None, word)`.
    """

    __slots__ = ("name", "index", "adds", "value")


class Redirection(Node):
    """A redirection. `fd` is the number on the left, or None. The target is a word: a file, or a document as text."""

    __slots__ = ("fd", "operator", "target")


class Sequence(Node):
    """Commands one after the other."""

    __slots__ = ("entries",)


class AndOr(Node):
    """Pipelines joined by `&&` and `||`. `rest` has a pair `(operator, pipeline)` for each pipeline after the first."""

    __slots__ = ("first", "rest")


class Pipeline(Node):
    """Commands joined by `|`. `negated` says that `!` is in front, `timed` says that `time` is in front."""

    __slots__ = ("commands", "negated", "timed")


class Group(Node):
    """`{ ...; }`"""

    __slots__ = ("body", "redirections")


class Subshell(Node):
    """`( ... )`"""

    __slots__ = ("body", "redirections")


class If(Node):
    """Branches as `(condition, body)`. `otherwise` is the body after `else`, or None."""

    __slots__ = ("branches", "otherwise", "redirections")


class For(Node):
    """`for name in words`. The words are None if the loop goes over the script's own arguments."""

    __slots__ = ("name", "words", "body", "redirections")


class CountedFor(Node):
    """`for ((first; condition; next))`: three words, which may be empty."""

    __slots__ = ("first", "condition", "next", "body", "redirections")


class While(Node):
    """`while` and `until`."""

    __slots__ = ("condition", "until", "body", "redirections")


class Case(Node):
    """Branches as `(patterns, body, end)`; the end is `;;`, `;&` or `;;&`."""

    __slots__ = ("word", "branches", "redirections")


class Conditional(Node):
    """`[[ ... ]]`. The expression is a tuple that begins with `not`, `and`, `or`, `unary`, `binary` or `word`."""

    __slots__ = ("expression", "redirections")


class Calculation(Node):
    """`((...))`"""

    __slots__ = ("word", "redirections")


class Function(Node):
    """`name() ...`"""

    __slots__ = ("name", "body", "redirections")
