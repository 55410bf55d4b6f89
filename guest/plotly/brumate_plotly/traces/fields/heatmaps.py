"""Heatmaps, pictures, and histograms over two axes: cells with colors."""

import binascii
import io
import math

import numpy

from brumate_plotly.figure import columns, formats
from brumate_plotly.figure.colors import contrasting
from brumate_plotly.figure.reading import Unreadable, as_number, flag, get, is_list, num, shown, word
from brumate_plotly.traces.bars import bins
from brumate_plotly.traces.points import font_of
from brumate_plotly.traces.trace import CartesianTrace

# Cells whose texts are written.
_MAX_TEXTS = 4000
# Cells of one trace; a table with more is thinned out.
MAX_CELLS = 4_000_000
# Pixels of a picture that comes as PNG.
_MAX_PIXELS = 40_000_000


def edges(middles, fallback=1.0):
    """Returns the edges of cells around their middles."""
    if len(middles) < 2:
        return numpy.array([middles[0] - fallback / 2, middles[0] + fallback / 2]) if len(middles) else numpy.zeros(0)
    between = (middles[1:] + middles[:-1]) / 2
    return numpy.concatenate([[2 * middles[0] - between[0]], between, [2 * middles[-1] - between[-1]]])


class Cells(CartesianTrace):
    """Cells between edges along both axes: `across` and `up` of them, one more than cells."""

    layer = 0

    def need(self):
        self.x.need(self.across, padded=False)
        self.y.need(self.up, padded=False)

    def indices(self):
        """Returns for the pixels of the subplot the numbers of the cells that they are in, column by column and row by
        row, -1 outside; and the lower left pixel."""
        left, bottom, right, top = self.clip
        xs = numpy.arange(max(0, round(left)), min(self.picture.width, round(right)))
        ys = numpy.arange(max(0, round(bottom)), min(self.picture.height, round(top)))
        columns_ = _found(self.x.px(self.across), xs + 0.5)
        rows = _found(self.y.px(self.up), ys + 0.5)
        return columns_, rows, (xs[0] if len(xs) else 0), (ys[0] if len(ys) else 0)

    def paint(self, colors):
        """Draws cells whose colors an array has, row by row."""
        columns_, rows, left, bottom = self.indices()
        if not len(columns_) or not len(rows):
            return
        pixels = colors[numpy.maximum(rows, 0)][:, numpy.maximum(columns_, 0)].astype(float)
        pixels[rows < 0] = 0.0
        pixels[:, columns_ < 0] = 0.0
        pixels[..., 3] *= self.opacity
        self.canvas.picture(pixels, int(left), int(bottom), self.clip)


def _found(places, pixels):
    """Returns in which cell each pixel is; places of edges may rise or fall."""
    falls = len(places) > 1 and places[0] > places[-1]
    ordered = places[::-1] if falls else places
    found = numpy.searchsorted(ordered, pixels, side="right") - 1
    count = len(places) - 1
    inside = (found >= 0) & (found < count)
    return numpy.where(inside, count - 1 - found if falls else found, -1)


