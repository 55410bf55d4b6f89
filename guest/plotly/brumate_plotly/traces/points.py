"""Markers of a trace: what each point looks like, and the texts beside points."""

import numpy

from brumate_plotly.drawing import markers
from brumate_plotly.figure import columns, formats
from brumate_plotly.figure.colors import faded, is_color, rgba
from brumate_plotly.figure.reading import child, get, is_list, num, word

_ACROSS = {"left": "right", "right": "left"}
# Pixels of the marker in a legend.
_IN_LEGEND = (2.0, 16.0)
# Texts of one trace.
MAX_TEXTS = 2000


class Points:
    """Sizes, colors and shapes of `count` markers; `trace.kept` tells which entries of lists are meant."""

    def __init__(self, trace, count, color, default_size=6.0):
        self._trace, self._count = trace, count
        self.node = child(trace.node, "marker")
        self.mapping, self._values = None, None
        self.sizes = self._read_sizes(default_size)
        is_bubble = is_list(get(self.node, "size"))
        opacity = get(self.node, "opacity", 0.7 if is_bubble else 1.0)
        opacities = numpy.clip(trace.numbers(opacity, count, 1.0), 0, 1) * trace.opacity
        self._opacity = opacities if is_list(opacity) else float(opacities[0]) if count else trace.opacity
        self.fill = self._read_color(self.node, color)
        line = child(self.node, "line")
        self.width = trace.numbers(get(line, "width", 1 if is_bubble else 0), count, 0.0)
        self.edge = self._read_color(
            line, rgba(get(trace.picture.layout, "plot_bgcolor")) if is_bubble else rgba("#444")
        )
        symbol = get(self.node, "symbol", "circle")
        self.symbols = _shapes(trace.pick(symbol), count) if is_list(symbol) else markers.name(symbol)

    def _read_sizes(self, default):
        value = get(self.node, "size")
        if not is_list(value):
            return numpy.full(self._count, num(self.node, "size", default, 0, 2000))
        sizes = numpy.maximum(self._trace.numbers(value, self._count, 0.0), 0) / 2
        reference = num(self.node, "sizeref", 1.0, 1e-12)
        sizes = numpy.sqrt(sizes / reference) if word(self.node, "sizemode") == "area" else sizes / reference
        return numpy.clip(2 * sizes, num(self.node, "sizemin", 0.0, 0, 100), 2000)

    def _read_color(self, node, default):
        """Returns a color for all, an array with one for each, or a mapping with values."""
        value = get(node, "color")
        if not is_list(value):
            mapped = columns.floats([value])[0] if value is not None and not is_color(value) else numpy.nan
            if numpy.isnan(mapped):
                return rgba(value, default)
            value = [value] * self._count
        entries = self._trace.pick(value)
        if any(is_color(entry) for entry in entries[:50]):
            found = [rgba(entry, default) for entry in entries[: self._count]]
            return numpy.array(found + [rgba(default)] * (self._count - len(found))).reshape(-1, 4)
        values = self._trace.numbers(value, self._count, numpy.nan)
        mapping = self._trace.picture.mappings.of(node)
        mapping.extend(values)
        mapping.opacity = min(mapping.opacity, self._opacity if isinstance(self._opacity, float) else 1.0)
        return mapping, values

    def _colors(self, color):
        if isinstance(color, tuple) and len(color) == 2:
            color = color[0].colors(color[1])
        elif isinstance(color, tuple):
            if isinstance(self._opacity, float):
                return numpy.array(faded(color, self._opacity))
            color = numpy.tile(color, (self._count, 1))
        color = numpy.array(color)
        color[:, 3] *= self._opacity
        return color

    def fill_colors(self):
        """Returns the color of all markers, or an array with a row for each."""
        return self._colors(self.fill)

    def edge_colors(self):
        """Returns the same for the edges."""
        return self._colors(self.edge)

    def draw(self, canvas, xs, ys, chosen=None, clip=None):
        """Draws the markers at pixels; of those, the chosen ones (an array of numbers) in their order."""
        fill, edge = self._colors(self.fill), self._colors(self.edge)
        symbols, sizes, width = self.symbols, self.sizes, self.width
        if chosen is not None:
            xs, ys, sizes, width = xs[chosen], ys[chosen], sizes[chosen], width[chosen]
            fill, edge = (color if color.ndim == 1 else color[chosen] for color in (fill, edge))
            symbols = symbols if isinstance(symbols, str) else symbols[chosen]
        canvas.markers(xs, ys, symbols, sizes, fill, edge, width, clip=clip)

    def sample(self):
        """Returns `(symbol, size, fill, edge, width)` for the legend."""
        if not self._count:
            return None
        fill, edge = self._colors(self.fill), self._colors(self.edge)
        symbol = self.symbols if isinstance(self.symbols, str) else self.symbols[0]
        constant = word(self._trace.picture.layout, "legend.itemsizing") == "constant"
        size = 10.0 if constant and is_list(get(self.node, "size")) else float(self.sizes[0])
        low, high = _IN_LEGEND
        return symbol, min(max(size, low), high), _first(fill), _first(edge), float(self.width[0])


def _first(colors):
    return tuple(float(part) for part in (colors if colors.ndim == 1 else colors[0]))


def _shapes(symbols, count):
    names = [markers.name(symbol) for symbol in symbols[:count]]
    return numpy.array(names + ["circle"] * (count - len(names)), dtype=object)


def write(trace, xs, ys, gaps, values, clip=None, default="middle center"):
    """Writes the texts of points beside them, at pixels; `gaps` are the radii of the markers. `values` has lists with
    what a `texttemplate` may name."""
    count = len(xs)
    template, texts = get(trace.node, "texttemplate"), trace.texts(get(trace.node, "text"), count)
    size, color, bold = font_of(trace, "textfont")
    places = trace.pick(get(trace.node, "textposition"))
    colors = trace.pick(get(trace.node, "textfont.color"))
    sizes = trace.numbers(get(trace.node, "textfont.size"), count, size)
    for number in range(min(count, MAX_TEXTS)):
        text = texts[number]
        if isinstance(template, str) and template:
            row = {name: entries[number] for name, entries in values.items() if number < len(entries)}
            text = formats.filled(template, {**row, "text": text})
        if not text or not (numpy.isfinite(xs[number]) and numpy.isfinite(ys[number])):
            continue
        place = places[number % len(places)] if is_list(places) and len(places) else places
        own = rgba(colors[number], color) if is_list(colors) and number < len(colors) else color
        _write_one(
            trace.canvas, xs[number], ys[number], text, sizes[number], own, place or default, gaps[number], bold, clip
        )


def _write_one(canvas, x, y, text, size, color, place, gap, bold, clip):
    down, _, across = str(place).partition(" ")
    x += {"left": -gap - 3, "right": gap + 3}.get(across, 0)
    y += {"top": gap + 3, "bottom": -gap - 3}.get(down, 0)
    anchor = _ACROSS.get(across, "center"), {"top": "bottom", "bottom": "top"}.get(down, "middle")
    canvas.text(x, y, text, size, color, anchor, bold=bold, clip=clip)


def font_of(trace, path):
    """Returns size and color of a font, which the trace may name, and whether it is bold."""
    size, color = trace.picture.font
    font = child(trace.node, path)
    color = faded(rgba(get(font, "color"), color), trace.opacity)
    return num(font, "size", size, 1, 200), color, word(font, "weight") in ("bold", "700", "800", "900")
