"""Texts on bars: inside of them where they fit, and else at their ends."""

import numpy

from brumate_plotly.figure import formats
from brumate_plotly.figure.colors import contrasting, rgba
from brumate_plotly.figure.reading import get, is_list, num, word
from brumate_plotly.traces.points import MAX_TEXTS, font_of

_SMALLEST = 5.0


def first_color(colors):
    """Returns one color of an array of colors."""
    return tuple(float(part) for part in (colors if colors.ndim == 1 else colors[0]))


def texts(trace, values):
    """Returns the texts on bars; `values` has lists of what a template may name."""
    count = len(trace.sizes)
    found = trace.texts(get(trace.node, "text"), count)
    template = get(trace.node, "texttemplate")
    if isinstance(template, str) and template:
        for number in range(min(count, MAX_TEXTS)):
            row = {name: entries[number] for name, entries in values.items()}
            found[number] = formats.filled(template, {**row, "text": found[number]})
    return found


def write(trace, sides):
    """Writes the texts of a trace whose bars have these sides, in pixels."""
    found = trace.texts_of_bars()
    place = get(trace.node, "textposition", "auto")
    if not any(found) or word(trace.node, "textposition") == "none":
        return
    for number in range(min(len(found), MAX_TEXTS)):
        one = place[number % len(place)] if is_list(place) and len(place) else place
        if found[number] and all(numpy.isfinite(side[number]) for side in sides):
            _write_one(trace, number, found[number], [float(side[number]) for side in sides], one)


def _write_one(trace, number, text, sides, place):
    left, bottom, right, top = sides
    size, color, bold = font_of(trace, "textfont")
    width, height = trace.canvas.measure(text, size)
    high, wide = top - bottom - 4, right - left - 4
    fits, fits_turned = width <= wide and height <= high, height <= wide and width <= high
    is_stub = trace.far[number] == trace.near[number]
    if place != "inside" and (place == "outside" or is_stub or not (fits or fits_turned)):
        _write_outside(trace, number, text, sides, (size, color, bold))
        return
    angle = num(trace.node, "textangle", 0 if fits or not fits_turned else -90)
    if not fits and not fits_turned:
        size = max(_SMALLEST, size * max(0.1, min(wide / width, high / height)))
    x, y, anchor = _inside(trace, number, sides, angle)
    trace.canvas.text(x, y, text, size, _color_inside(trace, number), anchor, angle, bold, clip=trace.clip)


def _color_inside(trace, number):
    fill = trace.bar_fills()
    default = contrasting(first_color(fill if fill.ndim == 1 else fill[number]))
    own = get(trace.node, "insidetextfont.color", get(trace.node, "textfont.color"))
    return rgba(own if isinstance(own, str) else None, default)


def _inside(trace, number, sides, angle):
    """Returns the place of a text in a bar, and its anchor."""
    left, bottom, right, top = sides
    middle = (left + right) / 2, (bottom + top) / 2
    anchor = trace.anchor_inside()
    if anchor == "middle" or angle:
        return *middle, ("center", "middle")
    at_end = (anchor == "end") == trace.points_up(number)
    if trace.is_flat:
        return (right - 4 if at_end else left + 4), middle[1], ("right" if at_end else "left", "middle")
    return middle[0], (top - 3 if at_end else bottom + 3), ("center", "top" if at_end else "bottom")


def _write_outside(trace, number, text, sides, font):
    left, bottom, right, top = sides
    size, color, bold = font
    color = rgba(get(trace.node, "outsidetextfont.color"), color)
    up = trace.points_up(number)
    if trace.is_flat:
        x, across = (right + 4, "left") if up else (left - 4, "right")
        trace.canvas.text(x, (bottom + top) / 2, text, size, color, (across, "middle"), bold=bold)
    else:
        y, down = (top + 3, "bottom") if up else (bottom - 3, "top")
        trace.canvas.text((left + right) / 2, y, text, size, color, ("center", down), bold=bold)
