"""Treemaps, sunbursts and icicles: how they divide their room among the parts of a tree."""

import math

from brumate_plotly.drawing.fitting import cut
from brumate_plotly.figure.reading import choice, flag, num, word
from brumate_plotly.layout.domains import sector
from brumate_plotly.traces.points import font_of

from .tree import Tree


class Treemap(Tree):
    """A trace of type treemap."""

    leaf_opacity = 0.7

    def draw(self):
        left, bottom, right, top = self.rectangle()
        if flag(self.node, "pathbar.visible", True) and self.root.label:
            top = self._draw_path(left, right, top)
        self._draw_part(self.root, (left, bottom, right, top))

    def _draw_path(self, left, right, top):
        """Draws the bar with the name of the root. Returns what is left of the height."""
        size = num(self.node, "pathbar.textfont.size", self.picture.font[0], 1, 100)
        height = size * 1.3 + 6
        self.canvas.text(left + 6, top - height / 2, self.root.label, size, self.picture.font[1])
        return top - height

    def _draw_part(self, part, box):
        left, bottom, right, top = box
        if right - left < 1 or top - bottom < 1:
            return
        fill, (edge, width) = self.fill(part), self.edge()
        is_root = part is self.root
        if not is_root or fill[3]:
            self.canvas.rectangles(*box, fill, edge, width)
        size, _, bold = font_of(self, "textfont")
        text = "" if is_root and not fill[3] else self.text(part)
        rows = self._write(part, box, text, size, fill, bold)
        if part.parts:
            pad = num(self.node, "tiling.pad", 0, 0, 100)
            sides = num(self.node, "marker.pad.l", size / 4 if not is_root else 0, 0, 100)
            above = num(self.node, "marker.pad.t", rows + 4 if rows else sides, 0, 200)
            inner = left + sides, bottom + sides, right - sides, top - above
            if inner[2] > inner[0] and inner[3] > inner[1]:
                for one, place in zip(part.parts, divided(part, inner), strict=True):
                    self._draw_part(one, _padded(place, pad))

    def _write(self, part, box, text, size, fill, bold):
        """Writes the text of a part. Returns how high it is."""
        left, bottom, right, top = box
        room, height = right - left - 6, top - bottom - 4
        if not text or room < 12 or height < size * 0.6:
            return 0.0
        wide, high = self.canvas.measure(text, size, bold)
        shade = self.shade(fill)
        if part.parts:
            line = cut(self.canvas, text.split("<br>")[0], size, room)
            self.canvas.text(left + 4, top - 2, line, size, shade, ("left", "top"), bold=bold)
            return size * 1.1
        scale = min(1.0, room / max(wide, 1.0), height / max(high, 1.0))
        if scale < 0.5:
            return 0.0
        place = word(self.node, "textposition", "top left")
        down = "bottom" if "bottom" in place else "middle" if "middle" in place else "top"
        across = "right" if "right" in place else "center" if "center" in place else "left"
        x = {"left": left + 4, "center": (left + right) / 2, "right": right - 4}[across]
        y = {"top": top - 2, "middle": (top + bottom) / 2, "bottom": bottom + 2}[down]
        self.canvas.text(x, y, text, size * scale, shade, (across, down), bold=bold)
        return high


def _padded(box, pad):
    left, bottom, right, top = box
    return left + pad / 2, bottom + pad / 2, right - pad / 2, top - pad / 2


def divided(part, box):
    """Returns a rectangle for each part of a part, nearly as wide as high, with areas like their values."""
    left, bottom, right, top = box
    whole = part.value or 1.0
    scale = (right - left) * (top - bottom) / whole
    areas = [max(one.value * scale, 1e-9) for one in part.parts]
    # What the parts do not make up stays free.
    result, start = [], 0
    while start < len(areas):
        width, height = right - left, top - bottom
        short = max(1e-9, min(width, height))
        end = start + 1
        while end < len(areas) and _worst(areas[start : end + 1], short) <= _worst(areas[start:end], short):
            end += 1
        row = areas[start:end]
        depth = min(sum(row) / short, max(width, height))
        at = 0.0
        for area in row:
            along = area / max(depth, 1e-9)
            if width >= height:
                result.append((left, top - at - along, left + depth, top - at))
            else:
                result.append((left + at, top - depth, left + at + along, top))
            at += along
        if width >= height:
            left += depth
        else:
            top -= depth
        start = end
    return result


def _worst(areas, short):
    """Returns the ratio of the sides of the longest rectangle of a row."""
    total = sum(areas)
    return max(short**2 * max(areas) / total**2, total**2 / (short**2 * min(areas)))


