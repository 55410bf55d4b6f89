"""Error bars of points and of bars."""

import numpy

from brumate_plotly.figure.colors import faded, rgba
from brumate_plotly.figure.reading import child, flag, get, is_list, num, word


class Errors:
    """The error bars of a trace: for each letter the values below and above each point."""

    def __init__(self, node):
        self._node = node
        self.ends = {}

    def reach(self, trace):
        """Yields letters and the values that the bars reach."""
        for letter, (low, high) in self.ends.items():
            yield letter, numpy.concatenate([low, high])

    def draw(self, trace, xs, ys):
        """Draws the bars of points at pixels."""
        for letter, (low, high) in self.ends.items():
            node = child(self._node, f"error_{letter}")
            axis = trace.x if letter == "x" else trace.y
            color = faded(rgba(get(node, "color"), trace.error_color()), trace.opacity)
            thickness = num(node, "thickness", 2, 0, 50)
            cap = num(node, "width", 4 if len(xs) < 500 else 0, 0, 100)
            fixed = ys if letter == "x" else xs
            segments = _segments(fixed, axis.px(low), axis.px(high), cap, letter == "x")
            trace.canvas.segments(segments, color, thickness, clip=trace.clip)


def _segments(fixed, low, high, cap, is_flat):
    """Returns the lines of error bars and of their caps."""
    good = numpy.isfinite(fixed) & numpy.isfinite(low) & numpy.isfinite(high)
    fixed, low, high = fixed[good], low[good], high[good]
    lines = [(fixed, low, fixed, high)]
    if cap:
        lines += [(fixed - cap, end, fixed + cap, end) for end in (low, high)]
    points = numpy.concatenate([numpy.stack(line, axis=1) for line in lines]).reshape(-1, 2, 2)
    return points[:, :, ::-1] if is_flat else points


def of(trace, count, values=None):
    """Returns the error bars of a trace of so many points, which are at `values` or where the trace has them."""
    errors = Errors(trace.node)
    for letter in "xy":
        node = get(trace.node, f"error_{letter}")
        if not isinstance(node, dict) or not flag(node, "visible", _says_sizes(node)):
            continue
        if letter == "x" and flag(node, "copy_ystyle", False):
            node = {**child(trace.node, "error_y"), **node}
        at = (trace.xs if letter == "x" else trace.ys) if values is None else values.get(letter)
        axis = trace.x if letter == "x" else trace.y
        if at is None or axis.kind == "category":
            continue
        plain = 10.0**at if axis.kind == "log" else at
        above = _sizes(trace, node, "", plain, count)
        if above is None:
            continue
        below = (
            above
            if flag(node, "symmetric", True) and not _has_minus(node)
            else _sizes(trace, node, "minus", plain, count)
        )
        below = above if below is None else below
        errors.ends[letter] = axis.scaled(plain - below), axis.scaled(plain + above)
    return errors


def _says_sizes(node):
    return any(get(node, name) is not None for name in ("array", "value")) or word(node, "type") == "sqrt"


def _has_minus(node):
    return is_list(get(node, "arrayminus")) or get(node, "valueminus") is not None


def _sizes(trace, node, side, values, count):
    """Returns the sizes of the errors on one side; None when there are none."""
    kind = word(node, "type", "data" if is_list(get(node, "array")) else "percent")
    if kind == "data":
        array = get(node, "array" + side)
        return trace.numbers(array, count, 0.0) if is_list(array) else None
    if kind == "sqrt":
        return numpy.sqrt(numpy.abs(values))
    value = num(node, "value" + side, num(node, "value", 10))
    return numpy.full(count, value) if kind == "constant" else numpy.abs(values) * value / 100
