"""Traces that have a rectangle of the plot for themselves: pies, tables, trees and others."""

import math

from brumate_plotly.figure.reading import child, get, is_list, num, pair
from brumate_plotly.traces.trace import Trace


class DomainTrace(Trace):
    """A trace without axes. `domain` says which part of the plot it takes."""

    def rectangle(self):
        """Returns left, bottom, right and top in pixels."""
        node = child(self.node, "domain")
        return self.picture.frame.rectangle(*place(self.picture.layout, node))


def place(layout, node):
    """Returns the domains of x and y: those that are given, or those of a cell of the layout's grid."""
    grid = child(layout, "grid")
    rows, columns = (num(grid, name, 0, 0, 1000) for name in ("rows", "columns"))
    if rows and columns and (get(node, "row") is not None or get(node, "column") is not None):
        row, column = num(node, "row", 0, 0, rows - 1), num(node, "column", 0, 0, columns - 1)
        if get(grid, "roworder") != "bottom to top":
            row = rows - 1 - row
        return _cell(grid, "x", column, columns), _cell(grid, "y", row, rows)
    return _span(node, "x"), _span(node, "y")


def _span(node, letter):
    low, high = pair(node, letter) or (0.0, 1.0)
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    return (low, high) if high > low else (0.0, 1.0)


def _cell(grid, letter, number, count):
    gap = num(grid, f"{letter}gap", 0.2 if letter == "x" else 0.3, 0, 1)
    low, high = _span(child(grid, "domain"), letter)
    step = (high - low) / (count - gap)
    return low + number * step, low + number * step + step * (1 - gap)


def sector(x, y, inner, outer, start, end):
    """Returns the outline of a sector of a ring, between two angles in radians, counted from the right upwards."""
    count = max(2, math.ceil(abs(end - start) / math.radians(2)) + 1)
    angles = [start + (end - start) * number / (count - 1) for number in range(count)]
    points = [(x + outer * math.cos(angle), y + outer * math.sin(angle)) for angle in angles]
    if inner > 0:
        points += [(x + inner * math.cos(angle), y + inner * math.sin(angle)) for angle in reversed(angles)]
    elif abs(end - start) < 2 * math.pi - 1e-9:
        points.append((x, y))
    return points


def entry(values, number, default=None):
    """Returns an entry of a list; the default beyond its end, and for what is no list."""
    return values[number] if is_list(values) and number < len(values) else default