class Sunburst(Tree):
    """A trace of type sunburst."""

    leaf_opacity = 0.7

    def draw(self):
        left, bottom, right, top = self.rectangle()
        self._middle = (left + right) / 2, (bottom + top) / 2
        parts = self.parts()
        levels = max(part.level for part in parts)
        self._ring = min(right - left, top - bottom) / 2 / (levels + 1)
        self._angles = {}
        turn = math.radians(90 - num(self.node, "rotation", 0))
        self._spread(self.root, turn, turn - 2 * math.pi)
        for part in parts:
            self._draw_part(part)

    def _spread(self, part, start, end):
        """Gives a part its angles, and those of its parts within them."""
        self._angles[id(part)] = start, end
        at, whole = start, part.value or 1.0
        for one in part.parts:
            size = (end - start) * one.value / whole
            self._spread(one, at, at + size)
            at += size

    def _draw_part(self, part):
        start, end = self._angles[id(part)]
        inner, outer = part.level * self._ring, (part.level + 1) * self._ring
        fill, (edge, width) = self.fill(part), self.edge()
        if abs(end - start) * outer < 0.3:
            return
        if fill[3]:
            self.canvas.polygons([sector(*self._middle, inner, outer, start, end)], fill, edge, width)
        text = self.text(part)
        if text:
            self._write(part, text, (start + end) / 2, abs(end - start), fill)

    def _write(self, part, text, angle, span, fill):
        size, _, bold = font_of(self, "textfont")
        wide, high = self.canvas.measure(text, size, bold)
        x, y = self._middle
        if part.level == 0:
            scale = min(1.0, 1.7 * self._ring / max(wide, 1.0))
            self.canvas.text(x, y, text, size * scale, self.shade(fill), ("center", "middle"), bold=bold)
            return
        far = (part.level + 0.5) * self._ring
        arc, depth = span * far, self._ring - 4
        # Along the radius or across it, whichever leaves more room.
        along = min(1.0, depth / wide, arc / high)
        across = min(1.0, arc * 0.85 / wide, depth / high) if span < 3 else min(1.0, far / wide)
        scale = max(along, across)
        if scale < 0.5:
            return
        degrees = -math.degrees(angle) if along > across else 90 - math.degrees(angle)
        degrees = (degrees + 90) % 180 - 90
        at = x + far * math.cos(angle), y + far * math.sin(angle)
        self.canvas.text(*at, text, size * scale, self.shade(fill), ("center", "middle"), degrees, bold)


class Icicle(Tree):
    """A trace of type icicle."""

    leaf_opacity = 0.7

    def draw(self):
        left, bottom, right, top = self.rectangle()
        self._levels = max(part.level for part in self.parts()) + 1
        self._is_flat = choice(self.node, "tiling.orientation", ("h", "v")) == "h"
        self._box = left, bottom, right, top
        self._flips = word(self.node, "tiling.flip")
        self._draw_part(self.root, 0.0, 1.0)

    def _draw_part(self, part, start, end):
        box = self._place(part.level, start, end)
        if min(box[2] - box[0], box[3] - box[1]) < 0.3:
            return
        fill, (edge, width) = self.fill(part), self.edge()
        self.canvas.rectangles(*box, fill, edge, width)
        self._write(part, box, fill)
        at, whole = start, part.value or 1.0
        for one in part.parts:
            size = (end - start) * one.value / whole
            self._draw_part(one, at, at + size)
            at += size

    def _place(self, level, start, end):
        left, bottom, right, top = self._box
        if self._is_flat:
            step = (right - left) / self._levels
            xs = left + level * step, left + (level + 1) * step
            ys = top - end * (top - bottom), top - start * (top - bottom)
        else:
            step = (top - bottom) / self._levels
            xs = left + start * (right - left), left + end * (right - left)
            ys = top - (level + 1) * step, top - level * step
        if "x" in self._flips:
            xs = left + right - xs[1], left + right - xs[0]
        if "y" in self._flips:
            ys = bottom + top - ys[1], bottom + top - ys[0]
        return xs[0], ys[0], xs[1], ys[1]

    def _write(self, part, box, fill):
        text = self.text(part)
        size, _, bold = font_of(self, "textfont")
        left, bottom, right, top = box
        wide, high = self.canvas.measure(text, size, bold)
        scale = min(1.0, (right - left - 6) / max(wide, 1.0), (top - bottom - 2) / max(high, 1.0))
        if text and scale >= 0.5:
            self.canvas.text(left + 4, top - 2, text, size * scale, self.shade(fill), ("left", "top"), bold=bold)
