import faulthandler
import sys

import numpy as np


def depth(n: int) -> int:
    return n if n == 0 else 1 + depth(n - 1)


print(depth(900))
try:
    depth(100_000)
except RecursionError as e:
    print('RecursionError', e)
sys.setrecursionlimit(5000)
print(depth(4500), sys.getrecursionlimit())


class Endless:
    def __repr__(self):
        return repr(self)

    def __getattr__(self, name):
        return getattr(self, name + 'x')


for action in (
    lambda: repr(Endless()),
    lambda: Endless().a,
    lambda: eval('(' * 500 + ')' * 500),
    lambda: [].__class__.__mro__[99],
):
    try:
        action()
    except Exception as e:
        print(type(e).__name__, str(e)[:45])
nested: list = []
for _ in range(2000):
    nested = [nested]
try:
    print(len(repr(nested)))
except RecursionError as e:
    print('repr', e)
for name, action in {
    'zeros': lambda: np.zeros((20000, 20000)),
    'huge': lambda: np.ones((10**6, 10**6)),
    'bytes': lambda: bytearray(10**13),
    'list': lambda: [0] * 10**15,
    'str': lambda: 'x' * 10**14,
    'range': lambda: len(range(10**20)),
    'negative': lambda: np.zeros(-1),
    'shift': lambda: 1 << 10**15,
}.items():
    try:
        result = action()
        print(name, 'ok', getattr(result, 'nbytes', None))
        del result
    except (MemoryError, OverflowError, ValueError) as e:
        print(name, type(e).__name__, e)
faulthandler.enable()
print(faulthandler.is_enabled())
faulthandler.disable()
sys.setrecursionlimit(1000)
depth(2000)
