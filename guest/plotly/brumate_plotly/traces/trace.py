"""What all traces have in common.

A trace is read, says what it needs of its axes, and is drawn when they have a place.
"""

import numpy

from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import faded, rgba
from brumate_plotly.figure.reading import flag, get, is_list, num, shown, word


class Trace:
    """One trace. `number` is its place among the traces of the figure, `color` what it has when it names none.

    The steps come in this order: [`see`], [`calculate`], `arrange` for all traces that share it, [`need`], [`draw`].
    """

    # Traces of a lower layer are drawn first.
    layer = 5
    # Called with the traces of a picture that have the same function here.
    arrange = None
    # Whether the legend begins with the last trace, as what is stacked does.
    reverses_legend = False

    def __init__(self, picture, number, node, color):
        self.picture, self.number, self.node = picture, number, node
        self.color = rgba(color)
        self.opacity = num(node, "opacity", 1.0, 0, 1)
        self.x = self.y = None
        # The points that are drawn, when those are not all.
        self.kept = None

    @property
    def name(self):
        """The name in the legend."""
        return word(self.node, "name", f"trace {self.number}")

    @property
    def canvas(self):
        return self.picture.canvas

    def see(self):
        """Shows the axes the values of the trace."""

    def weights(self):
        """Returns `(axis, values, numbers)` by which categories can be ordered."""
        return []

    def calculate(self):
        """Makes numbers of the values."""

    def need(self):
        """Says what the axes have to show."""

    def draw(self):
        """Draws the trace."""

    def entries(self):
        """Returns the entries of the trace in the legend."""
        return []

    def error_color(self):
        """Returns the color of error bars that have none."""
        return self.color

    def shows_in_legend(self, alone):
        """Whether the trace is in the legend; `alone` is what a trace that is the only one does."""
        return flag(self.node, "showlegend", not alone)

    def own(self, path, default=None):
        """Returns a color that the trace names, with the opacity of the trace."""
        return faded(rgba(get(self.node, path), self.color if default is None else default), self.opacity)

    def pick(self, value):
        """Returns the entries of a list for the points that are drawn; other values as they are."""
        if not is_list(value) or self.kept is None:
            return value
        if isinstance(value, numpy.ndarray):
            return value[self.kept[self.kept < len(value)]]
        return [value[number] for number in self.kept.tolist() if number < len(value)]

    def numbers(self, value, count, default):
        """Returns a number for each point: one for all, or those of a list."""
        if not is_list(value):
            return numpy.full(count, num({"": value}, "", default))
        result = numpy.full(count, float(default))
        found = columns.floats(self.pick(value))[:count]
        result[: len(found)] = numpy.where(numpy.isnan(found), default, found)
        return result

    def texts(self, value, count):
        """Returns a text for each point."""
        if not is_list(value):
            return ["" if value is None or isinstance(value, dict) else shown(value)] * count
        found = self.pick(value)[:count]
        return [shown(entry) for entry in found] + [""] * (count - len(found))


class CartesianTrace(Trace):
    """A trace of a subplot with two axes."""

    def __init__(self, picture, number, node, color):
        super().__init__(picture, number, node, color)
        self.x, self.y = picture.cartesian.pair(node)

    @property
    def clip(self):
        """The rectangle of the subplot."""
        return self.picture.cartesian.rectangle(self.x, self.y)

    def values(self, letter, count=None):
        """Returns the values of a letter: those that are listed, or numbers with even distances."""
        found = columns.column(get(self.node, letter))
        if len(found) or count is None:
            return found
        axis = self.x if letter == "x" else self.y
        start, step = get(self.node, f"{letter}0", 0), num(self.node, f"d{letter}", 1.0)
        if axis.kind == "date" or columns.is_date(start):
            step = num(self.node, f"d{letter}", columns.DAY)
            moments = columns.instant(start) + step * numpy.arange(count)
            return (moments * 1000).astype("datetime64[us]") if numpy.isfinite(moments).all() else moments
        return num({"": start}, "", 0.0) + step * numpy.arange(count)
