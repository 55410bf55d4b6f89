"""Title and subtitle of a figure."""

from brumate_plotly.drawing import markup
from brumate_plotly.drawing.fitting import wrapped
from brumate_plotly.drawing.writing import LINE
from brumate_plotly.figure.colors import rgba
from brumate_plotly.figure.reading import child, choice, get, num, title_of, word

# Pixels around a title.
_PAD = 10.0


class Title:
    """Title and subtitle as the layout has them."""

    def __init__(self, picture):
        layout = picture.layout
        self.node = child(layout, "title")
        self.text = title_of(layout)
        size, color = picture.font
        font = get(self.node, "font", child(layout, "titlefont"))
        self.size = num(font, "size", 1.4 * size, 1, 200)
        self.color = rgba(get(font, "color"), color)
        self.is_bold = word(font, "weight") in ("bold", "700", "800", "900")
        self._fit(picture)
        self.subtitle = word(self.node, "subtitle.text")
        self.small = num(self.node, "subtitle.font.size", 0.7 * self.size, 1, 200)
        self.small_color = rgba(get(self.node, "subtitle.font.color"), self.color)

    def _fit(self, picture):
        """Breaks a text that is wider than the picture into lines; one with marks becomes smaller."""
        most = (1 - min(num(self.node, "x", 0.5, 0, 1), 0.1)) * picture.width - _PAD
        wide = picture.canvas.measure(self.text, self.size, self.is_bold)[0]
        if wide > most and "<" not in self.text:
            self.text = wrapped(picture.canvas, self.text, self.size * (1.1 if self.is_bold else 1.0), most)
        elif wide > most:
            self.size = max(0.6 * self.size, self.size * most / wide)

    def heights(self):
        """Returns the heights of title and subtitle."""
        rows = len(markup.lines(self.text)) if self.text else 0
        small = len(markup.lines(self.subtitle)) if self.subtitle else 0
        return rows * LINE * self.size, small * LINE * self.small + (0.2 * self.small if small else 0)


def ask(picture, frame):
    """Asks for the room above the plot that a title takes, where it stands in the margin."""
    title = Title(picture)
    height = sum(title.heights())
    y = num(title.node, "y", -1.0)
    # A title that is placed in the upper part needs the room up to its lower edge.
    if height and (y < 0 or y > 0.8) and word(title.node, "yref") != "paper":
        needed = height + 2 * _PAD if y < 0 else (1 - y) * frame.height + height + _PAD / 2
        frame.ask("t", 1.0, min(needed, 0.4 * frame.height))


def draw(picture, frame):
    """Draws title and subtitle."""
    title = Title(picture)
    if not title.text and not title.subtitle:
        return
    x, across = _across(title, frame)
    top = _top(title, frame)
    height, _ = title.heights()
    style = {"bold": title.is_bold}
    picture.canvas.text(x, top - 0.1 * title.size, title.text, title.size, title.color, (across, "top"), **style)
    if title.subtitle:
        at = top - height - 0.2 * title.small
        picture.canvas.text(x, at, title.subtitle, title.small, title.small_color, (across, "top"))


def _across(title, frame):
    x = num(title.node, "x", 0.5, 0, 1)
    across = choice(title.node, "xanchor", ("auto", "left", "center", "right"))
    if across == "auto":
        across = "left" if x < 1 / 3 else "right" if x > 2 / 3 else "center"
    at = frame.x(x) if word(title.node, "xref") == "paper" else x * frame.width
    return at + num(title.node, "pad.l", 0, 0, 500) - num(title.node, "pad.r", 0, 0, 500), across


def _top(title, frame):
    """Returns the upper edge: where the figure puts it, or in the middle of the upper margin."""
    whole = sum(title.heights())
    y = num(title.node, "y", -1.0)
    if y < 0:
        middle = frame.height - frame.margins["t"] / 2
        return min(frame.height - 4, middle + whole / 2)
    at = frame.y(y) if word(title.node, "yref") == "paper" else y * frame.height
    down = choice(title.node, "yanchor", ("auto", "top", "middle", "bottom"))
    if down == "auto":
        down = "bottom" if y < 1 / 3 else "top" if y > 2 / 3 else "middle"
    top = at + whole * {"top": 0.0, "middle": 0.5, "bottom": 1.0}[down]
    return min(frame.height - 2, top - num(title.node, "pad.t", 0, 0, 500) + num(title.node, "pad.b", 0, 0, 500))
