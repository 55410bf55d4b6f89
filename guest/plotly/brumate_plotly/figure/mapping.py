"""Numbers as colors: a scale with bounds, for one trace or shared by several, and perhaps a bar that explains it."""

import numpy

from . import colors
from .reading import as_number, child, flag, get, num


class Mapping:
    """A scale of colors. `node` says what it is, under names that begin with `c` or, for heatmaps, with `z`."""

    def __init__(self, node, default, letter="c", has_bar=False):
        self.node, self.letter = node, letter
        scale = get(node, "colorscale") if not flag(node, "autocolorscale") else None
        self.table = colors.table(default if scale is None else scale, flag(node, "reversescale"))
        self.has_bar = flag(node, "showscale", has_bar or get(node, "colorbar") is not None)
        self.bar = child(node, "colorbar")
        self.opacity = 1.0
        # What stands in the bar: continuous colors, or bands between these values; lines of contours.
        self.bands = None
        self._low = self._high = None

    def extend(self, values):
        """Extends the bounds to values, where the figure does not give them."""
        values = values[numpy.isfinite(values)]
        if len(values):
            low, high = float(values.min()), float(values.max())
            self._low = low if self._low is None else min(low, self._low)
            self._high = high if self._high is None else max(high, self._high)

    def bounds(self):
        """Returns the values of the first and the last color."""
        low = 0.0 if self._low is None else self._low
        high = 1.0 if self._high is None else self._high
        if not flag(self.node, f"{self.letter}auto"):
            middle = as_number(get(self.node, f"{self.letter}mid"))
            low, high = num(self.node, f"{self.letter}min", low), num(self.node, f"{self.letter}max", high)
            if middle is not None:
                reach = max(high - middle, middle - low)
                low, high = middle - reach, middle + reach
        reach = max(0.5, abs(low) * 1e-9)
        return (low, high) if low != high else (low - reach, high + reach)

    def colors(self, values):
        """Returns the colors of an array of values, in one more dimension; clear for NaN."""
        return colors.looked_up(self.table, values, *self.bounds())


class Mappings:
    """The mappings of a figure: one for each color axis, and those of single traces."""

    def __init__(self, layout):
        self._layout = layout
        self._shared = {}
        self.all = []

    def of(self, node, letter="c", has_bar=False):
        """Returns the mapping of a trace or of its marker."""
        name = get(node, "coloraxis")
        if isinstance(name, str):
            return self._of_axis(name)
        return self._new(node, letter, has_bar)

    def _of_axis(self, name):
        if name not in self._shared:
            node = get(self._layout, name, child(self._layout, "coloraxis"))
            self._shared[name] = self._new(node, "c", True)
        return self._shared[name]

    def _new(self, node, letter, has_bar):
        mapping = Mapping(node, get(self._layout, "colorscale.sequential"), letter, has_bar)
        self.all.append(mapping)
        return mapping
