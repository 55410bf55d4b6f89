"""Bars: where they stand, and what they are stacked on. Histograms and waterfalls are bars as well."""

import numpy

from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import CLEAR, contrasting, faded, rgba
from brumate_plotly.figure.reading import choice, flag, get, is_list, num, word
from brumate_plotly.layout.legend import Entry
from brumate_plotly.traces import errors
from brumate_plotly.traces.points import Points
from brumate_plotly.traces.trace import CartesianTrace

from . import texts
from .texts import first_color

_HATCHES = {"/": "///", "\\": "\\\\\\", "x": "xxx", "-": "---", "|": "|||", "+": "+++", ".": "..."}


class Bars(CartesianTrace):
    """Bars at positions along one axis, with sizes along the other one.

    [`positions`] are numbers of the position axis; [`sizes`] are plain numbers. [`arrange`] finds the ends of the bars:
    `near` and `far` along them, and `first` and `last` across.
    """

    layer = 3
    # Whether bars touch each other when nothing else is said.
    touches = False

    def __init__(self, picture, number, node, color):
        super().__init__(picture, number, node, color)
        self.is_flat = self.orientation() == "h"
        self.along, self.across = (self.y, self.x) if self.is_flat else (self.x, self.y)
        picture.cartesian.without_grid.add(self.along.name)
        # The distance of positions, when it is known; and how much wider than that each bar is.
        self.step = self.stretch = None

    def orientation(self):
        """Returns `v` for bars that stand, `h` for those that lie."""
        only_x = get(self.node, "x") is not None and get(self.node, "y") is None
        return choice(self.node, "orientation", ("v", "h"), "h" if only_x else "v")

    @property
    def letters(self):
        """The letters of positions and of sizes."""
        return "yx" if self.is_flat else "xy"

    @property
    def group(self):
        """The name of the place among bars that stand side by side."""
        return word(self.node, "offsetgroup", f"\0{self.number}")

    def look(self, count):
        """Reads colors, which may be one for each bar."""
        self.points = Points(self, count, self.color)
        self.kept = None

    # The places of bars.

    @staticmethod
    def arrange(traces):
        """Puts bars beside each other or on top of each other."""
        for kind in dict.fromkeys(type(trace) for trace in traces):
            kind.prepare([trace for trace in traces if type(trace) is kind])
        groups = {}
        for trace in traces:
            groups.setdefault((trace.x.name, trace.y.name, trace.is_flat), []).append(trace)
        for group in groups.values():
            _arrange(group)

    @staticmethod
    def prepare(traces):
        """Finds positions and sizes that depend on other traces of the same type."""

    def base(self):
        """Returns where the figure has bars begin; None where it does not say."""
        given = get(self.node, "base")
        if given is None:
            return None
        entries = given if is_list(given) else [given] * len(self.sizes)
        found = self.across.convert(entries) if self.across.kind == "date" else columns.floats(entries)
        result = numpy.zeros(len(self.sizes))
        result[: len(found)] = numpy.nan_to_num(found)[: len(result)]
        return result

    def need(self):
        half = self.room / 2
        self.along.need(numpy.concatenate([self.positions - half, self.positions + half]), padded=False)
        self.along.need(numpy.concatenate([self.first, self.last]), padded=False)
        self.need_sizes()
        for letter, values in self.errors.reach(self):
            (self.x if letter == "x" else self.y).need(values)

    def need_sizes(self):
        """Extends the other axis to the ends of the bars."""
        if get(self.node, "base") is None:
            self.across.need_from_zero(self.across.scaled(self.far))
        else:
            self.across.need(self.across.scaled(numpy.concatenate([self.far, self.near])))

    def errors_at(self):
        """Returns the error bars at the ends of the bars."""
        middle = (self.first + self.last) / 2
        ends = self.across.scaled(self.far)
        self.xs, self.ys = (ends, middle) if self.is_flat else (middle, ends)
        return errors.of(self, len(middle))

    # Drawing.

    def sides(self):
        """Returns the sides of the bars in pixels: left, bottom, right, top."""
        near, far = (self._scaled(values) for values in (self.near, self.far))
        first, last = self.along.px(self.first), self.along.px(self.last)
        near, far = self.across.px(near), self.across.px(far)
        low, high = numpy.minimum(first, last), numpy.maximum(first, last)
        least, most = numpy.minimum(near, far), numpy.maximum(near, far)
        return (least, low, most, high) if self.is_flat else (low, least, high, most)

    def _scaled(self, values):
        if self.across.kind != "log":
            return values
        return numpy.where(values > 0, self.across.scaled(values), self.across.base())

    def draw(self):
        sides = self.sides()
        good = numpy.isfinite(numpy.sum(sides, axis=0))
        left, bottom, right, top = (side[good] for side in sides)
        fill, edge = self.bar_fills(), self.points.edge_colors()
        fill, edge = (color if color.ndim == 1 else color[good] for color in (fill, edge))
        width = self.points.width[good]
        self.canvas.rectangles(left, bottom, right, top, fill, edge, width, clip=self.clip)
        self._draw_pattern(left, bottom, right, top, fill)
        self.errors.draw(self, self.x.px(self.xs), self.y.px(self.ys))
        texts.write(self, sides)

    def bar_fills(self):
        """Returns the color of all bars, or an array with a row for each."""
        return self.points.fill_colors()

    def pattern(self):
        """Returns the hatch of matplotlib for the pattern of the bars; an empty text for none."""
        shape = get(self.node, "marker.pattern.shape")
        return _HATCHES.get(shape, "") if isinstance(shape, str) else ""

    def _draw_pattern(self, left, bottom, right, top, fill):
        if self.pattern() and len(left):
            color = rgba(get(self.node, "marker.pattern.fgcolor"), contrasting(first_color(fill)))
            self.canvas.hatch(left, bottom, right, top, self.pattern(), color, clip=self.clip)

    def texts_of_bars(self):
        """Returns the texts on the bars."""
        return texts.texts(self, self.template_values())

    def template_values(self):
        """Returns what a template may name, as lists."""
        along, across = self.letters
        named = [self.along.category(at) for at in self.positions] if self.along.kind == "category" else self.positions
        return {along: named, across: self.sizes, "label": named, "value": self.sizes}

    def anchor_inside(self):
        """Returns where in a bar its text stands."""
        return word(self.node, "insidetextanchor", "end")

    def points_up(self, number):
        """Whether the end of a bar is above its beginning, or on the right of it."""
        rises = self.far[number] >= self.near[number]
        return rises == (self.across.per_unit() > 0)

    def error_color(self):
        return rgba("#444")

    def entries(self):
        if not len(self.sizes):
            return [Entry(self.name, box=(faded(self.color, self.opacity), CLEAR, 0))]
        fill, edge = self.points.fill_colors(), self.points.edge_colors()
        width = float(self.points.width[0])
        return [Entry(self.name, box=(first_color(fill), first_color(edge), width), hatch=self.pattern())]


