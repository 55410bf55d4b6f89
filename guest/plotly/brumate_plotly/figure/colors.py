"""Colors as CSS writes them, and scales of colors."""

import colorsys
import functools
import re

import numpy
from matplotlib.colors import CSS4_COLORS, to_hex, to_rgba

from .reading import as_number, is_list

CLEAR = (0.0, 0.0, 0.0, 0.0)
BLACK = (0.0, 0.0, 0.0, 1.0)
WHITE = (1.0, 1.0, 1.0, 1.0)
# What a figure has that names neither a template nor colors.
COLORWAY = "#1f77b4 #ff7f0e #2ca02c #d62728 #9467bd #8c564b #e377c2 #7f7f7f #bcbd22 #17becf".split()
# A scale for figures that have none: from dark blue over purple and orange to yellow.
_SCALE = ("#0d0887", "#46039f", "#7201a8", "#9c179e", "#bd3786", "#d8576b", "#ed7953", "#fb9f3a", "#fdca26", "#f0f921")
# Colors of a scale's table.
_STEPS = 1024
_FUNCTION = re.compile(r"(rgb|rgba|hsl|hsla|hsv|hsva)\s*\(([^()]*)\)\Z")


@functools.lru_cache(4096)
def _parsed(text):
    text = text.strip().lower()
    if text in ("transparent", "none"):
        return CLEAR
    match = _FUNCTION.match(text)
    if match:
        return _of_parts(match[1][:3], match[2].replace("/", " ").replace(",", " ").split())
    name = CSS4_COLORS.get(text.replace(" ", ""))
    if name is None and re.fullmatch("#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", text):
        name = text
    return to_rgba(name) if name else None


def _of_parts(function, parts):
    if len(parts) not in (3, 4):
        return None
    numbers = [as_number(part.rstrip("%")) for part in parts]
    if None in numbers:
        return None
    alpha = numbers[3] / (100 if parts[3].endswith("%") else 1) if len(parts) == 4 else 1.0
    if function == "rgb":
        color = [number / (100 if part.endswith("%") else 255) for number, part in zip(numbers, parts, strict=True)][:3]
    elif function == "hsl":
        color = colorsys.hls_to_rgb(numbers[0] / 360 % 1, numbers[2] / 100, numbers[1] / 100)
    else:
        color = colorsys.hsv_to_rgb(numbers[0] / 360 % 1, numbers[1] / 100, numbers[2] / 100)
    return tuple(min(1.0, max(0.0, part)) for part in (*color, alpha))


def rgba(value, default=BLACK):
    """Returns a color as four numbers from 0 to 1; the default, a color of either form, for what is none."""
    color = _parsed(value) if isinstance(value, str) else None
    if color is not None:
        return color
    if isinstance(value, tuple) and len(value) == 4:
        return value
    return rgba(default) if isinstance(default, str) else default


def is_color(value):
    """Whether a value is a text that names a color."""
    return isinstance(value, str) and _parsed(value) is not None


def faded(color, opacity):
    """Returns a color with its opacity multiplied."""
    return (*color[:3], color[3] * opacity)


def mixed(color, other, share):
    """Returns a color with a share of another one in it."""
    return (*(a + (b - a) * share for a, b in zip(color[:3], other[:3], strict=True)), color[3])


def extended(names, number):
    """Returns one of the colors; after the last one lighter ones, and then darker ones."""
    color = rgba(names[number % len(names)])
    rounds = number // len(names) % 3
    return mixed(color, (WHITE, WHITE, BLACK)[rounds], (0.0, 0.35, 0.3)[rounds])


def contrasting(color, dark="#444", light="#fff"):
    """Returns a color for text on a color."""
    alpha = color[3]
    red, green, blue = (part * alpha + 1 - alpha for part in color[:3])
    return rgba(light if 0.299 * red + 0.587 * green + 0.114 * blue < 0.58 else dark)


def table(scale, reverse=False):
    """Returns the colors of a scale, as an array with a row of four numbers for each of its steps."""
    positions, colors = _stops(scale)
    at = numpy.linspace(0, 1, _STEPS)
    rows = numpy.array([rgba(color) for color in colors])
    result = numpy.stack([numpy.interp(at, positions, rows[:, part]) for part in range(4)], axis=1)
    return result[::-1] if reverse else result


def _stops(scale):
    """Returns positions and colors of a scale: its name, colors, or pairs of both."""
    if isinstance(scale, str):
        scale = _named(scale)
    if is_list(scale) and len(scale) > 1:
        pairs = [entry for entry in scale if is_list(entry) and len(entry) == 2]
        if len(pairs) == len(scale):
            positions = [as_number(entry[0], 0.0) for entry in pairs]
            order = sorted(range(len(pairs)), key=lambda number: positions[number])
            return [positions[number] for number in order], [pairs[number][1] for number in order]
        if all(is_color(entry) for entry in scale):
            return numpy.linspace(0, 1, len(scale)), list(scale)
    return numpy.linspace(0, 1, len(_SCALE)), _SCALE


def _named(name):
    """Returns the colors of a scale that plotly, or else matplotlib, has a name for."""
    reverse = name.lower().endswith("_r")
    base = name[:-2] if reverse else name
    try:
        from plotly.colors import get_colorscale

        return [list(entry) for entry in get_colorscale(name)]
    except Exception:
        pass
    from matplotlib import colormaps

    found = next((key for key in colormaps if key.lower() == base.lower()), None)
    if found is None:
        return None
    colors = [to_hex(colormaps[found](at / 20)) for at in range(21)]
    return colors[::-1] if reverse else colors


def looked_up(colors, values, low, high):
    """Returns the colors of a table for values between two bounds; clear for NaN."""
    span = high - low
    with numpy.errstate(all="ignore"):
        share = (values - low) / span if span else numpy.where(numpy.isnan(values), numpy.nan, 0.5)
    index = numpy.nan_to_num(numpy.clip(share, 0, 1) * (len(colors) - 1)).round().astype(int)
    result = colors[index]
    result[numpy.isnan(values)] = CLEAR
    return result
