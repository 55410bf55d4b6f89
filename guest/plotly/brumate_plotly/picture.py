"""One picture, from a figure's dictionary to its bytes."""

import warnings

import matplotlib
import numpy

from brumate_plotly import MAX_PIXELS, MAX_POINTS, MAX_SCALE, TooLarge
from brumate_plotly.drawing.canvas import VECTORS, Canvas, defaults
from brumate_plotly.figure.colors import COLORWAY, WHITE, extended, is_color, mixed, rgba
from brumate_plotly.figure.mapping import Mappings
from brumate_plotly.figure.reading import Unreadable, child, get, listed, num, word
from brumate_plotly.figure.resolving import Resolved
from brumate_plotly.layout import annotations, legend, titles
from brumate_plotly.layout.colorbar import Colorbar
from brumate_plotly.layout.frame import Frame
from brumate_plotly.subplots.cartesian import Cartesian
from brumate_plotly.traces.kinds import EXPANDED, class_of

# How often places are found anew: labels depend on the length of an axis, and that on the room for labels.
_ROUNDS = 3


def drawn(figure, notes, kind, scale):
    """Returns the picture of a figure; nothing when none of its traces can be drawn."""
    # The settings are those of matplotlib while we draw, whatever the guest has made of them.
    with matplotlib.rc_context(), warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        dict.update(matplotlib.rcParams, defaults())
        resolved = Resolved(figure, notes)
        if kind in VECTORS:
            scale = 1.0
        pixels = resolved.width * resolved.height * scale * scale
        if not 0 < scale <= MAX_SCALE or pixels > MAX_PIXELS:
            size = f"{resolved.width} x {resolved.height} pixels times {scale:g}"
            raise TooLarge(
                f"a picture has at most {MAX_PIXELS:,} pixels and {MAX_SCALE:g} times its figure's size, not {size}"
            )
        picture = Picture(resolved, notes, scale)
        return picture.drawn(kind) if picture.traces else b""


