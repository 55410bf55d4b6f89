"""Steps between ticks and between bins: 1, 2 or 5 times a power of ten."""

import math

import numpy

from .reading import num

# Ticks of one axis.
MAX_TICKS = 400


def count(axis):
    """Returns how many ticks an axis of its length should have at most."""
    wanted = num(axis.node, "nticks", 0, 0, MAX_TICKS)
    if wanted:
        return wanted
    pixels = 40 if axis.is_vertical else 80
    return min(max(axis.length / pixels, 4), 9) + 1


def nice(rough, steps=(1, 2, 5, 10)):
    """Returns the least of 1, 2 and 5 times a power of ten that is no less than a number."""
    if not rough > 0 or not math.isfinite(rough):
        return 1.0
    base = 10.0 ** math.floor(math.log10(rough))
    return next((step * base for step in steps if step * base >= rough * (1 - 1e-6)), 10 * base)


def multiples(low, high, step, first=0.0):
    """Returns the multiples of a step, counted from `first`, from one number to another."""
    if not step > 0 or (high - low) / step > MAX_TICKS:
        return numpy.array([low, high])
    start = math.ceil((low - first) / step - 1e-6)
    end = math.floor((high - first) / step + 1e-6)
    return first + numpy.arange(start, end + 1) * step


def decimals(step):
    """Returns how many decimals tell the multiples of a step apart."""
    places = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    # 2.5 has one more than 2.
    while places < 12 and abs(step * 10**places - round(step * 10**places)) > 1e-6 * step * 10**places:
        places += 1
    return places
