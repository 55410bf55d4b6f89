"""Determinants, hulls and areas without any package."""

import cmath
import math
from fractions import Fraction


def determinant(matrix):
    rows, sign, product = [[Fraction(x) for x in row] for row in matrix], 1, Fraction(1)
    for i in range(len(rows)):
        pivot = next((r for r in range(i, len(rows)) if rows[r][i]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != i:
            rows[i], rows[pivot], sign = rows[pivot], rows[i], -sign
        product *= rows[i][i]
        for r in range(i + 1, len(rows)):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return sign * product


def hull(points):
    points = sorted(set(points))

    def half(points):
        chain = []
        for p in points:
            while len(chain) > 1 and (chain[-1][0] - chain[-2][0]) * (p[1] - chain[-2][1]) <= (
                chain[-1][1] - chain[-2][1]
            ) * (p[0] - chain[-2][0]):
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return half(points) + half(reversed(points))


def area(polygon):
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True))) / 2


print(
    determinant([[2, -3, 1], [2, 0, -1], [1, 4, 5]]),
    determinant([[Fraction(1, i + j + 1) for j in range(5)] for i in range(5)]),
)
points = [(x * 7 % 11, x * 5 % 13) for x in range(20)]
print(hull(points), area(hull(points)), math.dist((0, 0, 0), (1, 2, 2)), math.hypot(3, 4, 12))
print(
    [f'{cmath.exp(2j * cmath.pi * k / 5):.4f}' for k in range(5)],
    cmath.polar(1 + 1j),
    cmath.sqrt(-2),
    complex('1+2j') ** 0.5,
)
print(
    math.degrees(math.atan2(1, -1)),
    math.sin(math.pi),
    math.tan(math.pi / 2),
    math.cos(1e22),
    math.exp(700),
    math.log1p(1e-15),
    math.gamma(0.5),
    math.erf(0.3),
    math.lgamma(100),
)
print(
    math.remainder(7, 4),
    math.fmod(-7, 4),
    math.copysign(0, -1),
    math.frexp(10.5),
    math.modf(-2.75),
    math.isclose(0.1 + 0.2, 0.3),
    math.sumprod([1, 2], [3, 4]),
)
for bad in (
    lambda: math.sqrt(-1),
    lambda: math.log(0),
    lambda: math.acos(2),
    lambda: math.exp(1000),
    lambda: 1 / 0,
    lambda: 0**-1,
    lambda: math.factorial(-1),
    lambda: int('x'),
):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, error)
