"""Tables."""

import numpy

from brumate_plotly.drawing import markup
from brumate_plotly.drawing.fitting import wrapped
from brumate_plotly.drawing.writing import LINE
from brumate_plotly.figure import formats
from brumate_plotly.figure.colors import rgba
from brumate_plotly.figure.reading import Unreadable, child, get, is_list, num, shown, word
from brumate_plotly.layout.domains import DomainTrace

# Most rows and columns of a table that are read.
MAX_ROWS = 500
MAX_COLUMNS = 100


class Table(DomainTrace):
    """A trace of type table."""

    def calculate(self):
        self.header, self.cells = (_Block(self, name, height) for name, height in (("header", 28), ("cells", 20)))
        count = max(len(self.header.columns), len(self.cells.columns))
        if not count:
            raise Unreadable("a table without columns")
        order = get(self.node, "columnorder")
        self.order = (
            [int(num({"": place}, "", at, 0, count - 1)) for at, place in enumerate(order)]
            if is_list(order)
            else range(count)
        )
        given = get(self.node, "columnwidth")
        widths = [num({"": entry}, "", 1.0, 0.01) for entry in given] if is_list(given) else []
        self.widths = numpy.array([widths[at % len(widths)] if widths else 1.0 for at in range(count)])

    def draw(self):
        left, bottom, right, top = self.rectangle()
        shares = self.widths / self.widths.sum() * (right - left)
        places = sorted(zip(self.order, range(len(shares)), strict=False))
        edges = left + numpy.concatenate([[0.0], numpy.cumsum([shares[at] for _, at in places])])
        spans = {column: (edges[at], edges[at + 1]) for at, (_, column) in enumerate(places)}
        at = self.header.draw(spans, top, bottom)
        self.cells.draw(spans, at, bottom)
        missing = self.header.left_out + self.cells.left_out
        if missing:
            self.picture.notes.add(f"{missing} rows of a table")


class _Block:
    """The header of a table, or its cells."""

    def __init__(self, table, name, height):
        self._table, self._node = table, child(table.node, name)
        values = get(self._node, "values", [])
        if isinstance(values, numpy.ndarray):
            values = values.tolist()
        self.columns = (
            [column if is_list(column) else [column] for column in values[:MAX_COLUMNS]] if is_list(values) else []
        )
        self.rows = max((len(column) for column in self.columns), default=0)
        self._height = num(self._node, "height", height, 4, 400)
        self.left_out = 0

    def _of(self, path, column, row, default=None):
        """Returns the setting `path` of one cell. It is set for all cells, for each column, or for each cell."""
        value = get(self._node, path)
        if is_list(value) and len(value):
            value = value[column % len(value)]
            if is_list(value) and len(value):
                value = value[row % len(value)]
        return default if value is None or is_list(value) else value

    def draw(self, spans, top, bottom):
        """Draws the rows that fit. Returns the top of the next row."""
        for row in range(min(self.rows, MAX_ROWS)):
            cells = {
                column: self._cell(column, row, span) for column, span in spans.items() if column < len(self.columns)
            }
            lines = max((len(markup.lines(text)) for text, *_ in cells.values()), default=1)
            height = max(self._height, *(LINE * size * lines + 6 for _, size, _ in cells.values()))
            if top - height < bottom - 1:
                self.left_out = self.rows - row
                break
            for column, (text, size, color) in cells.items():
                self._draw_cell(column, row, spans[column], top, height, text, size, color)
            top -= height
        else:
            self.left_out = max(0, self.rows - MAX_ROWS)
        return top

    def _cell(self, column, row, span):
        """Returns text, size and color of a cell."""
        values = self.columns[column]
        size, color = self._table.picture.font
        size = num({"": self._of("font.size", column, row)}, "", size, 1, 100)
        color = rgba(self._of("font.color", column, row), color)
        if row >= len(values):
            return "", size, color
        spec = self._of("format", column, row, "")
        text = formats.value(values[row], spec) if isinstance(spec, str) and spec else shown(values[row])
        text = shown(self._of("prefix", column, row, "")) + text + shown(self._of("suffix", column, row, ""))
        return wrapped(self._table.canvas, text, size, span[1] - span[0] - 16), size, color

    def _draw_cell(self, column, row, span, top, height, text, size, color):
        canvas = self._table.canvas
        fill = rgba(self._of("fill.color", column, row), rgba("#fff"))
        edge, width = (
            rgba(self._of("line.color", column, row), rgba("#808080")),
            num(self._node, "line.width", 1, 0, 20),
        )
        canvas.rectangles(span[0], top - height, span[1], top, fill, edge, width)
        align = self._of("align", column, row, "center")
        align = align if align in ("left", "right") else "center"
        x = {"left": span[0] + 8, "center": (span[0] + span[1]) / 2, "right": span[1] - 8}[align]
        clip = span[0], top - height, span[1], top
        bold = word({"": self._of("font.weight", column, row)}, "") == "bold"
        canvas.text(x, top - height / 2, text, size, color, (align, "middle"), bold=bold, clip=clip)