class Heatmap(Cells):
    """A trace of type heatmap."""

    def see(self):
        self._read_columns()
        for axis, letter in ((self.x, "x"), (self.y, "y")):
            values = self.values(letter)
            axis.see(values if len(values) else numpy.arange(2))

    def _read_columns(self):
        """Reads `z`; a list of numbers with a place for each becomes a table."""
        z = get(self.node, "z")
        is_flat = is_list(z) and len(z) and not (isinstance(z, numpy.ndarray) and z.ndim == 2)
        if is_flat and not any(is_list(entry) for entry in z[:10]):
            z = self._table(z)
        self.step = 1
        if isinstance(z, numpy.ndarray) and z.ndim == 2 and z.size > MAX_CELLS:
            self.step = math.ceil((z.size / MAX_CELLS) ** 0.5)
            z = z[:: self.step, :: self.step]
        self.z = columns.matrix(z)
        if flag(self.node, "transpose"):
            self.z = self.z.T

    def _table(self, z):
        xs, ys = ([shown(value) for value in self.values(letter)] for letter in "xy")
        at = [list(dict.fromkeys(names)) for names in (xs, ys)]
        numbers = [{name: number for number, name in enumerate(names)} for names in at]
        table = numpy.full((len(at[1]), len(at[0])), numpy.nan)
        for x, y, value in zip(xs, ys, columns.floats(z), strict=False):
            table[numbers[1][y], numbers[0][x]] = value
        picked = {"x": at[0], "y": at[1]}
        kinds = {letter: columns.kind(self.values(letter)) for letter in "xy"}
        for letter, names in picked.items():
            if kinds[letter] == "linear":
                picked[letter] = [as_number(name, name) for name in names]
        self.node = {**self.node, **picked}
        return table

    def calculate(self):
        rows, wide = self.z.shape
        self.middle_x, self.across = self._places(self.x, "x", wide)
        self.middle_y, self.up = self._places(self.y, "y", rows)
        self.mapping = self.picture.mappings.of(self.node, "z", has_bar=True)
        self.mapping.opacity = self.opacity
        self.mapping.extend(self.z.ravel())

    def _places(self, axis, letter, count):
        """Returns middles and edges of cells."""
        values = self.values(letter)
        if not len(values):
            step = num(self.node, f"d{letter}", 1.0) * self.step
            start = axis.convert_one(get(self.node, f"{letter}0", 0))
            middles = start + step * numpy.arange(count)
            return middles, edges(middles, step)
        places = axis.convert(values[:: self.step])
        if len(places) == count + 1:
            return (places[1:] + places[:-1]) / 2, places
        places = places[:count]
        good = numpy.isfinite(places)
        if not good.all() or len(places) < count:
            raise Unreadable("places of cells are missing")
        return places, edges(places, columns.DAY if axis.kind == "date" else 1.0)

    def need(self):
        self.sort()
        super().need()

    def sort(self):
        """Puts the cells in the order of their places."""
        across, up = (numpy.argsort(middles, kind="stable") for middles in (self.middle_x, self.middle_y))
        if (numpy.diff(across) < 0).any() or (numpy.diff(up) < 0).any():
            self.z = self.z[up][:, across]
            self.middle_x, self.middle_y = self.middle_x[across], self.middle_y[up]
            self.across, self.up = edges(self.middle_x), edges(self.middle_y)

    def draw(self):
        if not self.z.size:
            return
        if word(self.node, "zsmooth") in ("best", "fast") and min(self.z.shape) > 1:
            self._paint_smooth()
        else:
            gaps = num(self.node, "xgap", 0, 0, 100), num(self.node, "ygap", 0, 0, 100)
            self.paint(self.mapping.colors(self.z))
            if any(gaps):
                self._draw_gaps(gaps)
        self._write()

    def _paint_smooth(self):
        """Draws colors of values between the middles of cells."""
        columns_, rows, left, bottom = self.indices()
        xs = _between(self.x.px(self.middle_x), left + numpy.arange(len(columns_)) + 0.5)
        ys = _between(self.y.px(self.middle_y), bottom + numpy.arange(len(rows)) + 0.5)
        values = interpolated(self.z, ys, xs)
        values[rows < 0] = numpy.nan
        values[:, columns_ < 0] = numpy.nan
        colors = self.mapping.colors(values)
        colors[..., 3] *= self.opacity
        self.canvas.picture(colors, int(left), int(bottom), self.clip)

    def _draw_gaps(self, gaps):
        left, bottom, right, top = self.clip
        color = self.picture.plot_color
        if gaps[0]:
            lines = [[(x, bottom), (x, top)] for x in self.x.px(self.across).tolist()]
            self.canvas.segments(lines, color, gaps[0], clip=self.clip)
        if gaps[1]:
            lines = [[(left, y), (right, y)] for y in self.y.px(self.up).tolist()]
            self.canvas.segments(lines, color, gaps[1], clip=self.clip)

    def _write(self):
        """Writes texts into cells, when they fit."""
        template = get(self.node, "texttemplate")
        texts = get(self.node, "text")
        if not isinstance(template, str) or not template or self.z.size > _MAX_TEXTS:
            if isinstance(template, str) and template:
                self.picture.notes.add("texts of a heatmap's cells")
            return
        size, color, bold = font_of(self, "textfont")
        own = get(self.node, "textfont.color") is not None
        cell = abs(self.x.per_unit()) * float(numpy.diff(self.across).min())
        size = self._fitting_size(size, cell, template, texts)
        colors = self.mapping.colors(self.z)
        for row, y in enumerate(self.y.px(self.middle_y).tolist()):
            for column, x in enumerate(self.x.px(self.middle_x).tolist()):
                text = self._text(template, texts, row, column)
                if text:
                    shade = color if own else contrasting(tuple(colors[row, column]))
                    self.canvas.text(x, y, text, size, shade, ("center", "middle"), bold=bold, clip=self.clip)

    def _text(self, template, texts, row, column):
        value = self.z[row, column]
        text = _at(texts, row, column)
        if not numpy.isfinite(value) and text is None:
            return ""
        values = {"z": value, "x": self.middle_x[column], "y": self.middle_y[row]}
        for letter, axis in (("x", self.x), ("y", self.y)):
            if axis.kind == "category":
                values[letter] = axis.category(values[letter])
        return formats.filled(template, {**values, "text": "" if text is None else text})

    def _fitting_size(self, size, cell, template, texts):
        rows, wide = self.z.shape
        samples = [
            self._text(template, texts, row, column) for row in range(min(rows, 20)) for column in range(min(wide, 20))
        ]
        widest = max((self.canvas.measure(text, size)[0] for text in samples if text), default=1.0)
        return max(5.0, min(size, size * 0.92 * cell / max(widest, 1.0)))


def _at(texts, row, column):
    """Returns the text of a cell; None when there is none."""
    if not is_list(texts) or row >= len(texts) or not is_list(texts[row]) or column >= len(texts[row]):
        return None
    text = texts[row][column]
    return None if text is None else shown(text)


def _between(places, pixels):
    """Returns where pixels are among places, as numbers with fractions."""
    count = numpy.arange(len(places))
    return (
        numpy.interp(pixels, places[::-1], count[::-1])
        if places[0] > places[-1]
        else numpy.interp(pixels, places, count)
    )


