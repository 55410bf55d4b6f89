"""Text as plotly marks it up: a little HTML, as lines of runs of one style."""

import functools
import html
import re
from typing import NamedTuple

from brumate_plotly.figure.colors import is_color, rgba
from brumate_plotly.figure.reading import as_number

# Characters of one text.
MAX_CHARS = 4000
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)>")
_STYLE = re.compile(r"style\s*=\s*[\"']([^\"']*)")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff\ud800-\udfff]")


class Run(NamedTuple):
    """Text of one style. `scale` and `rise` are relative to the size of the text around it."""

    text: str
    bold: bool = False
    italic: bool = False
    scale: float = 1.0
    rise: float = 0.0
    color: tuple | None = None


_STYLES = {
    "b": lambda run: run._replace(bold=True),
    "strong": lambda run: run._replace(bold=True),
    "i": lambda run: run._replace(italic=True),
    "em": lambda run: run._replace(italic=True),
    "sup": lambda run: run._replace(scale=run.scale * 0.7, rise=run.rise + 0.4 * run.scale),
    "sub": lambda run: run._replace(scale=run.scale * 0.7, rise=run.rise - 0.2 * run.scale),
}
_TAGS = {*_STYLES, "span", "a", "u", "s"}


@functools.lru_cache(4096)
def lines(source):
    """Returns the lines of a text, each a tuple of runs."""
    source = source[:MAX_CHARS].replace("\t", "    ")
    if "<" not in source and "&" not in source:
        return tuple((Run(_clean(line)),) for line in source.split("\n"))
    result, line, style, stack, at = [], [], Run(""), [], 0
    for match in _TAG.finditer(source):
        _add(result, line, style, source[at : match.start()])
        at = match.end()
        name = match[2].lower()
        if name == "br":
            result.append(tuple(line))
            line.clear()
        elif name in _TAGS and not match[1]:
            stack.append((name, style))
            style = _styled(name, style, match[3])
        elif match[1] and any(name == opened for opened, _ in stack):
            while stack:
                opened, style = stack.pop()
                if opened == name:
                    break
    _add(result, line, style, source[at:])
    return (*result, tuple(line))


def _add(result, line, style, text):
    """Adds text, which may have ends of lines in it, to the lines so far."""
    parts = _clean(html.unescape(text)).split("\n")
    for number, part in enumerate(parts):
        if number:
            result.append(tuple(line))
            line.clear()
        if part:
            line.append(style._replace(text=part))


def _clean(text):
    return _CONTROLS.sub("", text)


def _styled(name, run, attributes):
    if name in _STYLES:
        return _STYLES[name](run)
    match = _STYLE.search(attributes)
    for part in (match[1] if match else "").split(";"):
        key, _, value = (piece.strip().lower() for piece in part.partition(":"))
        if key == "color" and is_color(value):
            run = run._replace(color=rgba(value))
        elif key == "font-weight" and value in ("bold", "bolder", "600", "700", "800", "900"):
            run = run._replace(bold=True)
        elif key == "font-size" and value.endswith("em"):
            scale = as_number(value[:-2], 1.0)
            run = run._replace(scale=run.scale * min(max(scale, 0.2), 5.0))
        elif key == "font-style" and value == "italic":
            run = run._replace(italic=True)
    return run


def flat(source):
    """Returns a text without its marks, on one line."""
    return " ".join("".join(run.text for run in line) for line in lines(source)).strip()
