import itertools
from functools import cache, lru_cache

import numpy as np
from scipy import fft, special


def lorenz(state: np.ndarray, s: float = 10, r: float = 28, b: float = 8 / 3) -> np.ndarray:
    x, y, z = state
    return np.array([s * (y - x), x * (r - z) - y, x * y - b * z])


def rk4(f, y: np.ndarray, h: float, steps: int) -> np.ndarray:
    out = np.empty((steps + 1, y.size))
    out[0] = y
    for i in range(steps):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[i + 1] = y
    return out


path = rk4(lorenz, np.array([1.0, 1.0, 1.0]), 0.01, 500)
print(path[[0, 100, 300]].round(4))
x = 0.4
orbit = [x := 3.9 * x * (1 - x) for _ in range(30)]
print([f'{v:.4f}' for v in orbit[:6]], len({round(v, 3) for v in orbit}))
width, height = 60, 18
re, im = np.meshgrid(np.linspace(-2.2, 0.8, width), np.linspace(-1.2, 1.2, height))
c = re + 1j * im
z, n = np.zeros_like(c), np.zeros(c.shape, int)
with np.errstate(all='ignore'):
    for _ in range(30):
        z = z**2 + c
        n += np.abs(z) < 2
print('\n'.join(''.join(' .:-=+*#%@'[min(v // 3, 9)] for v in row) for row in n))


@cache
def collatz(k: int) -> int:
    return 0 if k == 1 else 1 + collatz(k // 2 if k % 2 == 0 else 3 * k + 1)


print(max(range(1, 3000), key=collatz), collatz.cache_info().currsize > 3000)
print(
    special.gamma(5.5).round(6),
    special.erf(0.5).round(8),
    special.jv(1, 2.5).round(8),
    special.comb(30, 15, exact=True),
    special.zeta(3).round(8),
)
print(
    fft.dct([1, 2, 3]).round(6),
    fft.next_fast_len(997),
    special.expit([-1000, 0]),
    special.legendre(2),
    special.softmax([1, 2]).round(6),
)
print(
    list(itertools.accumulate(range(1, 8), lambda a, b: a * b)),
    special.lambertw(1).real.round(8),
    special.binom(5, 2.5).round(6),
)
print(special.factorial(171), special.factorial(25, exact=True), special.logsumexp([1000, 1000]).round(6))
collatz(2**4000 - 1)
