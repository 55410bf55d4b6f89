"""Where an axis has its ticks, and what is written there. A tick is `(position, label)`.

Positions are those of the axis: logarithms on a logarithmic one, milliseconds for dates, numbers of categories.
"""

import math

import numpy

from brumate_plotly.figure import formats
from brumate_plotly.figure.reading import as_number, flag, get, listed, num, shown, word
from brumate_plotly.figure.steps import MAX_TICKS, count, decimals, multiples, nice

from . import dates


def ticks(axis):
    """Returns the ticks of an axis, which has a range and a length."""
    if get(axis.node, "tickvals") is not None and word(axis.node, "tickmode", "array") == "array":
        found = _listed(axis)
    elif axis.kind == "category":
        found = _categories(axis)
    elif axis.kind == "date":
        found = dates.ticks(axis)
    elif axis.kind == "log":
        found = _logarithmic(axis)
    else:
        found = linear(axis)
    prefix, suffix = word(axis.node, "tickprefix"), word(axis.node, "ticksuffix")
    if prefix or suffix:
        found = [
            (at, _surrounded(axis, number, prefix, label, suffix, found)) for number, (at, label) in enumerate(found)
        ]
    return found


def _surrounded(axis, number, prefix, label, suffix, all):
    """Returns a label with prefix and suffix, where they are to be shown."""
    last = number == len(all) - 1
    shown_at = {"all": True, "none": False, "first": number == 0, "last": last}
    before = prefix if shown_at.get(word(axis.node, "showtickprefix", "all"), True) else ""
    return before + label + (suffix if shown_at.get(word(axis.node, "showticksuffix", "all"), True) else "")


def _listed(axis):
    """Returns the ticks that the figure lists."""
    values, texts = listed(axis.node, "tickvals"), listed(axis.node, "ticktext")
    found = []
    low, high = axis.bounds()
    slack = (high - low) * 1e-6
    for number, value in enumerate(values[:MAX_TICKS]):
        at = axis.convert_one(value)
        if not low - slack <= at <= high + slack:
            continue
        found.append((at, shown(texts[number]) if number < len(texts) else label(axis, at)))
    return found


def label(axis, at):
    """Returns what is written at one position, for an axis of any type."""
    if axis.kind == "category":
        return axis.category(at)
    if axis.kind == "date":
        return dates.label(axis, at)
    return _number(axis, 10.0**at if axis.kind == "log" else at, None)


def linear(axis):
    """Returns the ticks of numbers."""
    low, high = axis.bounds()
    step = num(axis.node, "dtick", 0) or nice((high - low) / count(axis))
    found = multiples(low, high, step, num(axis.node, "tick0", 0.0))
    found[numpy.abs(found) < step * 1e-9] = 0.0
    power = exponent(axis.node, max(abs(low), abs(high)))
    places = decimals(step / 10.0**power)
    return [(at, _number(axis, at, (power, places))) for at in found.tolist()]


def exponent(node, largest):
    """Returns the power of ten that is split off all labels: thousands, millions when numbers are large."""
    form = word(node, "exponentformat", "B")
    power = math.floor(math.log10(largest) + 0.01) if largest > 0 else 0
    if form == "none" or word(node, "tickformat") or abs(power) <= num(node, "minexponent", 3):
        return 0
    if form in ("SI", "B"):
        return 3 * round((power - 1) / 3) if -15 <= power <= 15 else power
    return power


def _number(axis, value, layout):
    """Returns a number as a label; `layout` has the power that is split off, and the number of decimals."""
    spec = word(axis.node, "tickformat")
    if spec:
        return formats.number(value, spec)
    if layout is None:
        return formats.compact(value)
    power, places = layout
    text = f"{abs(value) / 10.0**power:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    if flag(axis.node, "separatethousands"):
        text = formats._grouped(text)
    sign = formats.MINUS if value < 0 else ""
    return sign + text + (suffix(word(axis.node, "exponentformat", "B"), power) if value else "")


def suffix(form, power):
    """Returns what stands for a power of ten behind a number."""
    if not power:
        return ""
    if form == "power" or (form in ("SI", "B") and abs(power) > 15):
        return f"×10<sup>{power}</sup>".replace("-", formats.MINUS)
    if form in ("e", "E"):
        return f"{form}{power:+d}".replace("-", formats.MINUS)
    names = {-15: "f", -12: "p", -9: "n", -6: "μ", -3: "m", 3: "k", 6: "M", 9: "G" if form == "SI" else "B", 12: "T"}
    return names.get(power, "P" if power == 15 else "")


def _logarithmic(axis):
    """Returns the ticks of a logarithmic axis: powers of ten, or numbers between them when it has few of those."""
    low, high = axis.bounds()
    step = get(axis.node, "dtick")
    rough = (high - low) / count(axis)
    if isinstance(step, str) and step[:1] == "D":
        digits = (1, 2, 5) if step == "D2" else range(1, 10)
    elif as_number(step) or rough > 0.7:
        powers = multiples(low, high, max(1e-3, as_number(step) or math.ceil(rough)))
        return [(at, _power(axis, at)) for at in powers.tolist()]
    elif high - low < 1 or isinstance(step, str):
        return _evenly(axis, low, high)
    else:
        digits = (1, 2, 5) if rough > 0.2 else range(1, 10)
    found = []
    for power in range(math.floor(low), math.floor(high) + 1):
        for digit in digits:
            at = power + math.log10(digit)
            if low - 1e-9 <= at <= high + 1e-9:
                found.append((at, _power(axis, at) if digit in (1, 2, 5) else ""))
    return found[:MAX_TICKS]


def _evenly(axis, low, high):
    """Returns ticks at even numbers."""
    least, most = 10.0**low, 10.0**high
    step = get(axis.node, "dtick")
    step = (as_number(step[1:]) if isinstance(step, str) else None) or nice((most - least) / count(axis))
    values = [value for value in multiples(least, most, step).tolist() if value > 0]
    layout = exponent(axis.node, most), decimals(step / 10.0 ** exponent(axis.node, most))
    return [(math.log10(value), _number(axis, value, layout)) for value in values]


def _power(axis, at):
    """Returns the label at a power of ten or a few times one."""
    value = 10.0**at if abs(at) < 300 else 0.0
    spec, form = word(axis.node, "tickformat"), word(axis.node, "exponentformat", "B")
    if spec:
        return formats.number(value, spec)
    whole = abs(at - round(at)) < 1e-6
    if (form == "power" or abs(at) > 15) and whole:
        return f"10<sup>{round(at)}</sup>".replace("-", formats.MINUS)
    if form in ("e", "E") and abs(at) >= 3:
        return f"{value:.0e}".replace("e-0", f"{form}{formats.MINUS}").replace("e+0", f"{form}+")
    if 0 < value < 1e-3 or form == "none":
        return formats.number(value, ".6~r" if form == "none" else ".6~s")
    return formats.number(value, ".6~s").replace("G", "B") if value >= 1e4 else formats.number(value, ".6~r")


def _categories(axis):
    """Returns a tick for each category, or for every second, third and so on when there are many."""
    low, high = axis.bounds()
    first, last = max(0, math.ceil(low - 1e-6)), min(len(axis.categories) - 1, math.floor(high + 1e-6))
    room = max(1.0, axis.length / (1.2 * axis.tick_size()))
    wanted = num(axis.node, "nticks", 0) or room
    step = max(1, math.ceil((last - first + 1) / max(1.0, wanted)))
    step = int(num(axis.node, "dtick", step, 1))
    return [(float(number), axis.category(number)) for number in range(first, last + 1, step)]
