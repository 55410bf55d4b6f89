"""Histograms: bars over bins of values."""

import numpy

from brumate_plotly.figure import columns
from brumate_plotly.figure.reading import choice, get, word

from . import bars, bins


class Histogram(bars.Bars):
    """A trace of type histogram."""

    touches = True

    def orientation(self):
        only_y = get(self.node, "y") is not None and get(self.node, "x") is None
        return choice(self.node, "orientation", ("v", "h"), "h" if only_y else "v")

    def _values(self):
        """Returns the values, and what is summed up in the bins (None for their number)."""
        along, across = self.letters
        weights = self.values(across)
        return self.values(along), (weights if len(weights) else None)

    def see(self):
        self.along.see(self._values()[0])
        if self.across.kind is None:
            self.across.kind = "linear"

    def weights(self):
        values, weights = self._values()
        found = numpy.ones(len(values)) if weights is None else columns.floats(weights)
        return [(self.along, values, found)]

    def calculate(self):
        values, weights = self._values()
        self.observed = self.along.convert(values)
        self.weighted = None if weights is None else columns.floats(weights)
        if self.weighted is not None:
            count = min(len(self.observed), len(self.weighted))
            self.observed, self.weighted = self.observed[:count], self.weighted[:count]

    @staticmethod
    def prepare(traces):
        """Finds bins for traces that share an axis."""
        groups = {}
        for trace in traces:
            groups.setdefault((word(trace.node, "bingroup"), trace.along.name), []).append(trace)
        for group in groups.values():
            _fill_bins(group)

    def fill_bins(self, found):
        """Makes bars of the bins."""
        function = word(self.node, "histfunc", "count")
        sizes = found.statistic(self.observed, self.weighted, function)
        widths = numpy.diff(found.edges)
        sizes = _normalized(sizes, widths, word(self.node, "histnorm"))
        is_cumulative, from_end = bins.names_cumulative(self.node)
        if is_cumulative:
            density = "density" in word(self.node, "histnorm")
            steps = numpy.nan_to_num(sizes * (widths if density else 1.0))
            sizes = numpy.cumsum(steps[::-1])[::-1] if from_end else numpy.cumsum(steps)
        self.positions, self.sizes = found.middles, sizes
        self.step = float(widths.min())
        # Months are not of the same length.
        self.stretch = widths / self.step
        self.look(found.count)

    def base(self):
        return None

    def template_values(self):
        return {**super().template_values(), "z": self.sizes}


def _normalized(sizes, widths, norm):
    total = float(numpy.nansum(sizes)) or 1.0
    if norm.startswith("p"):
        sizes = sizes / total * (100.0 if norm == "percent" else 1.0)
    return sizes / widths if "density" in norm else sizes


def _fill_bins(traces):
    axis = traces[0].along
    observed = numpy.concatenate([trace.observed for trace in traces])
    found = bins.find(axis, observed, [trace.node for trace in traces], traces[0].letters[0])
    for trace in traces:
        trace.fill_bins(found)
