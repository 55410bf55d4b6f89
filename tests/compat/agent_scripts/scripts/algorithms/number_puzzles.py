"""Primes, big numbers, fractions and symbolic answers."""

import decimal
import fractions
import math

import sympy as sp
from mpmath import mp


def sieve(limit):
    flags = bytearray([1]) * (limit + 1)
    flags[:2] = b'\0\0'
    for n in range(2, math.isqrt(limit) + 1):
        if flags[n]:
            flags[n * n :: n] = bytes(len(range(n * n, limit + 1, n)))
    return [n for n, flag in enumerate(flags) if flag]


primes = sieve(100_000)
print(len(primes), primes[-3:], sum(primes), pow(3, 2**20, 10**9 + 7), pow(38, -1, 97), math.lcm(*range(1, 21)))
print(sp.factorint(2**64 + 1), sp.nextprime(10**12), sp.isprime(2**61 - 1), sp.totient(1001), sp.divisors(360)[:8])
x, y = sp.symbols('x y')
print(
    sp.solve(x**3 - 6 * x**2 + 11 * x - 6),
    sp.integrate(sp.exp(-(x**2)), (x, -sp.oo, sp.oo)),
    sp.limit(sp.sin(x) / x, x, 0),
)
print(
    sp.series(sp.cos(x), x, 0, 6),
    sp.diff(sp.log(x) / x, x),
    sp.simplify(sp.sin(x) ** 2 + sp.cos(x) ** 2),
    sp.latex(sp.sqrt(x) / y),
)
print(sp.Matrix([[2, 1], [1, 3]]).eigenvals(), sp.solve([x + y - 3, x - y - 1], [x, y]), sp.nsolve(sp.cos(x) - x, 1))
mp.dps = 40
print(mp.pi, mp.zeta(3), mp.quad(mp.sin, [0, mp.pi]), mp.findroot(lambda t: t**3 - 2, 1.2))
with decimal.localcontext(prec=50):
    print(decimal.Decimal(2).sqrt(), decimal.Decimal(1) / 7, decimal.Decimal('1e400') * 10)
print(
    fractions.Fraction(math.pi).limit_denominator(1000),
    fractions.Fraction('3.125'),
    sum(fractions.Fraction(1, n) for n in range(1, 20)),
)
print(
    math.comb(100, 50),
    math.perm(10, 3),
    math.factorial(30),
    math.fsum([0.1] * 10),
    sum([0.1] * 10),
    math.nextafter(1, 2),
    math.ulp(1e16),
)
print(
    int('ff', 16),
    f'{10**20:,}',
    (123456789**5).bit_length(),
    divmod(-7, 3),
    -7 // 2,
    round(2.5),
    round(-0.5),
    7 % -3,
    0.1 + 0.2,
)