class Bar(Bars):
    """A trace of type bar."""

    def _values(self):
        along, across = self.letters
        places, sizes = self.values(along), self.values(across)
        return self.values(along, len(sizes)), self.values(across, len(places))

    def see(self):
        places, sizes = self._values()
        self.along.see(places)
        # Bars of time spans have numbers there, in milliseconds.
        base = get(self.node, "base")
        self.across.see(base if self.across.kind is None and is_list(base) else sizes)

    def weights(self):
        places, sizes = self._values()
        return [(self.along, places, columns.floats(sizes))]

    def calculate(self):
        places, sizes = self._values()
        count = min(len(places), len(sizes), self.picture.budget)
        if count < min(len(places), len(sizes)):
            self.picture.notes.add(f"bars beyond the first {count} of a trace")
        self.positions = self.along.convert(places[:count])
        if self.across.kind == "category":
            self.sizes = self.across.convert(sizes[:count])
        elif self.across.kind == "date" and get(self.node, "base") is None:
            self.sizes = columns.instants(sizes[:count])
        else:
            self.sizes = columns.floats(sizes[:count])
        self.look(count)


def _arrange(traces):
    """Finds the ends of bars that stand along the same axis of a subplot."""
    layout = traces[0].picture.layout
    mode = choice(layout, "barmode", ("group", "stack", "relative", "overlay"))
    step = least_step(traces)
    touches = any(trace.touches for trace in traces) and all(
        trace.touches or trace.along.kind == "category" for trace in traces
    )
    gap = num(layout, "bargap", 0.0 if touches and traces[0].along.kind != "category" else 0.2, 0, 0.99)
    room = step * (1 - gap)
    slots = list(dict.fromkeys(trace.group for trace in traces)) if mode == "group" else [None]
    width = room / len(slots)
    inner = width * (1 - num(layout, "bargroupgap", 0.0, 0, 0.99))
    for trace in traces:
        trace.room = step
        slot = slots.index(trace.group) if mode == "group" else 0
        start = -room / 2 + slot * width + (width - inner) / 2
        _place_across(trace, start, inner, room)
    if mode in ("stack", "relative"):
        _stack(traces, mode == "relative")
    elif mode == "group":
        for trace in traces:
            _stack([trace], True)
    else:
        _stand(traces)
    for trace in traces:
        trace.errors = trace.errors_at()


