"""What boxes and violins have in common: values by position, and places side by side."""

import numpy

from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import faded, rgba
from brumate_plotly.figure.reading import choice, get, num, word
from brumate_plotly.layout.legend import Entry
from brumate_plotly.traces.points import Points
from brumate_plotly.traces.trace import CartesianTrace

# Places of one trace.
MAX_PLACES = 2000
_GENERATOR_SEED = 7


class Distribution(CartesianTrace):
    """Values of one axis, gathered at positions of the other one. `groups` has `(position, values)`."""

    layer = 4
    # How the layout calls the settings of this type: `boxmode`, `violingap` and so on.
    family = "box"

    def __init__(self, picture, number, node, color):
        super().__init__(picture, number, node, color)
        self.is_flat = self._orientation() == "h"
        self.along, self.across = (self.y, self.x) if self.is_flat else (self.x, self.y)
        self.letters = "yx" if self.is_flat else "xy"
        picture.cartesian.without_grid.add(self.along.name)
        line = rgba(get(node, "marker.color"), self.color)
        self.line_color = faded(rgba(get(node, "line.color"), line), self.opacity)
        self.line_width = num(node, "line.width", 2, 0, 50)
        self.fill_color = faded(
            rgba(get(node, "fillcolor"), faded(rgba(get(node, "line.color"), line), 0.5)), self.opacity
        )
        self.shift, self.half, self.room = 0.0, 0.35, 1.0

    def _orientation(self):
        """Returns `h` for boxes that lie: when only `x` has values, or `y` has the positions."""
        given = get(self.node, "orientation")
        if isinstance(given, str) and given in ("v", "h"):
            return given
        xs, ys = self.values("x"), self.values("y")
        if len(xs) and len(ys):
            return "h" if columns.kind(xs) == "linear" and columns.kind(ys) == "category" else "v"
        return "h" if len(xs) else "v"

    def _position(self):
        """Returns the only position of a trace that lists none."""
        start = get(self.node, f"{self.letters[0]}0")
        return self.name if start is None else start

    def _positions(self):
        values = self.values(self.letters[0])
        return values if len(values) else [self._position()]

    def see(self):
        self.along.see(self._positions())
        self.across.see(self.values(self.letters[1]))
        if self.across.kind is None:
            self.across.kind = "linear"

    def weights(self):
        values = columns.floats(self.values(self.letters[1]))
        places = self.values(self.letters[0])
        return [(self.along, places if len(places) else [self._position()] * len(values), values)]

    def calculate(self):
        values = self.across.convert(self.values(self.letters[1]))
        listed = self.values(self.letters[0])
        if len(listed):
            count = min(len(values), len(listed))
            places, values = self.along.convert(listed[:count]), values[:count]
        else:
            places = numpy.full(len(values), self._only_place())
        good = numpy.isfinite(values) & numpy.isfinite(places)
        places, values = places[good], values[good]
        found = numpy.unique(places)[:MAX_PLACES]
        self.groups = [(float(place), numpy.sort(values[places == place])) for place in found]
        self.all_values = values

    def _only_place(self):
        position = self._position()
        place = float(self.along.convert([position])[0])
        return place if numpy.isfinite(place) else float(self.number)

    @property
    def group(self):
        """The name of the place among boxes that stand side by side."""
        return word(self.node, "offsetgroup", f"\0{self.number}")

    @staticmethod
    def arrange(traces):
        """Puts boxes beside each other."""
        together = {}
        for trace in traces:
            together.setdefault((trace.x.name, trace.y.name, trace.is_flat), []).append(trace)
        for group in together.values():
            _arrange(group)

    def need(self):
        places = numpy.array([place for place, _ in self.groups])
        half = self.room / 2
        self.along.need(numpy.concatenate([places - half, places + half]), padded=False)
        self.across.need(self.all_values, True, 3.0)

    # Drawing.

    def ends(self, place):
        """Returns the middle of a box along its axis, and half of its width."""
        return place + self.shift, self.half

    def point(self, place, value):
        """Returns pixels for a place along the axis of positions and a value."""
        along, across = self.along.px(place), self.across.px(value)
        return (across, along) if self.is_flat else (along, across)

    def draw_points(self, place, values, position, jitter):
        """Draws markers at values, beside the box or on it."""
        if not len(values):
            return
        random = numpy.random.Generator(numpy.random.PCG64(_GENERATOR_SEED))
        middle, half = self.ends(place)
        places = middle + (position + jitter * random.uniform(-1, 1, len(values))) * half
        xs, ys = self.point(places, values)
        Points(self, len(values), rgba(get(self.node, "line.color"), self.color)).draw(
            self.canvas, xs, ys, clip=self.clip
        )

    def entries(self):
        clear = self.line_color[3] == 0 and self.fill_color[3] == 0
        if clear:
            points = Points(self, 1, self.color)
            return [Entry(self.name, marker=points.sample())]
        return [Entry(self.name, box=(self.fill_color, self.line_color, self.line_width))]


def _arrange(traces):
    first = traces[0]
    layout, family = first.picture.layout, first.family
    places = numpy.unique([place for trace in traces for place, _ in trace.groups])
    step = float(numpy.diff(places).min()) if len(places) > 1 else columns.DAY if first.along.kind == "date" else 1.0
    if first.along.kind == "category":
        step = 1.0
    mode = choice(layout, f"{family}mode", ("overlay", "group"))
    gap, inner = (num(layout, f"{family}{name}", 0.3, 0, 0.99) for name in ("gap", "groupgap"))
    slots = list(dict.fromkeys(trace.group for trace in traces)) if mode == "group" else [None]
    for trace in traces:
        slot = slots.index(trace.group) if mode == "group" else 0
        trace.half = step / 2 * (1 - gap) * (1 - inner) / len(slots)
        trace.shift = step * (-0.5 + (slot + 0.5) / len(slots)) * (1 - gap)
        width = num(trace.node, "width", 0, 0)
        if width:
            trace.half, trace.shift = width / 2, 0.0 if len(slots) == 1 else trace.shift
        trace.room = step
