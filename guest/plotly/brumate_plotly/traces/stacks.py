"""Areas on top of each other."""

import numpy

from brumate_plotly.figure.reading import word


def stack(traces):
    """Puts scatter traces on top of each other: each gets a base, and its values begin there.

    Where a trace has no point and another one has, it is taken for 0, or for what is between its points.
    """
    flat = traces[0].is_flat
    positions = [trace.ys if flat else trace.xs for trace in traces]
    known = numpy.unique(numpy.concatenate([array[numpy.isfinite(array)] for array in positions]))
    heights = [_spread(trace, places, flat, known) for trace, places in zip(traces, positions, strict=True)]
    norm = next((word(trace.node, "groupnorm") for trace in traces if word(trace.node, "groupnorm")), "")
    if norm in ("percent", "fraction"):
        total = numpy.sum(heights, axis=0)
        total[total == 0] = 1.0
        heights = [values / total * (100 if norm == "percent" else 1) for values in heights]
    base = numpy.zeros(len(known))
    for trace, values in zip(traces, heights, strict=True):
        trace.base = base
        base = base + values
        if len(known) != len(trace.xs) or trace.kept is not None:
            _widen(trace, len(known))
        trace.xs, trace.ys = (base, known) if flat else (known, base)


def _spread(trace, places, flat, known):
    """Returns the values of a trace at all positions."""
    values = trace.xs if flat else trace.ys
    good = numpy.isfinite(places) & numpy.isfinite(values)
    order = numpy.argsort(places[good], kind="stable")
    places, values = places[good][order], values[good][order]
    if word(trace.node, "stackgaps") == "interpolate" and len(places):
        return numpy.interp(known, places, values)
    result = numpy.zeros(len(known))
    # Several values at one position: the last one counts.
    result[numpy.searchsorted(known, places)] = values
    return result


def _widen(trace, count):
    """Makes markers for as many points as there are now."""
    from .points import Points

    trace.kept = None
    trace.points = Points(trace, count, trace.color)