class Picture:
    """What traces, axes and the rest share while they are drawn."""

    def __init__(self, resolved, notes, scale):
        self.layout, self.notes = resolved.layout, notes
        self.width, self.height = resolved.width, resolved.height
        self.template_axes, self.own_names = resolved.template_axes, resolved.own_names
        paper = rgba(get(self.layout, "paper_bgcolor"), "#fff")
        # Who looks at the picture sees nothing behind it: what is clear is white.
        self.paper = (*mixed(WHITE, paper, paper[3])[:3], 1.0)
        self.plot_color = rgba(get(self.layout, "plot_bgcolor"), "#fff")
        self.font = num(self.layout, "font.size", 12, 1, 100), rgba(get(self.layout, "font.color"), "#444")
        self.canvas = Canvas(self.width, self.height, self.paper, scale)
        self.frame = Frame(self.layout, self.width, self.height)
        self.cartesian = Cartesian(self)
        self.mappings = Mappings(self.layout)
        self.budget = max(1000, MAX_POINTS // max(1, len(resolved.traces)))
        # Colors of sectors, by label: pies with the same labels have the same colors.
        self.label_colors = {}
        self.subplots = {}
        # Numbers of the axes that stand for maps.
        self.map_axes = {}
        self.traces = []
        self._make_traces(resolved.traces)

    def template_axis(self, letter):
        """Returns what holds for axes that the layout does not name."""
        return child(self.template_axes, f"{letter}axis")

    def subplot(self, name, kind):
        """Returns the subplot with a name: a polar one, a scene, or another one that is no pair of axes."""
        if (name, kind) not in self.subplots:
            self.subplots[name, kind] = kind(self, name)
        return self.subplots[name, kind]

    def label_color(self, label, own=()):
        """Returns the color of a label: the next one that no other label has."""
        if label not in self.label_colors:
            colors = [color for color in own if is_color(color)]
            colors = colors or [color for color in listed(self.layout, "colorway") if is_color(color)] or COLORWAY
            self.label_colors[label] = extended(colors, len(self.label_colors))
        return self.label_colors[label]

    def _make_traces(self, resolved):
        for number, node, color in resolved:
            kind = word(node, "type")
            expand = EXPANDED.get(kind)
            for part in expand(self, node) if expand else (node,):
                self._attempt(kind, lambda part=part, number=number, color=color: self._make(number, part, color))
        self._each("see")
        weighted = [entry for trace in self.traces for entry in trace.weights()]
        self.cartesian.settle_kinds(weighted)
        self._each("calculate")
        for arrange in dict.fromkeys(trace.arrange for trace in self.traces if trace.arrange):
            arrange([trace for trace in self.traces if trace.arrange is arrange])
        self._each("need")

    def _make(self, number, node, color):
        kind = class_of(word(node, "type"))
        if kind is None:
            self.notes.add(word(node, "type"))
        else:
            self.traces.append(kind(self, number, node, color))

    def _attempt(self, kind, step):
        """Does a step for a trace. Returns whether that worked; what fails is noted."""
        try:
            step()
        except Exception as error:
            reason = (
                str(error)
                if isinstance(error, Unreadable)
                else f"a trace that is not understood: {type(error).__name__}"
            )
            self.notes.add(f"{kind} ({reason})")
            return False
        return True

    def _each(self, step):
        """Does a step for each trace; those that fail are left out."""
        kept = [trace for trace in self.traces if self._attempt(word(trace.node, "type"), getattr(trace, step))]
        self.traces = kept

    def drawn(self, kind):
        """Draws the picture and returns it."""
        self.cartesian.add_empty()
        self.cartesian.settle_kinds([])
        bars = [Colorbar(self, mapping) for mapping in self.mappings.all if mapping.has_bar]
        legends = self._legends()
        self._find_places(bars, legends)
        self._draw(bars, legends)
        return self.canvas.encoded(kind)

    def _legends(self):
        found = []
        for name, entries in legend.collect(self.traces, self.layout).items():
            one = legend.Legend(self, name)
            one.fill(entries, any(trace.reverses_legend for trace in self.traces))
            found.append(one)
        return found

    def _find_places(self, bars, legends):
        """Finds margins and places; each round starts from those that the one before has found."""
        frame = self.frame
        for _ in range(_ROUNDS):
            before = dict(frame.margins)
            self.cartesian.place(frame)
            self.cartesian.settle_ranges()
            self.cartesian.keep_scales()
            frame.forget()
            self.cartesian.lay_out(self.canvas, frame)
            shift = 0.0
            for bar in bars:
                shift += bar.ask(frame, shift)
            for one in legends:
                one.ask(frame, shift)
            titles.ask(self, frame)
            frame.settle()
            if all(abs(frame.margins[side] - before[side]) < 1 for side in before):
                break
        self.cartesian.place(frame)
        self.cartesian.settle_ranges()
        self.cartesian.keep_scales()
        self.cartesian.lay_out(self.canvas, frame)

    def _draw(self, bars, legends):
        places = annotations.Places(self.cartesian, self.frame)
        for subplot in self.subplots.values():
            self._decorate("a subplot", subplot.settle)
        self.cartesian.draw_backgrounds(self.canvas, self.plot_color)
        self._decorate("shapes", lambda: annotations.draw_shapes(self, self.layout, places, below=True))
        self.traces.sort(key=lambda trace: trace.layer)
        self._each("draw")
        self.cartesian.draw_sides(self.canvas, self.frame)
        self._decorate("shapes", lambda: annotations.draw_shapes(self, self.layout, places, below=False))
        for bar in bars:
            self._decorate("a colorbar", lambda bar=bar: bar.draw(self.frame))
        for one in legends:
            self._decorate("a legend", lambda one=one: one.draw(self.frame))
        self._decorate("the title", lambda: titles.draw(self, self.frame))
        self._decorate("annotations", lambda: annotations.draw_annotations(self, self.layout, places))

    def _decorate(self, what, step):
        """Draws something that is no trace; what fails is noted."""
        try:
            step()
        except Exception as error:
            self.notes.add(f"{what} ({type(error).__name__})")
