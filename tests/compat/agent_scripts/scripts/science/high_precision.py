from decimal import Decimal, getcontext
from fractions import Fraction

import mpmath as mp

mp.mp.dps = 50
print(mp.pi, mp.e, mp.sqrt(2), mp.euler, sep='\n')
print(mp.zeta(3), mp.gamma(mp.mpf(1) / 3), mp.nstr(mp.besselj(0, 2), 20))
print(mp.quad(lambda x: mp.exp(-(x**2)), [-mp.inf, mp.inf]) - mp.sqrt(mp.pi) < mp.mpf(10) ** -45)
print(mp.findroot(lambda x: x**3 - x - 1, 1.3), mp.nsum(lambda n: 1 / n**2, [1, mp.inf]))
print(mp.diff(mp.sin, 0), mp.taylor(mp.exp, 0, 4), mp.polyroots([1, 0, -2]), mp.identify(1.4142135623730951), sep='\n')
print(mp.matrix([[1, 2], [3, 4]]) ** -1)
print(mp.mpc(1, 2) ** mp.mpf('0.5'), mp.iv.mpf([1, 2]) / 3, mp.fac(30), mp.primepi(1000), mp.zetazero(1).imag)
with mp.workdps(15):
    print(mp.mpf(1) / 3, repr(mp.mpf('0.1')), mp.almosteq(mp.mpf('0.1') + mp.mpf('0.2'), mp.mpf('0.3')))
try:
    mp.mpf('abc')
except ValueError as e:
    print('ValueError:', e)
try:
    mp.findroot(lambda x: x**2 + 1, 1.0)
except ValueError as e:
    print('ValueError:', str(e).splitlines()[0])
getcontext().prec = 30
a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal('0.25'), Decimal(1)
for _ in range(5):
    a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, p * 2
print((a + b) ** 2 / (4 * t))
print(Fraction(1, 3) + Fraction(1, 6), Fraction(3.125), Fraction('22/7').limit_denominator(5), float(Fraction(1, 7)))
print(Decimal('1.10') + Decimal('2.205'), round(Decimal('2.675'), 2), Decimal(2).ln(), f'{Decimal("1234567.891"):,.1f}')
print(Decimal(1) / Decimal(0))
