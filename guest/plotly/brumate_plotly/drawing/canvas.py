"""What is drawn with: lines, areas, markers, pictures and text in pixels, from the lower left corner upwards.

What is drawn later covers what was drawn before. A clip is a rectangle `(left, bottom, right, top)`.
"""

import io

import matplotlib
import numpy
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.image import FigureImage
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Bbox, IdentityTransform
from PIL import Image

from brumate_plotly.figure.colors import CLEAR

from . import markers
from .markup import lines
from .writing import Writer

# A point is a pixel.
_DPI = 72
# Less than usual: it takes half the time for a tenth more bytes.
_COMPRESSION = 4
# Of JPEG and WebP.
_QUALITY = 92
# Formats without pixels.
VECTORS = ("svg", "pdf")
# Coordinates further away are moved here: Agg's are no larger.
_FAR = 30_000.0
# Who draws these pictures has no say in what they look like.
_SETTINGS = {
    "lines.scale_dashes": False,
    "path.simplify": True,
    "path.simplify_threshold": 1 / 9,
    "agg.path.chunksize": 20_000,
}
_DASHES = {
    "dot": (1, 1),
    "dash": (3, 3),
    "longdash": (5, 5),
    "dashdot": (3, 1, 1, 1),
    "longdashdot": (5, 2, 1, 2),
}


def defaults():
    """Returns matplotlib's own settings, without those that choose a backend."""
    settings = dict(dict.items(matplotlib.rcParamsDefault))
    for name in [name for name in settings if name.startswith(("backend", "webagg", "toolbar", "interactive"))]:
        del settings[name]
    return settings | _SETTINGS


def dashes(dash, width):
    """Returns the line style of matplotlib for a dash: its name, or lengths in pixels."""
    if not isinstance(dash, str) or dash == "solid":
        return "solid"
    if dash in _DASHES:
        return 0, tuple(part * max(3.0, width) for part in _DASHES[dash])
    try:
        parts = tuple(abs(float(part.removesuffix("px"))) for part in dash.replace(",", " ").split())
    except ValueError:
        return "solid"
    return (0, parts * (2 if len(parts) % 2 else 1)) if parts and sum(parts) > 0 else "solid"


def _near(points):
    return numpy.clip(numpy.asarray(points, dtype=float), -_FAR, _FAR)


