"""The legend: entries of traces with samples of what they look like."""

from dataclasses import dataclass

from brumate_plotly.drawing import markup
from brumate_plotly.drawing.writing import LINE
from brumate_plotly.figure.colors import contrasting, rgba
from brumate_plotly.figure.reading import child, choice, get, num, title_of, word

# Pixels of a sample, and from the left end to the text.
_SAMPLE = 30
_TEXT_AT = 40
# Pixels around the entries of a legend.
_PAD = 5
_GAP = 3
_SHARE = {"left": 0.0, "center": 0.5, "right": 1.0, "bottom": 0.0, "middle": 0.5, "top": 1.0}


@dataclass
class Entry:
    """One entry.

    `line` is `(color, width, dash)`, `marker` what [`Points.sample`] returns, `box` is `(fill, edge, width)`.
    `area` is the color of what is filled below a line.
    """

    name: str
    line: tuple | None = None
    marker: tuple | None = None
    box: tuple | None = None
    area: tuple | None = None
    hatch: str = ""
    group: str = ""
    title: str = ""
    rank: float = 1000.0
    is_shared: bool = False
    size: tuple = (0.0, 0.0)


class Legend:
    """One legend and its place."""

    def __init__(self, picture, name="legend"):
        self._picture = picture
        self._node = child(picture.layout, name)
        self._canvas = picture.canvas
        size, color = picture.font
        self._size = num(self._node, "font.size", size, 1, 100)
        self._color = rgba(get(self._node, "font.color"), color)
        self._is_row = word(self._node, "orientation", "v") == "h"
        self._title = title_of(self._node)
        self._entries, self._placed, self._left_out = [], [], 0
        self._width = self._height = 0.0
        self._shift = 0.0

    def fill(self, entries, reverse):
        """Takes the entries."""
        order = word(self._node, "traceorder", "reversed" if reverse else "normal")
        entries = sorted(entries, key=lambda entry: entry.rank)
        groups = {}
        is_grouped = any(entry.group for entry in entries)
        for number, entry in enumerate(entries):
            groups.setdefault(entry.group or f"\0{number if is_grouped else 0}", []).append(entry)
        step = -1 if "reversed" in order else 1
        self._entries = [entry for group in groups.values() for entry in group[::step]]

    def ask(self, frame, shift=0.0):
        """Finds the size, and asks for room. `shift` moves the legend to the right of what stands there."""
        if not self._entries:
            return
        self._shift = shift
        self._lay_out(frame)
        x, y, across, down = self._anchor()
        before, above = self._width * _SHARE[across], self._height * (1 - _SHARE[down])
        frame.ask("l", x, before - shift)
        frame.ask("r", x, self._width - before + shift)
        frame.ask("t", y, above)
        frame.ask("b", y, self._height - above)

    def _anchor(self):
        """Returns the place as shares of the plot, and which point of the legend is there."""
        x = num(self._node, "x", 0.0 if self._is_row else 1.02, -2, 3)
        y = num(self._node, "y", -0.1 if self._is_row else 1.0, -2, 3)
        automatic = "left" if x < 1 / 3 else "right" if x > 2 / 3 else "center"
        across = choice(self._node, "xanchor", ("left", "center", "right", "auto"))
        down = choice(self._node, "yanchor", ("top", "middle", "bottom", "auto"))
        if get(self._node, "yanchor") == "auto":
            down = "bottom" if y < 1 / 3 else "top" if y > 2 / 3 else "middle"
        return x, y, automatic if across == "auto" else across, "top" if down == "auto" else down

    def _lay_out(self, frame):
        """Finds where entries stand: in rows or in one column."""
        for entry in self._entries:
            width, _ = self._canvas.measure(entry.name, self._size)
            rows = len(markup.lines(entry.name))
            entry.size = _TEXT_AT + width, max(LINE * self._size * rows, 16.0) + _GAP
        self._placed, self._left_out = [], 0
        if self._is_row:
            self._lay_out_rows(frame)
        else:
            self._lay_out_column(frame)

    def _title_size(self):
        if not self._title:
            return 0.0, 0.0
        size = self._canvas.measure(self._title, self._title_font())[0]
        return size, LINE * self._title_font() * len(markup.lines(self._title))

    def _title_font(self):
        return num(self._node, "title.font.size", self._size * (1.0 if self._is_row else 1.1), 1, 100)

    def _lay_out_column(self, frame):
        width, y = self._title_size()
        y += _PAD + (3 if y else 0)
        most = max(60.0, frame.height - 20.0)
        before = None
        for number, entry in enumerate(self._entries):
            extra = 0.0
            if before is not None and entry.group and entry.group != before.group:
                extra = num(self._node, "tracegroupgap", 10, 0, 200)
            title = entry.title if entry.title and (before is None or entry.group != before.group) else ""
            if title:
                extra += LINE * self._size + _GAP
            if y + extra + entry.size[1] > most - 20 and number < len(self._entries) - 1:
                self._left_out = len(self._entries) - number
                y += LINE * self._size
                break
            y += extra
            self._placed.append((_PAD, y, entry, title))
            y += entry.size[1]
            before = entry
        widest = max((entry.size[0] for _, _, entry, _ in self._placed), default=0.0)
        titles = max((self._canvas.measure(title, self._size)[0] for *_, title in self._placed if title), default=0.0)
        self._width, self._height = max(widest, width, titles) + 2 * _PAD, y + _PAD

    def _lay_out_rows(self, frame):
        title, height = self._title_size()
        x = start = _PAD + (title + 12 if title else 0)
        y, most, widest = _PAD, max(frame.plot_width, 100.0), 0.0
        row = max(height, 16.0)
        for entry in self._entries:
            if x > start and x + entry.size[0] > most:
                x, y, row = start, y + row, 16.0
            self._placed.append((x, y, entry, ""))
            row = max(row, entry.size[1])
            x += entry.size[0] + 10
            widest = max(widest, x)
        self._width, self._height = widest, y + row + _PAD

    def draw(self, frame):
        """Draws the legend."""
        if not self._placed:
            return
        x, y, across, down = self._anchor()
        left = frame.x(x) - self._width * _SHARE[across] + self._shift
        top = frame.y(y) + self._height * (1 - _SHARE[down])
        # What reaches out of the picture moves into it.
        left = max(0.0, min(left, frame.width - self._width))
        top = min(frame.height, max(top, self._height))
        self._draw_box(left, top)
        if self._title:
            rise = top - _PAD - (3.0 if self._is_row else 0.0)
            bold = word(self._node, "title.font.weight") == "bold"
            color = rgba(get(self._node, "title.font.color"), self._color)
            anchor = "left", "top"
            self._canvas.text(left + _PAD, rise, self._title, self._title_font(), color, anchor, bold=bold)
        for x, y, entry, title in self._placed:
            if title:
                self._canvas.text(left + x, top - y + LINE * self._size / 2, title, self._size, self._color)
            self._draw_entry(left + x, top - y - (entry.size[1] - _GAP) / 2, entry)
        if self._left_out:
            text = f"… and {self._left_out} more"
            at = top - self._height + _PAD + LINE * self._size / 2
            self._canvas.text(left + _PAD, at, text, self._size, self._color)

    def _draw_box(self, left, top):
        color = rgba(get(self._node, "bgcolor"), self._picture.paper)
        edge = rgba(get(self._node, "bordercolor"), rgba("#444"))
        width = num(self._node, "borderwidth", 0, 0, 50)
        self._canvas.rectangles(left, top - self._height, left + self._width, top, color, edge, width)

    def _draw_entry(self, left, middle, entry):
        canvas = self._canvas
        start, end, center = left + 5, left + _SAMPLE + 5, left + 5 + _SAMPLE / 2
        if entry.area is not None:
            canvas.rectangles(start, middle - 6, end, middle + (0 if entry.line else 6), entry.area)
        if entry.line is not None:
            color, width, dash = entry.line
            canvas.line([start, end], [middle, middle], color, min(width, 10), dash)
        if entry.box is not None:
            fill, edge, width = entry.box
            canvas.rectangles(center - 6, middle - 6, center + 6, middle + 6, fill, edge, min(width, 5))
            if entry.hatch:
                sides = [[center - 6], [middle - 6], [center + 6], [middle + 6]]
                canvas.hatch(*sides, entry.hatch, contrasting(fill))
        if entry.marker is not None:
            symbol, size, fill, edge, width = entry.marker
            canvas.markers([center], [middle], symbol, size, fill, edge, min(width, 5))
        canvas.text(left + _TEXT_AT, middle, entry.name, self._size, self._color)


def collect(traces, layout):
    """Returns the entries of traces, by the name of their legend."""
    wanted = get(layout, "showlegend")
    if wanted is False:
        return {}
    found, seen = {}, set()
    for trace in traces:
        alone = len(traces) == 1 and wanted is not True
        if not trace.shows_in_legend(alone):
            continue
        group = word(trace.node, "legendgroup")
        for entry in trace.entries():
            key = type(trace), entry.name
            entry.group = entry.group or group
            entry.title = word(trace.node, "legendgrouptitle.text")
            entry.rank = num(trace.node, "legendrank", entry.rank)
            # Sectors with the same label share one entry.
            if not entry.is_shared or key not in seen:
                found.setdefault(word(trace.node, "legend", "legend"), []).append(entry)
            seen.add(key)
    return found
