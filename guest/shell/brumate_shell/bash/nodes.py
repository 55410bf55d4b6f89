"""The syntax tree of shell lines."""


class Node:
    """A part of the tree; its fields are its slots, in the order in which they are passed."""

    __slots__ = ()

    def __init__(self, *values):
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)


# Words.


class Word(Node):
    """One word, as a list of parts."""

    __slots__ = ("parts",)

    def plain(self):
        """The text when nothing of it is quoted or to be expanded, else None."""
        if all([type(part) is Text and not part.quoted for part in self.parts]):
            return "".join([part.text for part in self.parts])
        return None

    def literal(self):
        """The text without its quotes when nothing is to be expanded, else None."""
        return "".join([part.text for part in self.parts]) if all([type(p) is Text for p in self.parts]) else None


class Text(Node):
    """Characters; those that are quoted are never split or taken for a pattern."""

    __slots__ = ("text", "quoted")


class Parameter(Node):
    """`$name` and `${name...}`: `index` is a word, `@`, `*` or None; `argument` depends on the operator."""

    __slots__ = ("name", "index", "operator", "argument", "quoted")


class Substitution(Node):
    """`$(...)`: the output of a list of commands."""

    __slots__ = ("body", "quoted")


class Sum(Node):
    """`$((...))`: the word is expanded, then calculated."""

    __slots__ = ("word", "quoted")


# Commands.


class Simple(Node):
    """Assignments in front, words, redirections."""

    __slots__ = ("assignments", "words", "redirections")


class Assignment(Node):
    """`name=value`, `name+=value`, `name[index]=value`, `name=(...)`: the value is a word or a list of
    `(index word or None, word)`."""

    __slots__ = ("name", "index", "adds", "value")


class Redirection(Node):
    """`fd` is the number on the left, or None; the target is a word, or a document's text as a word."""

    __slots__ = ("fd", "operator", "target")


class Sequence(Node):
    """Commands one after the other."""

    __slots__ = ("entries",)


class AndOr(Node):
    """A first pipeline, and the rest as `(&& or ||, pipeline)`."""

    __slots__ = ("first", "rest")


class Pipeline(Node):
    """Commands that pass on their output; `negated` by `!`, `timed` by `time`."""

    __slots__ = ("commands", "negated", "timed")


class Group(Node):
    """`{ ...; }`"""

    __slots__ = ("body", "redirections")


class Subshell(Node):
    """`( ... )`"""

    __slots__ = ("body", "redirections")


class If(Node):
    """Branches as `(condition, body)`, and what is done when none is true, or None."""

    __slots__ = ("branches", "otherwise", "redirections")


class For(Node):
    """`for name in words`; the words are None for the script's own arguments."""

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
    """`[[ ... ]]`: tuples of `not`, `and`, `or`, `unary`, `binary` and `word`."""

    __slots__ = ("expression", "redirections")


class Calculation(Node):
    """`((...))`"""

    __slots__ = ("word", "redirections")


class Function(Node):
    """`name() ...`"""

    __slots__ = ("name", "body", "redirections")
