"""A figure with its template applied: one layout, and traces that have all that is said about them."""

import re

from brumate_plotly import HEIGHT, MAX_PIXELS, MAX_SIDE, MAX_TRACES, MIN_SIDE, WIDTH

from .colors import COLORWAY, is_color
from .reading import child, flag, get, listed, merged, nodes, num, plain, word

_NUMBERED = re.compile(r"([a-z]+)\d+\Z")
# What a figure has beside its traces that a picture does not show.
_INTERACTIVE = {
    "sliders": "sliders",
    "updatemenus": "menus (updatemenus)",
    "images": "pictures (layout.images)",
    "selections": "selections",
}


class Resolved:
    """Layout and traces. A trace is `(number, node, color)`: its place among all traces, what it says, and the color
    that it has when it says none."""

    def __init__(self, figure, notes):
        figure = plain(figure)
        if not isinstance(figure, dict):
            figure = {}
        layout = child(figure, "layout")
        template = _template(get(layout, "template"))
        # What the figure itself says something of, and not only its template.
        self.own_names = set(layout) if isinstance(layout, dict) else set()
        self.layout = _with_template(layout, child(template, "layout"))
        self.template_axes = {name: child(template, f"layout.{name}") for name in ("xaxis", "yaxis")}
        self.traces = _traces(figure, self.layout, template, notes)
        self.width, self.height = _size(self.layout)
        _note_the_rest(figure, self.layout, notes)


def _template(template):
    """Returns a template's dictionary, also for its name."""
    if isinstance(template, str):
        try:
            from plotly.io import templates

            return plain(templates[template])
        except Exception:
            return {}
    return template if isinstance(template, dict) else {}


def _with_template(layout, template):
    """Returns the layout over what the template says. What the template says of an axis holds for `xaxis2` as well."""
    if not isinstance(layout, dict):
        return template
    result = merged(template, layout)
    for name, node in layout.items():
        match = _NUMBERED.match(name)
        if match and isinstance(node, dict) and name not in template:
            result[name] = merged(template.get(match[1]), node)
    for name, defaults in (("annotations", "annotationdefaults"), ("shapes", "shapedefaults")):
        base = child(template, defaults)
        result[name] = [merged(base, node) for node in nodes(layout, name)]
    return result


def _traces(figure, layout, template, notes):
    data = nodes(figure, "data")
    if not data:
        frames = nodes(figure, "frames")
        data = nodes(frames[0], "data") if frames else []
    if len(data) > MAX_TRACES:
        notes.add(f"traces beyond the first {MAX_TRACES}")
        data = data[:MAX_TRACES]
    colors = [color for color in listed(layout, "colorway") if is_color(color)] or COLORWAY
    seen = {}
    result = []
    for number, node in enumerate(data):
        kind = word(node, "type", "scatter")
        defaults = nodes(child(template, "data"), kind)
        if defaults:
            seen[kind] = seen.get(kind, -1) + 1
            node = merged(defaults[seen[kind] % len(defaults)], node)
        # "legendonly" is no picture either.
        if get(node, "visible", True) is True:
            result.append((number, {**node, "type": kind}, colors[number % len(colors)]))
    return result


def _size(layout):
    width = int(num(layout, "width", WIDTH, MIN_SIDE, MAX_SIDE))
    height = int(num(layout, "height", HEIGHT, MIN_SIDE, MAX_SIDE))
    if width * height > MAX_PIXELS:
        height = MAX_PIXELS // width
    return width, height


def _note_the_rest(figure, layout, notes):
    if nodes(figure, "frames"):
        notes.add("frames (animation)")
    if any(nodes(node, "rangebreaks") for name, node in layout.items() if name.startswith("xaxis")):
        notes.add("rangebreaks (the gaps are shown)")
    for name, title in _INTERACTIVE.items():
        if any(flag(node, "visible", True) for node in nodes(layout, name)):
            notes.add(title)