def interpolated(table, rows, wide):
    """Returns values of a table between its rows and columns."""
    row, column = numpy.floor(rows).astype(int), numpy.floor(wide).astype(int)
    row, column = numpy.minimum(row, table.shape[0] - 2), numpy.minimum(column, table.shape[1] - 2)
    down, right = (rows - row)[:, None], (wide - column)[None, :]
    upper = table[row][:, column] * (1 - right) + table[row][:, column + 1] * right
    lower = table[row + 1][:, column] * (1 - right) + table[row + 1][:, column + 1] * right
    return upper * (1 - down) + lower * down


class Histogram2d(Heatmap):
    """A trace of type histogram2d: a heatmap of how many points are in each cell."""

    def see(self):
        for axis, letter in ((self.x, "x"), (self.y, "y")):
            axis.see(self.values(letter))

    def calculate(self):
        self.z, self.across, self.up = counted(self)
        self.middle_x, self.middle_y = ((part[1:] + part[:-1]) / 2 for part in (self.across, self.up))
        self.mapping = self.picture.mappings.of(self.node, "z", has_bar=True)
        self.mapping.opacity = self.opacity
        self.mapping.extend(self.z.ravel())

    def need(self):
        Cells.need(self)


def counted(trace):
    """Returns how many points of a trace are in the cells of a table, and the edges of the cells."""
    xs, ys = trace.x.convert(trace.values("x")), trace.y.convert(trace.values("y"))
    count = min(len(xs), len(ys))
    xs, ys = xs[:count], ys[:count]
    across = bins.find(trace.x, xs, [trace.node], "x", 0.25)
    up = bins.find(trace.y, ys, [trace.node], "y", 0.25)
    columns_, rows = across.numbers(xs), up.numbers(ys)
    cells = numpy.where((columns_ >= 0) & (rows >= 0), rows * across.count + columns_, -1)
    z = get(trace.node, "z")
    weights = trace.numbers(z, count, numpy.nan) if is_list(z) else None
    found = bins.statistic(cells, across.count * up.count, weights, word(trace.node, "histfunc", "count"))
    norm = word(trace.node, "histnorm")
    if norm:
        areas = numpy.outer(numpy.diff(up.edges), numpy.diff(across.edges)).ravel()
        total = float(numpy.nansum(found)) or 1.0
        found = found / total * (100.0 if norm == "percent" else 1.0) if norm.startswith("p") else found
        found = found / areas if "density" in norm else found
    return found.reshape(up.count, across.count), across.edges, up.edges


class Image(Cells):
    """A trace of type image: colors of pixels."""

    def see(self):
        for axis in (self.x, self.y):
            axis.kind = axis.kind or "linear"
        if self.y.given_range() == (None, None) and get(self.y.node, "autorange") is None:
            self.y.node = {**self.y.node, "autorange": "reversed"}
        if get(self.y.node, "scaleanchor") is None and get(self.x.node, "scaleanchor") is None:
            self.y.node = {**self.y.node, "scaleanchor": self.x.name, "constrain": "domain"}
            self.x.node = {"constrain": "domain", **self.x.node}

    def calculate(self):
        source = get(self.node, "source")
        self.colors = _decoded(source) if isinstance(source, str) else self._scaled()
        rows, wide = self.colors.shape[:2]
        starts = [num(self.node, f"{letter}0", 0.0) for letter in "xy"]
        steps = [num(self.node, f"d{letter}", 1.0) for letter in "xy"]
        self.across, self.up = (
            start + (numpy.arange(count + 1) - 0.5) * step
            for start, count, step in zip(starts, (wide, rows), steps, strict=True)
        )

    def _scaled(self):
        """Returns colors from 0 to 1 for those of the figure, by its color model."""
        model = word(self.node, "colormodel", "rgb")
        values = numpy.asarray(get(self.node, "z"), dtype=float)
        if values.ndim != 3 or values.shape[2] < 3:
            raise Unreadable("no table of colors")
        most = [255.0, 255.0, 255.0, 255.0 if model == "rgba256" else 1.0][: values.shape[2]]
        given = get(self.node, "zmax")
        if is_list(given) and len(given) >= values.shape[2]:
            most = [as_number(entry, 255.0) or 1.0 for entry in given[: values.shape[2]]]
        values = numpy.clip(values / numpy.array(most), 0, 1)
        if values.shape[2] == 3:
            values = numpy.concatenate([values, numpy.ones((*values.shape[:2], 1))], axis=2)
        return values

    def draw(self):
        self.paint(self.colors)


def _decoded(source):
    """Returns the colors of a picture in a `data:` URL."""
    from PIL import Image as Pictures

    head, _, content = source.partition(",")
    if not head.startswith("data:image/") or "base64" not in head:
        raise Unreadable("no picture")
    with Pictures.open(io.BytesIO(binascii.a2b_base64(content))) as picture:
        if picture.width * picture.height > _MAX_PIXELS:
            raise Unreadable("too large a picture")
        return numpy.asarray(picture.convert("RGBA"), dtype=float) / 255
