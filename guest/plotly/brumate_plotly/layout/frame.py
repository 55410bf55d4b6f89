"""The plot within the picture: its margins, and where shares of it are in pixels."""

from brumate_plotly.figure.reading import num

# Share of the picture that stays for the plot, at least.
_MIN_PLOT = 0.25
_DEFAULTS = {"l": 80, "r": 80, "t": 100, "b": 80}
_OPPOSITE = {"l": "r", "r": "l", "t": "b", "b": "t"}


class Frame:
    """Margins in pixels. What stands outside of the plot asks for room with [`Frame.ask`]."""

    def __init__(self, layout, width, height):
        self.width, self.height = width, height
        wanted = {side: num(layout, f"margin.{side}", default, 0, 4000) for side, default in _DEFAULTS.items()}
        # What is given for a picture of usual size is too much for a small one.
        self._given = {side: min(value, 0.35 * self._extent(side)) for side, value in wanted.items()}
        self._asked = []
        self.margins = dict(self._given)

    def _extent(self, side):
        return self.width if side in "lr" else self.height

    def forget(self):
        """Forgets what was asked for."""
        self._asked = []

    def ask(self, side, at, pixels):
        """Asks for pixels beyond a place, on a side (`l`, `r`, `t`, `b`); the place is a share of the plot."""
        share = at if side in "rt" else 1 - at
        if share > 0.01 and pixels > 0:
            self._asked.append((side, share, pixels))

    def settle(self):
        """Makes the margins wide enough for all that was asked for, as far as the plot does not become too small."""
        for _ in range(3):
            margins = dict(self._given)
            for side, share, pixels in self._asked:
                rest = self._extent(side) - self.margins[_OPPOSITE[side]]
                margins[side] = max(margins[side], ((share - 1) * rest + pixels) / share)
            for one, other in (("l", "r"), ("t", "b")):
                most = (1 - _MIN_PLOT) * self._extent(one)
                total = margins[one] + margins[other]
                if total > most:
                    margins[one], margins[other] = margins[one] * most / total, margins[other] * most / total
            self.margins = margins

    @property
    def left(self):
        return self.margins["l"]

    @property
    def bottom(self):
        return self.margins["b"]

    @property
    def plot_width(self):
        """Pixels of the plot."""
        return max(1.0, self.width - self.margins["l"] - self.margins["r"])

    @property
    def plot_height(self):
        """Pixels of the plot."""
        return max(1.0, self.height - self.margins["t"] - self.margins["b"])

    def x(self, share):
        """Returns where a share of the plot's width is."""
        return self.left + share * self.plot_width

    def y(self, share):
        """Returns where a share of the plot's height is."""
        return self.bottom + share * self.plot_height

    def rectangle(self, x, y):
        """Returns the rectangle of two domains."""
        return self.x(x[0]), self.y(y[0]), self.x(x[1]), self.y(y[1])
