"""Where the lines and runs of a text stand, measured with the fonts that draw them."""

import math

from matplotlib.artist import Artist
from matplotlib.font_manager import FontProperties

# matplotlib's own font is wider than those that plotly's sizes are meant for.
_SCALE = 0.92
# Relative to the size of a font: distance of lines, height of capitals, depth below the line.
LINE = 1.3
_CAPITALS = 0.70
_DEPTH = 0.20
# Sizes of a font in pixels.
_MIN_SIZE = 1.0
_MAX_SIZE = 400.0
_SHARES = {"left": 0.0, "center": 0.5, "right": 1.0}


class Writer:
    """Measures and places texts; `lines` are those of [`markup.lines`]."""

    def __init__(self, renderer):
        self._renderer = renderer
        self._fonts = {}
        self._widths = {}

    def _font(self, size, bold, italic):
        key = size, bold, italic
        if key not in self._fonts:
            style = {"weight": "bold" if bold else "normal", "style": "italic" if italic else "normal"}
            self._fonts[key] = FontProperties(size=min(max(size, _MIN_SIZE), _MAX_SIZE) * _SCALE, **style)
        return self._fonts[key]

    def _width(self, text, size, bold, italic):
        key = text, size, bold, italic
        if key not in self._widths:
            font = self._font(size, bold, italic)
            self._widths[key] = self._renderer.get_text_width_height_descent(text, font, False)[0]
        return self._widths[key]

    def _line_width(self, line, size, bold, italic=False):
        return sum(self._width(run.text, size * run.scale, bold or run.bold, italic or run.italic) for run in line)

    def measure(self, lines, size, bold=False):
        """Returns width and height."""
        width = max((self._line_width(line, size, bold) for line in lines), default=0.0)
        return width, size * (LINE * (len(lines) - 1) + _CAPITALS + _DEPTH)

    def artists(self, x, y, lines, size, color, anchor, angle, bold, italic):
        """Yields an artist for each run."""
        turn = math.radians(angle)
        cosine, sine = math.cos(turn), math.sin(turn)
        across, down = anchor
        rise = self._first_baseline(len(lines), size, down)
        for line in lines:
            along = -_SHARES.get(across, 0.0) * self._line_width(line, size, bold, italic)
            for run in line:
                font = self._font(size * run.scale, bold or run.bold, italic or run.italic)
                up = rise + run.rise * size
                at = x + along * cosine + up * sine, y - along * sine + up * cosine
                if run.text.strip():
                    yield _Words(at, run.text, font, run.color or color, -angle)
                along += self._width(run.text, size * run.scale, bold or run.bold, italic or run.italic)
            rise -= LINE * size

    def _first_baseline(self, count, size, down):
        """Returns how far above the anchor the first line stands."""
        rest = LINE * size * (count - 1)
        if down == "top":
            return -(_CAPITALS + 0.1) * size
        if down == "bottom":
            return rest + _DEPTH * size
        return rest if down == "baseline" else (rest - _CAPITALS * size) / 2


class _Words(Artist):
    """Text of one style on one line. Its place is known: matplotlib's own text would measure it once more."""

    def __init__(self, place, text, font, color, angle):
        super().__init__()
        self._place, self._text, self._font, self._color, self._angle = place, text, font, color, angle

    def draw(self, renderer):
        """Draws the text."""
        context = renderer.new_gc()
        context.set_foreground(self._color)
        context.set_clip_rectangle(self.get_clip_box())
        scale = self.get_figure().dpi / 72
        x, y = self._place[0] * scale, self._place[1] * scale
        # Some formats count from above.
        y = renderer.get_canvas_width_height()[1] - y if renderer.flipy() else y
        renderer.draw_text(context, x, y, self._text, self._font, self._angle, ismath=False)
        context.restore()
