"""Sankey diagrams: what flows from node to node."""

from dataclasses import dataclass, field

from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import faded, is_color, rgba
from brumate_plotly.figure.reading import Unreadable, child, get, is_list, num, shown, word
from brumate_plotly.layout.domains import DomainTrace, entry

from .parallels import band

# Flows of one diagram, and rounds in which nodes move towards what they are connected with.
MAX_LINKS = 5000
_ROUNDS = 24


@dataclass
class _Node:
    label: str
    number: int
    level: int = 0
    value: float = 0.0
    top: float = 0.0
    height: float = 0.0
    sources: list = field(default_factory=list)
    targets: list = field(default_factory=list)


@dataclass
class _Link:
    source: _Node
    target: _Node
    value: float
    number: int


class Sankey(DomainTrace):
    """A trace of type sankey."""

    def calculate(self):
        self._read()
        self._find_levels()
        for node in self.nodes:
            ends = (sum(link.value for link in links) for links in (node.sources, node.targets))
            node.value = max(ends)
        self.nodes = [node for node in self.nodes if node.value > 0]
        if not self.nodes:
            raise Unreadable("nothing flows")

    def _read(self):
        link = child(self.node, "link")
        sources, targets, values = (
            columns.floats(columns.column(get(link, name))) for name in ("source", "target", "value")
        )
        rows = list(zip(sources.tolist(), targets.tolist(), values.tolist(), strict=False))[:MAX_LINKS]
        rows = [(int(a), int(b), value, at) for at, (a, b, value) in enumerate(rows) if a >= 0 and b >= 0 and value > 0]
        labels = columns.column(get(self.node, "node.label"))
        count = min(max([len(labels), *(max(a, b) + 1 for a, b, _, _ in rows)]), 10_000)
        self.nodes = [_Node(shown(entry(labels, at, "")), at) for at in range(count)]
        self.links = []
        for a, b, value, at in rows:
            if a < count and b < count and a != b:
                found = _Link(self.nodes[a], self.nodes[b], value, at)
                self.links.append(found)
                found.source.targets.append(found)
                found.target.sources.append(found)

    def _find_levels(self):
        """Puts each node to the right of all that flow into it; what flows in circles ends somewhere."""
        waiting = [node for node in self.nodes if not node.sources] or self.nodes[:1]
        for _ in range(min(len(self.nodes), 200)):
            following = {}
            for node in waiting:
                for link in node.targets:
                    if link.target.level <= node.level < len(self.nodes):
                        link.target.level = node.level + 1
                        following[id(link.target)] = link.target
            waiting = list(following.values())
            if not waiting:
                break
        last = max((node.level for node in self.nodes), default=0)
        if word(self.node, "arrangement") != "fixed" and word(self.node, "node.align", "justify") == "justify":
            for node in self.nodes:
                if not node.targets and node.sources:
                    node.level = last
        self.last = max(1, last)

    def draw(self):
        left, bottom, right, top = self.rectangle()
        thickness = num(self.node, "node.thickness", 20, 1, 200)
        pad = num(self.node, "node.pad", 20, 0, 200)
        self._lay_out(top - bottom, pad)
        places = {}
        xs, ys = get(self.node, "node.x"), get(self.node, "node.y")
        for node in self.nodes:
            share = node.level / self.last
            if is_list(xs) and is_list(ys) and node.number < min(len(xs), len(ys)):
                share = num({"": xs[node.number]}, "", share, 0, 1)
                middle = num({"": ys[node.number]}, "", 0.5, 0, 1) * (top - bottom)
                node.top = middle - node.height / 2
            places[node.number] = left + share * (right - left - thickness), top - node.top
        self._draw_links(places, thickness)
        for node in self.nodes:
            self._draw_node(node, *places[node.number], thickness, right)

    def _lay_out(self, height, pad):
        """Finds heights and places of the nodes, one column after the other."""
        levels = {}
        for node in self.nodes:
            levels.setdefault(node.level, []).append(node)
        pad = min([pad, *(0.5 * height / max(1, len(column)) for column in levels.values())])
        scale = min(
            (height - pad * (len(column) - 1)) / sum(node.value for node in column) for column in levels.values()
        )
        self.scale = max(scale, 0.0)
        for column in levels.values():
            for node in column:
                node.height = node.value * self.scale
            _spread(column, height, pad)
        for number in range(_ROUNDS):
            forward = number % 2 == 0
            for level in sorted(levels, reverse=not forward):
                for node in levels[level]:
                    links = node.sources if forward else node.targets
                    if links:
                        ends = [(link.source if forward else link.target, link.value) for link in links]
                        total = sum(value for _, value in ends)
                        node.top = (
                            sum((end.top + end.height / 2) * value for end, value in ends) / total - node.height / 2
                        )
                _spread(levels[level], height, pad)

    def _draw_links(self, places, thickness):
        starts = {node.number: places[node.number][1] for node in self.nodes}
        ends = dict(starts)
        outlines = {}
        for node in self.nodes:
            for link in sorted(node.targets, key=lambda link: link.target.top):
                size = link.value * self.scale
                outlines[link.number] = starts[node.number], starts[node.number] - size
                starts[node.number] -= size
        colors = get(self.node, "link.color")
        for node in self.nodes:
            for link in sorted(node.sources, key=lambda link: link.source.top):
                size = link.value * self.scale
                other = ends[node.number], ends[node.number] - size
                ends[node.number] -= size
                color = entry(colors, link.number) if is_list(colors) else colors
                color = rgba(color) if is_color(color) else faded(self.picture.font[1], 0.2)
                left, right = places[link.source.number][0] + thickness, places[node.number][0]
                self.canvas.polygons([band(left, right, outlines[link.number], other)], color)

    def _draw_node(self, node, x, top, thickness, right):
        colors = get(self.node, "node.color")
        color = entry(colors, node.number) if is_list(colors) else colors
        color = rgba(color) if is_color(color) else self.picture.label_color(node.label or str(node.number))
        line = child(self.node, "node.line")
        edge = rgba(word(line, "color"), rgba("#444"))
        width = num(line, "width", 0.5, 0, 20)
        self.canvas.rectangles(x, top - node.height, x + thickness, top, color, edge, width)
        size, ink = self.picture.font
        is_last = x + thickness * 2 > right
        at, across = (x - 4, "right") if is_last else (x + thickness + 4, "left")
        self.canvas.text(at, top - node.height / 2, node.label, size, ink, (across, "middle"))


def _spread(column, height, pad):
    """Moves nodes apart, as little as possible, within a height."""
    column.sort(key=lambda node: node.top + node.height / 2)
    free = 0.0
    for node in column:
        node.top = max(node.top, free)
        free = node.top + node.height + pad
    free = height
    for node in reversed(column):
        node.top = min(node.top, free - node.height)
        free = node.top - pad
