"""Lines through points: their shapes, their parts between gaps, and their outline when there are too many points."""

import numpy

# Points of a curve between two of its points.
_FINE = 10


def outline(xs, ys, limit):
    """Returns the numbers of points that keep the outline of a line: the least and the greatest of each run of points.
    None when there are no more than `limit`."""
    count = len(xs)
    if count <= limit:
        return None
    runs = max(1, limit // 4)
    length = -(-count // runs)
    kept = [numpy.array([0, count - 1])]
    for values in (xs, ys):
        padded = numpy.full(runs * length, numpy.nan)
        padded[:count] = values
        rows = padded.reshape(runs, length)
        starts = numpy.arange(runs) * length
        for pick, worst in ((numpy.argmin, numpy.inf), (numpy.argmax, -numpy.inf)):
            kept.append(starts + pick(numpy.where(numpy.isnan(rows), worst, rows), axis=1))
    found = numpy.unique(numpy.concatenate(kept))
    return found[found < count]


def parts(xs, ys):
    """Returns the parts of a line between gaps, as arrays of points."""
    good = numpy.isfinite(xs) & numpy.isfinite(ys)
    points = numpy.column_stack([xs, ys])
    if good.all():
        return [points] if len(points) else []
    edges = numpy.flatnonzero(numpy.diff(numpy.concatenate([[False], good, [False]]).astype(int)))
    return [points[first:last] for first, last in zip(edges[::2], edges[1::2], strict=True)]


def shaped(xs, ys, shape, smoothing=1.0):
    """Returns the points of a line in one of plotly's shapes."""
    if shape == "linear" or len(xs) < 2:
        return xs, ys
    if shape == "spline":
        return _apart(xs, ys, lambda part: _smooth(part, smoothing))
    if shape in ("hv", "vh", "hvh", "vhv"):
        return _apart(xs, ys, lambda part: _stepped(part, shape))
    return xs, ys


def _apart(xs, ys, change):
    """Returns a line whose parts between gaps are changed."""
    changed = []
    for part in parts(xs, ys):
        changed += [change(part), numpy.full((1, 2), numpy.nan)]
    line = numpy.concatenate(changed[:-1]) if changed else numpy.zeros((0, 2))
    return line[:, 0], line[:, 1]


def _stepped(points, shape):
    xs, ys = points[:, 0], points[:, 1]
    if shape == "hv":
        return numpy.column_stack([numpy.repeat(xs, 2)[1:], numpy.repeat(ys, 2)[:-1]])
    if shape == "vh":
        return numpy.column_stack([numpy.repeat(xs, 2)[:-1], numpy.repeat(ys, 2)[1:]])
    first, second = (xs, ys) if shape == "hvh" else (ys, xs)
    middle = (first[1:] + first[:-1]) / 2
    along = numpy.concatenate([first[:1], numpy.repeat(middle, 2), first[-1:]])
    pair = along, numpy.repeat(second, 2)
    return numpy.column_stack(pair if shape == "hvh" else pair[::-1])


def _smooth(points, smoothing):
    """Returns a curve through the points, whose direction at each is that of the line between its neighbours."""
    if len(points) < 3 or smoothing <= 0:
        return points
    closed = bool((points[0] == points[-1]).all())
    before = numpy.concatenate([points[-2:-1] if closed else points[:1], points[:-1]])
    after = numpy.concatenate([points[1:], points[1:2] if closed else points[-1:]])
    steps = numpy.hypot(*numpy.diff(points, axis=0).T) ** 0.5
    into = numpy.concatenate([steps[-1:] if closed else [0.0], steps])
    out = numpy.concatenate([steps, steps[:1] if closed else [0.0]])
    tangents = (after - before) / numpy.maximum(into + out, 1e-9)[:, None] * (smoothing / 1.5)
    first = points[:-1] + tangents[:-1] * steps[:, None]
    second = points[1:] - tangents[1:] * steps[:, None]
    share = (numpy.arange(_FINE) / _FINE)[None, :, None]
    rest = 1 - share
    start, one, two, end = (value[:, None, :] for value in (points[:-1], first, second, points[1:]))
    curve = rest**3 * start + 3 * rest**2 * share * one + 3 * rest * share**2 * two + share**3 * end
    return numpy.concatenate([curve.reshape(-1, 2), points[-1:]])