class Canvas:
    """A picture of so many pixels; `scale` times as many are drawn."""

    def __init__(self, width, height, color, scale=1.0):
        self.width, self.height, self._scale = width, height, scale
        self._base = IdentityTransform() if scale == 1 else Affine2D().scale(scale)
        # The size is rounded down: a little more than it is.
        inches = [(side + 0.001) / _DPI for side in (width, height)]
        self.figure = Figure(figsize=inches, dpi=_DPI * scale, facecolor=color, edgecolor=CLEAR, layout="none")
        self._agg = FigureCanvasAgg(self.figure)
        # Texts are measured in pixels of the figure.
        measuring = self._agg if scale == 1 else FigureCanvasAgg(Figure(figsize=inches, dpi=_DPI))
        self._writer = Writer(measuring.get_renderer())

    def encoded(self, kind):
        """Returns the picture as a file of this format."""
        buffer = io.BytesIO()
        if kind in VECTORS:
            self.figure.savefig(buffer, format=kind, dpi=_DPI, facecolor=self.figure.get_facecolor())
            return buffer.getvalue()
        self._agg.draw()
        pixels = numpy.asarray(self._agg.buffer_rgba())[..., :3]
        image = Image.fromarray(numpy.ascontiguousarray(pixels))
        if kind == "png":
            image.save(buffer, "PNG", compress_level=_COMPRESSION)
        else:
            image.save(buffer, "WEBP" if kind == "webp" else "JPEG", quality=_QUALITY)
        return buffer.getvalue()

    def _add(self, artist, clip):
        if not artist.is_transform_set():
            artist.set_transform(self._base)
        if clip is not None:
            artist.set_clip_box(Bbox.from_extents(*(side * self._scale for side in clip)))
        artist.set_zorder(1)
        self.figure.add_artist(artist)

    def line(self, xs, ys, color, width=1.0, dash="solid", clip=None, round_ends=False):
        """Draws one line; NaN interrupts it."""
        if width <= 0 or color[3] <= 0 or len(xs) < 2:
            return
        ends = "round" if round_ends else "butt"
        style = {"solid_capstyle": ends, "dash_capstyle": "butt", "solid_joinstyle": "round"}
        artist = Line2D(_near(xs), _near(ys), color=color, linewidth=width, linestyle=dashes(dash, width), **style)
        self._add(artist, clip)

    def segments(self, segments, color, width=1.0, dash="solid", clip=None):
        """Draws many lines, each a list of points; `color` is one for all or one for each."""
        if len(segments) and numpy.any(numpy.asarray(width) > 0):
            near = [_near(segment) for segment in segments]
            widest = float(numpy.max(width))
            self._add(LineCollection(near, colors=color, linewidths=width, linestyles=dashes(dash, widest)), clip)

    def polygons(self, polygons, fill, edge=CLEAR, width=0.0, dash="solid", clip=None):
        """Draws polygons; `fill` and `edge` are one for all or one for each."""
        if len(polygons):
            near = [_near(polygon) for polygon in polygons]
            width = numpy.where(numpy.asarray(width) > 0, width, 0.0)
            line = {"linewidths": width, "linestyles": dashes(dash, float(numpy.max(width)))}
            if not numpy.any(width):
                edge = CLEAR
            self._add(PolyCollection(near, facecolors=fill, edgecolors=edge, **line), clip)

    def rectangles(self, left, bottom, right, top, fill, edge=CLEAR, width=0.0, clip=None):
        """Draws rectangles with these sides, as numbers or arrays."""
        sides = numpy.broadcast_arrays(
            *(numpy.atleast_1d(numpy.asarray(side, float)) for side in (left, bottom, right, top))
        )
        left, bottom, right, top = sides
        corners = numpy.stack([left, bottom, left, top, right, top, right, bottom], axis=1).reshape(-1, 4, 2)
        self.polygons(corners, fill, edge, width, clip=clip)

    def hatch(self, left, bottom, right, top, pattern, color, clip=None):
        """Draws a pattern of matplotlib over rectangles."""
        for sides in zip(left, bottom, right, top, strict=True):
            path = Path([(sides[0], sides[1]), (sides[0], sides[3]), (sides[2], sides[3]), (sides[2], sides[1])])
            style = {"facecolor": CLEAR, "edgecolor": color, "linewidth": 0.0, "hatch": pattern}
            self._add(PathPatch(path, **style), clip)

    def area(self, rings, fill, edge=CLEAR, width=0.0, dash="solid", clip=None):
        """Draws one area out of closed lines; one inside another is a hole when it goes round the other way."""
        rings = [_near(ring) for ring in rings if len(ring) > 1]
        if not rings:
            return
        vertices = numpy.concatenate([numpy.concatenate([ring, ring[:1]]) for ring in rings])
        codes = numpy.full(len(vertices), Path.LINETO, dtype=Path.code_type)
        starts = numpy.cumsum([0, *(len(ring) + 1 for ring in rings)])
        codes[starts[:-1]] = Path.MOVETO
        codes[starts[1:] - 1] = Path.CLOSEPOLY
        style = {"facecolor": fill, "edgecolor": edge if width > 0 else CLEAR, "linewidth": max(0.0, width)}
        self._add(PathPatch(Path(vertices, codes), linestyle=dashes(dash, width), **style), clip)

    def markers(self, xs, ys, symbols, sizes, fills, edges=CLEAR, widths=0.0, clip=None):
        """Draws markers; what is said of them holds for all of them, or is an array with an entry for each."""
        points = numpy.column_stack([_near(xs), _near(ys)])
        for artist in markers.artists(points, symbols, sizes, fills, edges, widths):
            # Their size follows the resolution, their place does not.
            artist.set_transform(IdentityTransform())
            artist.set_offset_transform(self._base)
            self._add(artist, clip)

    def picture(self, rows, left, bottom, clip=None):
        """Draws an array of colors, a pixel for each of its rows' entries, the lowest row first."""
        left, bottom = left * self._scale, bottom * self._scale
        image = FigureImage(self.figure, offsetx=left, offsety=bottom, origin="lower")
        pixels = (numpy.clip(rows, 0, 1) * 255 + 0.5).astype(numpy.uint8)
        if self._scale != 1:
            down, across = (
                numpy.minimum(numpy.arange(round(count * self._scale)) / self._scale, count - 1).astype(int)
                for count in pixels.shape[:2]
            )
            pixels = pixels[down][:, across]
        image.set_data(pixels)
        self._add(image, clip)

    def measure(self, source, size, bold=False):
        """Returns width and height of a text."""
        return self._writer.measure(lines(source), size, bold)

    def text(
        self, x, y, source, size, color, anchor=("left", "middle"), angle=0.0, bold=False, italic=False, clip=None
    ):
        """Writes a text, turned clockwise by degrees, with its anchor at a point.

        The anchor is `left`, `center` or `right`, and `top`, `middle`, `bottom` or `baseline`.
        """
        if -_FAR < x < _FAR and -_FAR < y < _FAR:
            for artist in self._writer.artists(x, y, lines(source), size, color, anchor, angle, bold, italic):
                self._add(artist, clip)
