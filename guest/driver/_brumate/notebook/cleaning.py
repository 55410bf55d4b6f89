"""Removes prompts of a pasted session from a cell, and the indentation that all of the cell has.

IPython's own look for prompts anywhere, and dedent text inside of strings. Here strings, the bodies of cell magics and
blank lines stay as they are.
"""

from ..pristine import __builtins__

import re
import tokenize

from IPython.core.inputtransformer2 import TransformerManager, leading_empty_lines
from IPython.utils import tokenutil

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)")
_INDENT = re.compile(r"[ \t]*")
# A line of Python begins with neither.
_CLASSIC = re.compile(r"[ \t]*>>>(?:[ \t]|$)", re.MULTILINE)
_CLASSIC_ANY = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?:[ \t]|(?=[\r\n]|$))")
_IPYTHON = re.compile(r"[ \t]*(?:\[(?:nav|ins)\] ?)?In \[\d+\]:(?: |$)", re.MULTILINE)
_IPYTHON_ANY = re.compile(r"[ \t]*(?:(?:\[(?:nav|ins)\] ?)?In \[\d+\]:|\.{3,}:)(?: |(?=[\r\n]|$))")
# Tokens that text in them belongs to; those of f-strings are there from Python 3.12 on, of t-strings from 3.14 on.
_OPENING = tuple(getattr(tokenize, name) for name in ("FSTRING_START", "TSTRING_START") if hasattr(tokenize, name))
_CLOSING = tuple(getattr(tokenize, name) for name in ("FSTRING_END", "TSTRING_END") if hasattr(tokenize, name))


def clean(lines):
    """The lines of a cell without what was only pasted along."""
    lines = leading_empty_lines(lines)
    if not lines:
        return lines
    for first, any_prompt in ((_CLASSIC, _CLASSIC_ANY), (_IPYTHON, _IPYTHON_ANY)):
        if first.match(lines[0]):
            return _without_prompts(lines, any_prompt)
    indent = _INDENT.match(lines[0]).group()
    return _dedented(lines, indent) if indent else lines


def _without_prompts(lines, prompt):
    indent = _INDENT.match(lines[0]).group()
    cleaned = []
    for line in lines:
        found = prompt.match(line)
        cleaned.append(line[found.end() :] if found else line.removeprefix(indent))
    return cleaned


def _dedented(lines, indent):
    if lines[0].startswith("%%", len(indent)):
        # The body is a text of its own, unless it was pasted with the same indentation.
        whole = all(line.startswith(indent) or line.isspace() for line in lines)
        rest = [line.removeprefix(indent) for line in lines[1:]] if whole else lines[1:]
        return [lines[0].removeprefix(indent), *rest]
    inside, continued = _kinds(lines)
    for number, line in enumerate(lines):
        if number not in inside and number not in continued and not line.isspace() and not line.startswith(indent):
            return lines  # for Python to say what is wrong
    return [line if number in inside else line.removeprefix(indent) for number, line in enumerate(lines)]


def _kinds(lines):
    """Numbers of the lines that begin inside of a string, and of those that go on with a statement."""
    inside, continued, opened, depth = set(), set(), [], 0
    try:
        for token in tokenutil.generate_tokens_catch_errors(iter(lines).__next__):
            start, end = token.start[0], token.end[0]
            if token.type in _OPENING:
                opened.append(start)
            elif token.type in _CLOSING and opened:
                inside.update(range(opened.pop(), end))
            elif token.type == tokenize.STRING:
                inside.update(range(start, end))
            elif token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            elif token.type == tokenize.NL and depth > 0:
                continued.add(end)
    except (tokenize.TokenError, SyntaxError):
        pass  # what was found before
    for number, line in enumerate(lines[:-1]):
        if line.rstrip("\r\n").endswith("\\"):
            continued.add(number + 1)
    return inside, continued


class Manager(TransformerManager):
    """IPython's transformers of a cell, with [`clean`] before them. Lines are Python's: other ends of lines that
    Unicode has are part of a string."""

    def __init__(self):
        super().__init__()
        self.cleanup_transforms = [clean]

    def transform_cell(self, cell):
        """Transforms a cell of input code."""
        if not cell.endswith("\n"):
            cell += "\n"
        lines = _LINES.findall(cell)
        for transform in self.cleanup_transforms + self.line_transforms:
            lines = transform(lines)
        return "".join(self.do_token_transforms(lines))
