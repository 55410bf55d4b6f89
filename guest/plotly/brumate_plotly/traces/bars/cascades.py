"""Waterfalls and funnels: bars that are connected with each other."""

import numpy

from brumate_plotly.figure import columns, formats
from brumate_plotly.figure.colors import CLEAR, contrasting, faded, rgba
from brumate_plotly.figure.reading import Unreadable, choice, flag, get, is_list, listed, num, shown, word
from brumate_plotly.layout.domains import DomainTrace, entry
from brumate_plotly.layout.legend import Entry
from brumate_plotly.traces.parts.pies import percent
from brumate_plotly.traces.points import MAX_TEXTS

from . import bars
from .texts import first_color


class Waterfall(bars.Bar):
    """A trace of type waterfall: each bar begins where the one before it ends."""

    def calculate(self):
        super().calculate()
        measures = columns.column(get(self.node, "measure"))
        start = num(self.node, "base", 0.0)
        total, self._starts, self._kinds = start, [], []
        for number, size in enumerate(numpy.nan_to_num(self.sizes).tolist()):
            measure = shown(entry(measures, number, "relative"))
            if measure in ("total", "t"):
                self._kinds.append("totals")
                self._starts.append(start)
                self.sizes[number] = total - start
            elif measure in ("absolute", "a"):
                self._kinds.append("totals")
                self._starts.append(start)
                total = start + size
            else:
                self._kinds.append("increasing" if size >= 0 else "decreasing")
                self._starts.append(total)
                total += size

    def base(self):
        return numpy.array(self._starts)

    def need_sizes(self):
        ends = self.across.scaled(numpy.concatenate([self.near, self.far]))
        if num(self.node, "base", 0.0):
            self.across.need(ends)
        else:
            self.across.need_from_zero(ends)

    def draw(self):
        self._draw_connectors()
        super().draw()

    def bar_fills(self):
        colors = {"increasing": "#3D9970", "decreasing": "#FF4136", "totals": "#4499FF"}
        found = [self.own(f"{kind}.marker.color", colors[kind]) for kind in self._kinds]
        return numpy.array(found).reshape(-1, 4)

    def _draw_connectors(self):
        if not flag(self.node, "connector.visible", True) or len(self.far) < 2:
            return
        color = rgba(get(self.node, "connector.line.color"), "#444")
        width, dash = num(self.node, "connector.line.width", 2, 0, 20), word(self.node, "connector.line.dash", "solid")
        spans = word(self.node, "connector.mode") == "spanning"
        ends = self.across.px(self._scaled(self.far))
        first = self.along.px(self.first if spans else self.last)[:-1]
        last = self.along.px(self.last if spans else self.first)[1:]
        lines = numpy.stack([first, ends[:-1], last, ends[:-1]], axis=1).reshape(-1, 2, 2)
        lines = lines[:, :, ::-1] if self.is_flat else lines
        self.canvas.segments(lines[numpy.isfinite(lines).all(axis=(1, 2))], color, width, dash, self.clip)

    def texts_of_bars(self):
        info = word(self.node, "textinfo")
        if not info or info == "none" or get(self.node, "texttemplate") is not None:
            return super().texts_of_bars() if info != "none" else []
        texts = super().texts_of_bars()
        result = []
        for number in range(min(len(self.sizes), MAX_TEXTS)):
            parts = {
                "text": texts[number],
                "label": self._label(number),
                "initial": formats.compact(self._starts[number]),
            }
            parts |= {"delta": formats.compact(self.sizes[number]), "final": formats.compact(self.far[number])}
            result.append("<br>".join(parts[part] for part in info.split("+") if parts.get(part)))
        return result

    def _label(self, number):
        at = self.positions[number]
        return self.along.category(at) if self.along.kind == "category" else formats.compact(at)

    def entries(self):
        return [Entry(self.name, box=(self.own("increasing.marker.color", "#3D9970"), CLEAR, 0))]


class Funnel(bars.Bar):
    """A trace of type funnel: bars around a middle line."""

    def orientation(self):
        only_y = get(self.node, "y") is not None and get(self.node, "x") is None
        return choice(self.node, "orientation", ("v", "h"), "v" if only_y else "h")

    def see(self):
        super().see()
        # The first stage is at the top, and sizes around the middle have no numbers.
        if self.is_flat and get(self.along.node, "autorange") is None and get(self.along.node, "range") is None:
            self.along.node = {**self.along.node, "autorange": "reversed"}
        hidden = {"showticklabels": False, "showgrid": False, "zeroline": False}
        self.across.node = {**self.across.node, **hidden}

    @staticmethod
    def arrange(traces):
        """Stacks the bars of all funnels around the middle."""
        groups = {}
        for trace in traces:
            groups.setdefault((trace.x.name, trace.y.name, trace.is_flat), []).append(trace)
        for group in groups.values():
            _center(group)

    def need(self):
        self.along.need(numpy.concatenate([self.positions - 0.5 * self.room, self.positions + 0.5 * self.room]), False)
        self.across.need(numpy.concatenate([self.near, self.far]))

    def draw(self):
        self._draw_connectors()
        super().draw()

    def _draw_connectors(self):
        """Draws the areas between the bars."""
        if not flag(self.node, "connector.visible", True):
            return
        fill = self.points.fill_colors()
        default = faded(first_color(fill), 0.5)
        color = faded(rgba(get(self.node, "connector.fillcolor"), default), self.opacity)
        near, far = self.across.px(self.near), self.across.px(self.far)
        polygons = []
        for at in range(len(near) - 1):
            last, first = float(self.along.px(self.last[at])), float(self.along.px(self.first[at + 1]))
            ring = [(near[at], last), (far[at], last), (far[at + 1], first), (near[at + 1], first)]
            polygons.append([(y, x) for x, y in ring] if not self.is_flat else ring)
        self.canvas.polygons(polygons, color, clip=self.clip)

    def texts_of_bars(self):
        info = word(self.node, "textinfo")
        if (
            get(self.node, "texttemplate") is not None
            or (not info and is_list(get(self.node, "text")))
            or info == "none"
        ):
            return super().texts_of_bars() if info != "none" else []
        texts, result = super().texts_of_bars(), []
        sizes = numpy.nan_to_num(self.sizes)
        for number, size in enumerate(sizes.tolist()[:MAX_TEXTS]):
            before, first, total = sizes[max(0, number - 1)], sizes[0], sizes.sum()
            shares = {"percent previous": before, "percent initial": first, "percent total": total}
            parts = {name: f"{size / whole:.0%}" if whole else "" for name, whole in shares.items()}
            parts |= {"value": formats.compact(size), "text": texts[number] if number < len(texts) else ""}
            parts["label"] = self.along.category(self.positions[number]) if self.along.kind == "category" else ""
            result.append("<br>".join(parts[part] for part in (info or "value").split("+") if parts.get(part)))
        return result

    def anchor_inside(self):
        return word(self.node, "insidetextanchor", "middle")


