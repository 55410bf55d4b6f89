"""Pies, and the sectors of them."""

import math
from dataclasses import dataclass

from brumate_plotly.drawing import markup
from brumate_plotly.drawing.writing import LINE
from brumate_plotly.figure import columns, formats
from brumate_plotly.figure.colors import CLEAR, contrasting, faded, is_color, rgba
from brumate_plotly.figure.reading import (
    Unreadable,
    child,
    choice,
    flag,
    get,
    is_list,
    listed,
    num,
    shown,
    title_of,
    word,
)
from brumate_plotly.layout.domains import DomainTrace, entry, sector
from brumate_plotly.layout.legend import Entry
from brumate_plotly.traces.points import font_of

# Sectors of one pie.
MAX_SECTORS = 1000


@dataclass
class _Sector:
    label: str
    value: float
    number: int
    color: tuple = CLEAR
    start: float = 0.0
    end: float = 0.0


class Pie(DomainTrace):
    """A trace of type pie."""

    def calculate(self):
        self.sectors = list(self._read().values())[:MAX_SECTORS]
        if flag(self.node, "sort", True):
            self.sectors.sort(key=lambda one: -one.value)
        # Colors follow the order of the sectors.
        for one in self.sectors:
            one.color = faded(self._color(one), self.opacity)
        self.total = sum(one.value for one in self.sectors)
        if not self.total > 0:
            raise Unreadable("a pie without values")
        self._turn()

    def _read(self):
        """Returns sectors by label; the values of a label are added up."""
        labels = columns.column(get(self.node, "labels"))
        given = columns.column(get(self.node, "values"))
        values = columns.floats(given).tolist() if len(given) else [1.0] * len(labels)
        start, step = num(self.node, "label0", 0), num(self.node, "dlabel", 1)
        found = {}
        for number, value in enumerate(values):
            label = shown(labels[number]) if number < len(labels) else shown(start + step * number)
            if not value >= 0:
                continue
            if label in found:
                found[label].value += value
            else:
                found[label] = _Sector(label, value, number)
        return found

    def _color(self, one):
        color = entry(get(self.node, "marker.colors"), one.number)
        if is_color(color):
            self.picture.label_colors.setdefault(one.label, rgba(color))
            return rgba(color)
        return self.picture.label_color(one.label, listed(self.picture.layout, "piecolorway"))

    def _turn(self):
        """Gives each sector its angles: in radians, counted from the right upwards."""
        at = math.radians(90 - num(self.node, "rotation", 0))
        clockwise = word(self.node, "direction") == "clockwise"
        sizes = [2 * math.pi * one.value / self.total for one in self.sectors]
        if not clockwise and sizes:
            # The first sector begins at the top, on the right; the others follow on the left.
            at -= sizes[0]
        for one, size in zip(self.sectors, sizes, strict=True):
            one.start, one.end = (at - size, at) if clockwise else (at, at + size)
            at += -size if clockwise else size

    def draw(self):
        left, bottom, right, top = self.rectangle()
        title = title_of(self.node)
        size = num(self.node, "title.font.size", self.picture.font[0], 1, 100)
        place = word(self.node, "title.position", "middle center" if num(self.node, "hole", 0) else "top center")
        if title and "top" in place:
            rows = LINE * size * len(markup.lines(title)) + 6
            self.canvas.text((left + right) / 2, top, title, size, self.picture.font[1], ("center", "top"))
            top -= rows
        self._radius = 0.5 * min(right - left, top - bottom) / (1 + self._most_pulled())
        self._middle = (left + right) / 2, (bottom + top) / 2
        texts = [self._text(one) for one in self.sectors]
        if self._needs_room(texts):
            self._radius *= 0.85
        for one in self.sectors:
            self._draw_sector(one)
        self._write(texts)
        if title and "middle" in place:
            self.canvas.text(*self._middle, title, size, self.picture.font[1], ("center", "middle"))

    def _most_pulled(self):
        pull = get(self.node, "pull", 0)
        return max(columns.floats(pull).tolist(), default=0.0) if is_list(pull) else num(self.node, "pull", 0, 0, 1)

    def _center(self, one):
        """Returns the point of a sector, which may be pulled out."""
        pull = get(self.node, "pull")
        pulled = (
            num({"": entry(pull, one.number, 0)}, "", 0.0, 0, 1) if is_list(pull) else num(self.node, "pull", 0, 0, 1)
        )
        angle = (one.start + one.end) / 2
        distance = pulled * self._radius
        return self._middle[0] + distance * math.cos(angle), self._middle[1] + distance * math.sin(angle)

    def _draw_sector(self, one):
        line = child(self.node, "marker.line")
        color = get(line, "color")
        edge = rgba(color if isinstance(color, str) else None, rgba("#444"))
        width = get(line, "width", 0)
        width = num({"": entry(width, one.number, 0) if is_list(width) else width}, "", 0, 0, 50)
        outline = sector(*self._center(one), self._hole() * self._radius, self._radius, one.start, one.end)
        if one.value > 0:
            self.canvas.polygons([outline], one.color, edge, width)

    def _hole(self):
        return num(self.node, "hole", 0, 0, 0.95)

    def _text(self, one):
        """Returns the text of a sector."""
        values = {"label": one.label, "value": one.value, "percent": one.value / self.total}
        values["text"] = shown(entry(get(self.node, "text"), one.number, ""))
        template = get(self.node, "texttemplate")
        if isinstance(template, str) and template:
            return formats.filled(template.replace("%{percent}", "%{percent:.3~%}"), values)
        default = "text+percent" if is_list(get(self.node, "text")) else "percent"
        parts = word(self.node, "textinfo", default).split("+")
        share = percent(one.value / self.total)
        texts = {"label": one.label, "value": formats.compact(one.value), "percent": share, "text": values["text"]}
        return "<br>".join(texts[part] for part in parts if texts.get(part))

    def _needs_room(self, texts):
        place = word(self.node, "textposition", "auto")
        if place in ("inside", "outside", "none"):
            return place == "outside"
        return any(text and not self._fits(one, text) for one, text in zip(self.sectors, texts, strict=True))

    def _inner_place(self, one):
        """Returns how far from the middle a text inside stands."""
        whole = one.end - one.start >= 2 * math.pi - 1e-6
        if whole and not self._hole():
            return 0.0
        return self._radius * max((1 + self._hole()) / 2, 0.62)

    def _fits(self, one, text):
        """Whether the corners of a text are inside of its sector."""
        width, height = self.canvas.measure(text, font_of(self, "textfont")[0])
        distance = self._inner_place(one)
        middle = (one.start + one.end) / 2
        x, y = distance * math.cos(middle), distance * math.sin(middle)
        half = (one.end - one.start) / 2
        for across in (-width / 2, 0, width / 2):
            for down in (-height / 2, height / 2):
                far = math.hypot(x + across, y + down)
                turn = (math.atan2(y + down, x + across) - middle + math.pi) % (2 * math.pi) - math.pi
                if far > self._radius or far < self._hole() * self._radius or (abs(turn) > half and half < 3.1):
                    return False
        return True

    def _write(self, texts):
        place = get(self.node, "textposition", "auto")
        outside = []
        for one, text in zip(self.sectors, texts, strict=True):
            where = entry(place, one.number, "auto") if is_list(place) else place
            if not text or where == "none":
                continue
            if where == "inside" or (where != "outside" and self._fits(one, text)):
                self._write_inside(one, text)
            elif one.value > 0:
                outside.append((one, text))
        self._write_outside(outside)

    def _write_inside(self, one, text):
        size, color, bold = font_of(self, "textfont")
        given = get(self.node, "insidetextfont.color", get(self.node, "textfont.color"))
        color = rgba(given if isinstance(given, str) else None, contrasting(one.color))
        size = num(self.node, "insidetextfont.size", size, 1, 100)
        angle = (one.start + one.end) / 2
        distance = self._inner_place(one)
        x, y = self._center(one)
        x, y = x + distance * math.cos(angle), y + distance * math.sin(angle)
        turn = 0.0
        if (
            not self._fits(one, text)
            and choice(self.node, "insidetextorientation", ("auto", "radial", "horizontal")) != "horizontal"
        ):
            turn = (-math.degrees(angle) + 90) % 180 - 90
        self.canvas.text(x, y, text, size, color, ("center", "middle"), turn, bold)

    def _write_outside(self, texts):
        """Writes texts beside their sectors, on both sides from above to below."""
        size, color, bold = font_of(self, "textfont")
        size = num(self.node, "outsidetextfont.size", size, 1, 100)
        color = rgba(get(self.node, "outsidetextfont.color"), color)
        reach = self._radius + 12
        for is_right in (True, False):
            side = [(one, text) for one, text in texts if (math.cos((one.start + one.end) / 2) >= 0) == is_right]
            side.sort(key=lambda pair: -math.sin((pair[0].start + pair[0].end) / 2))
            heights = [LINE * size * len(markup.lines(text)) for _, text in side]
            wanted = [self._center(one)[1] + reach * math.sin((one.start + one.end) / 2) for one, _ in side]
            for (one, text), at, want in zip(
                side, _apart(wanted, heights, 4.0, self.picture.height - 4.0), wanted, strict=True
            ):
                self._write_beside(one, text, at, abs(at - want) > size, is_right, (size, color, bold))

    def _write_beside(self, one, text, at, is_moved, is_right, font):
        """Writes one text at a height, with a line to its sector when it was moved."""
        x, y = self._center(one)
        angle = (one.start + one.end) / 2
        reach = self._radius + 12
        wide = max(abs(reach * math.cos(angle)), max(0.0, reach**2 - (at - y) ** 2) ** 0.5)
        place = x + (wide if is_right else -wide)
        size, color, bold = font
        if is_moved:
            tip = x + self._radius * math.cos(angle), y + self._radius * math.sin(angle)
            self.canvas.line([tip[0], place], [tip[1], at], color, 0.7)
        self.canvas.text(
            place + (2 if is_right else -2),
            at,
            text,
            size,
            color,
            ("left" if is_right else "right", "middle"),
            bold=bold,
        )

    def entries(self):
        line = num(self.node, "marker.line.width", 0, 0, 20)
        edge = rgba(word(self.node, "marker.line.color"), rgba("#444"))
        return [Entry(one.label, box=(one.color, edge, line), is_shared=True) for one in self.sectors]

    def shows_in_legend(self, alone):
        return flag(self.node, "showlegend", True)


def percent(share):
    """Returns a share as plotly writes it: three digits, of which zeros are left out."""
    text = formats.number(share * 100, ".3~r")
    return f"{text}%"


def _apart(wanted, heights, bottom, top):
    """Returns places near the wanted ones, from above to below, at which texts of these heights do not touch."""
    places, free = [], top
    for want, height in zip(wanted, heights, strict=True):
        places.append(min(want, free - height / 2))
        free = places[-1] - height / 2
    free = bottom
    for number in range(len(places) - 1, -1, -1):
        places[number] = max(places[number], free + heights[number] / 2)
        free = places[number] + heights[number] / 2
    return places
