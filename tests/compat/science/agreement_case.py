"""How cases of `agreement.py` are declared: `@case(rtol, atol)` on a function that returns numbers, arrays or nests of them."""

import numpy as np

#: Each case by its name: the function, `rtol`, `atol`.
CASES = {}

#: Of larger arrays about this many elements are compared.
MAX_NUMBERS = 60


def case(rtol=1e-9, atol=1e-12):
    """Declares a case with its tolerances."""

    def add(function):
        CASES[function.__name__] = (function, rtol, atol)
        return function

    return add


def rng(seed=0):
    """A generator of random numbers."""
    return np.random.default_rng(seed)


def flat(value):
    """All numbers of a result in one list: complex ones as two, of large arrays a sample and the norm."""
    if isinstance(value, dict):
        return [number for key in sorted(value) for number in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in flat(item)]
    array = np.asarray(value)
    if array.dtype == bool:
        array = array.astype(int)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    numbers = array.ravel().astype(float)
    if numbers.size > MAX_NUMBERS:
        # An odd step visits every column.
        step = numbers.size // MAX_NUMBERS | 1
        numbers = np.append(numbers[::step], np.sqrt((numbers * numbers).sum()))
    return numbers.tolist()