def least_step(traces):
    """Returns the least distance of positions."""
    steps = [trace.step for trace in traces if trace.step]
    if steps:
        return min(steps)
    places = numpy.unique(numpy.concatenate([trace.positions for trace in traces]))
    places = places[numpy.isfinite(places)]
    if len(places) > 1:
        return float(numpy.diff(places).min())
    return columns.DAY if traces[0].along.kind == "date" else 1.0


def _place_across(trace, start, width, room):
    """Sets where the bars of a trace are across their axis."""
    count = len(trace.positions)
    own = get(trace.node, "width")
    widths = trace.numbers(own, count, width) if own is not None else numpy.full(count, width)
    if get(trace.node, "offset") is not None:
        starts = trace.numbers(get(trace.node, "offset"), count, start)
    else:
        starts = start + (width - widths) / 2
    if trace.stretch is not None and own is None:
        starts, widths = starts * trace.stretch, widths * trace.stretch
    trace.first = trace.positions + starts
    trace.last = trace.first + widths


def _stand(traces):
    """Has each bar begin at its base or at zero."""
    for trace in traces:
        base = trace.base()
        trace.near = numpy.zeros(len(trace.sizes)) if base is None else base
        trace.far = trace.near + trace.sizes


def _stack(traces, by_sign):
    """Has each bar begin where the one before it at the same position ends."""
    _normalize(traces)
    ends = {}
    for trace in traces:
        base = trace.base()
        trace.near = numpy.zeros(len(trace.sizes))
        for number, (place, size) in enumerate(zip(trace.positions.tolist(), trace.sizes.tolist(), strict=True)):
            if base is not None:
                trace.near[number] = base[number]
                continue
            key = place, by_sign and size < 0
            trace.near[number] = ends.get(key, 0.0)
            if size == size:
                ends[key] = trace.near[number] + size
        trace.far = trace.near + trace.sizes


def _normalize(traces):
    """Makes shares of sizes, where the layout wants that."""
    norm = word(traces[0].picture.layout, "barnorm")
    if norm not in ("fraction", "percent"):
        return
    totals = {}
    for trace in traces:
        for place, size in zip(trace.positions.tolist(), trace.sizes.tolist(), strict=True):
            totals[place] = totals.get(place, 0.0) + (abs(size) if size == size else 0.0)
    scale = 100.0 if norm == "percent" else 1.0
    for trace in traces:
        whole = numpy.array([totals.get(place) or 1.0 for place in trace.positions.tolist()])
        trace.sizes = trace.sizes / whole * scale
