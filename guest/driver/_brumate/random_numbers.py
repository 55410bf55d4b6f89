"""`random` with the numbers of a platform of 64 bits, for seeds that are floats and for ranges of 2**31 and more."""

from .pristine import __builtins__

import math
import random

# The modulus of hashes of numbers on a platform of 64 bits, and the hash of infinity.
_MODULUS, _INFINITY = 2**61 - 1, 314159


def install():
    """Changes the class `random.Random`, and what its methods take for the length of a range."""
    original = random.Random.seed

    def seed(self, a=None, version=2):
        if isinstance(a, float) and not math.isnan(a):
            a = hash_of_float(a) % 2**64
        original(self, a, version)

    seed.__doc__ = original.__doc__
    seed.__module__ = "random"
    seed.__qualname__ = "Random.seed"
    random.Random.seed = seed
    # Before that of the builtins.
    random.len = length


def hash_of_float(number):
    """`hash(number)` on a platform of 64 bits."""
    if math.isinf(number):
        return _INFINITY if number > 0 else -_INFINITY
    numerator, denominator = abs(number).as_integer_ratio()
    value = numerator % _MODULUS * pow(denominator, -1, _MODULUS) % _MODULUS
    if number < 0:
        value = -value
    return -2 if value == -1 else value


def length(items, /):
    """`len(items)`, without a limit for ranges."""
    try:
        return len(items)
    except OverflowError:
        if type(items) is not range:
            raise
    return max(0, (items.stop - items.start + items.step - (1 if items.step > 0 else -1)) // items.step)