def _center(traces):
    """Puts the bars of funnels beside each other, all of them around zero."""
    gap = num(traces[0].picture.layout, "funnelgap", 0.1, 0, 0.99)
    mode = word(traces[0].picture.layout, "funnelmode", "stack")
    step = bars.least_step(traces)
    totals = {}
    for trace in traces:
        for place, size in zip(trace.positions.tolist(), numpy.nan_to_num(trace.sizes).tolist(), strict=True):
            totals[place] = totals.get(place, 0.0) + size
    ends = {place: -total / 2 for place, total in totals.items()}
    for number, trace in enumerate(traces):
        trace.room = step
        width = step * (1 - gap) / (len(traces) if mode == "group" else 1)
        start = -step * (1 - gap) / 2 + (width * number if mode == "group" else 0.0)
        trace.first, trace.last = trace.positions + start, trace.positions + start + width
        sizes = numpy.nan_to_num(trace.sizes)
        if mode in ("group", "overlay"):
            trace.near, trace.far = -sizes / 2, sizes / 2
        else:
            trace.near = numpy.array([ends.get(place, 0.0) for place in trace.positions.tolist()])
            trace.far = trace.near + sizes
            ends.update(zip(trace.positions.tolist(), trace.far.tolist(), strict=True))
        trace.errors = trace.errors_at()


class FunnelArea(DomainTrace):
    """A trace of type funnelarea: shares as slices of a funnel."""

    def calculate(self):
        labels = columns.column(get(self.node, "labels"))
        given = columns.column(get(self.node, "values"))
        values = columns.floats(given).tolist() if len(given) else [1.0] * len(labels)
        self.slices = []
        for number, value in enumerate(values):
            if value >= 0:
                label = shown(entry(labels, number, number))
                color = entry(get(self.node, "marker.colors"), number)
                own = rgba(color, self.picture.label_color(label, listed(self.picture.layout, "funnelareacolorway")))
                self.slices.append((label, value, faded(own, self.opacity), number))
        self.total = sum(value for _, value, _, _ in self.slices)
        if not self.total > 0:
            raise Unreadable("a funnel without values")

    def draw(self):
        left, bottom, right, top = self.rectangle()
        base = num(self.node, "baseratio", 0.333, 0, 1)
        middle, half, height = (left + right) / 2, (right - left) / 2, top - bottom
        done = 0.0
        size = self.picture.font[0]
        for label, value, color, number in self.slices:
            # Areas are shares of the funnel's: how far down they reach follows from those.
            ends = [_down(share / self.total, base) for share in (done, done + value)]
            widths = [half * (1 - (1 - base) * end) for end in ends]
            highs = [top - height * end for end in ends]
            ring = [(middle - widths[0], highs[0]), (middle + widths[0], highs[0])]
            ring += [(middle + widths[1], highs[1]), (middle - widths[1], highs[1])]
            self.canvas.polygons([ring], color, rgba("#fff"), 1)
            done += value
            text = self._text(label, value, number)
            self.canvas.text(middle, sum(highs) / 2, text, size, contrasting(color), ("center", "middle"))

    def _text(self, label, value, number):
        parts = {"label": label, "value": formats.compact(value), "percent": percent(value / self.total)}
        parts["text"] = shown(entry(get(self.node, "text"), number, ""))
        info = word(self.node, "textinfo", "text+percent" if parts["text"] else "percent")
        return "<br>".join(parts[part] for part in info.split("+") if parts.get(part))

    def entries(self):
        return [Entry(label, box=(color, CLEAR, 0), is_shared=True) for label, _, color, _ in self.slices]

    def shows_in_legend(self, alone):
        return flag(self.node, "showlegend", True)


def _down(share, base):
    """Returns how far down a funnel of height 1 a share of its area reaches."""
    slope = 1 - base
    if slope < 1e-9:
        return share
    area = (1 + base) / 2 * share
    return (1 - (1 - 2 * slope * area) ** 0.5) / slope if 2 * slope * area < 1 else 1.0
