"""Trees of parts: values, colors and texts of what treemaps, sunbursts and icicles show."""

import math
from dataclasses import dataclass, field

import numpy

from brumate_plotly.figure import columns, formats
from brumate_plotly.figure.colors import CLEAR, contrasting, faded, is_color, mixed, rgba
from brumate_plotly.figure.reading import Unreadable, flag, get, is_list, listed, num, shown, word
from brumate_plotly.layout.domains import DomainTrace, entry

from .pies import percent

# Parts of one tree, and levels of it.
MAX_PARTS = 20_000
MAX_LEVELS = 60
# A root without a color of its own.
_ROOT = "rgba(0,0,0,0)"


@dataclass
class Part:
    """One part of a tree, and the parts that it has."""

    label: str
    number: int = -1
    value: float = 0.0
    level: int = 0
    parent: "Part | None" = None
    color: tuple = CLEAR
    parts: list = field(default_factory=list)


class Tree(DomainTrace):
    """A trace that is a tree."""

    # How far the last level is faded.
    leaf_opacity = 1.0

    def calculate(self):
        self.root = self._read()
        self._sum(self.root)
        self._limit(self.root)
        self._color()

    def _read(self):
        """Returns the root; one is made when there are several."""
        labels = columns.column(get(self.node, "labels"))
        ids = columns.column(get(self.node, "ids"))
        parents = columns.column(get(self.node, "parents"))
        values = columns.column(get(self.node, "values"))
        count = min(max(len(labels), len(ids)), MAX_PARTS)
        numbers = numpy.nan_to_num(columns.floats(values)).tolist() if len(values) else []
        self.has_values = bool(numbers)
        found = {}
        for number in range(count):
            label = shown(entry(labels, number, entry(ids, number, "")))
            name = shown(entry(ids, number, "")) or label
            found.setdefault(name, Part(label, number, max(0.0, entry(numbers, number, 0.0))))
        roots = []
        for part in found.values():
            parent = found.get(shown(entry(parents, part.number, "")))
            if parent is None or parent is part:
                roots.append(part)
            else:
                part.parent = parent
                parent.parts.append(part)
        level = found.get(word(self.node, "level"))
        if level is not None:
            return level
        if not roots:
            raise Unreadable("a tree without a root")
        if len(roots) == 1:
            return roots[0]
        root = Part("", parts=roots)
        for part in roots:
            part.parent = root
        return root

    def _sum(self, part, level=0):
        """Gives each part its value: the sum of its parts and what remains."""
        part.level = level
        if level > MAX_LEVELS:
            part.parts = []
        total = sum(self._sum(one, level + 1) for one in part.parts)
        own = part.value if self.has_values else (0.0 if part.parts else 1.0)
        is_total = word(self.node, "branchvalues") == "total"
        # A total that is less than its parts is no total.
        part.value = max(own, total) if is_total or part.number < 0 else own + total
        if flag(self.node, "sort", True):
            part.parts.sort(key=lambda one: -one.value)
        return part.value

    def _limit(self, part):
        """Leaves out what is deeper than the figure wants."""
        most = num(self.node, "maxdepth", -1)
        if most > 0 and part.level >= most - 1:
            part.parts = []
        for one in part.parts:
            self._limit(one)

    def _color(self):
        colors = get(self.node, "marker.colors")
        self.mapping = None
        if is_list(colors) and not any(is_color(color) for color in columns.sample(colors, 50)):
            values = columns.floats(colors)
            self.mapping = self.picture.mappings.of(get(self.node, "marker"))
            self.mapping.extend(values)
            self._values = values
        own = get(self.node, "root.color", _ROOT)
        for part in self.parts():
            color = entry(colors, part.number) if part.number >= 0 else None
            if is_color(color):
                part.color = rgba(color)
            elif part is self.root:
                part.color = rgba(own, CLEAR)
            elif part.parent is self.root:
                name = self.kind_of_colors()
                part.color = self.picture.label_color(part.label, listed(self.picture.layout, name))
            else:
                part.color = part.parent.color

    def kind_of_colors(self):
        """Returns what the layout calls the colors of this type."""
        return f"{word(self.node, 'type')}colorway"

    def fill(self, part):
        """Returns the color of a part."""
        color = part.color
        if self.mapping is not None:
            value = entry(self._values, part.number, math.nan) if part.number >= 0 else math.nan
            color = tuple(self.mapping.colors(numpy.array([value]))[0]) if value == value else part.color
        opacity = num(self.node, "leaf.opacity", self.leaf_opacity, 0, 1) if not part.parts else 1.0
        return faded(color, opacity * self.opacity)

    def parts(self):
        """Returns the parts, each before those that it has."""
        found, waiting = [], [self.root]
        while waiting:
            part = waiting.pop()
            found.append(part)
            waiting.extend(reversed(part.parts))
        return found

    def text(self, part):
        """Returns the text of a part."""
        text = shown(entry(get(self.node, "text"), part.number, "")) if part.number >= 0 else ""
        parent, whole = part.parent or part, self.root.value or 1.0
        shares = {"Root": part.value / whole, "Entry": part.value / whole, "Parent": part.value / (parent.value or 1.0)}
        values = {f"percent{name}": share for name, share in shares.items()}
        template = get(self.node, "texttemplate")
        if isinstance(template, str) and template:
            return formats.filled(template, {**values, "label": part.label, "value": part.value, "text": text})
        parts = {"label": part.label, "text": text, "value": formats.compact(part.value) if self.has_values else ""}
        parts |= {f"percent {name.lower()}": f"{percent(share)} of {name}" for name, share in shares.items()}
        info = word(self.node, "textinfo", "label+text")
        return "<br>".join(parts[name] for name in info.split("+") if parts.get(name))

    def edge(self):
        """Returns color and width of the lines around parts."""
        color = get(self.node, "marker.line.color")
        color = rgba(color if isinstance(color, str) else None, self.picture.paper)
        return color, num(self.node, "marker.line.width", 1, 0, 20)

    def shade(self, fill):
        """Returns the color of text on a color."""
        own = get(self.node, "textfont.color")
        backdrop = mixed(self.picture.paper, fill, fill[3])
        return rgba(own if isinstance(own, str) else None, contrasting((*backdrop[:3], 1.0)))
