import cmath
import math
import numbers
from operator import attrgetter, itemgetter, methodcaller

print(
    math.isqrt(10**40), math.comb(60, 30), math.perm(10, 3), math.gcd(84, 126, 210), math.lcm(4, 6, 10), pow(3, -1, 11)
)
print(
    math.fsum([0.1] * 10),
    sum([0.1] * 10),
    math.sumprod([1, 2, 3], [4.5, 5, 6]),
    math.prod(range(1, 15)),
    math.dist((0, 0), (3, 4)),
)
for f in (
    math.sin,
    math.cos,
    math.tan,
    math.exp,
    math.expm1,
    math.log1p,
    math.erf,
    math.gamma,
    math.lgamma,
    math.cbrt,
    math.sinh,
    math.atan,
):
    print(f'{f.__name__:7}', [f(x) for x in (0.1, 1.7, 12.25)])
print(
    math.log(10, 3),
    math.log2(2**70 + 1),
    math.log10(1e-5),
    math.pow(2, 0.5),
    math.hypot(1e200, 1e200),
    math.remainder(7.5, 2),
)
print(
    math.frexp(0.3),
    math.ldexp(0.6, -1),
    math.modf(-3.75),
    math.nextafter(1, 2),
    math.ulp(1e16),
    math.copysign(1, -0.0),
    math.fma(2.0, 3.0, 1e-16),
)
print(
    cmath.sqrt(-2),
    cmath.exp(1j * math.pi),
    cmath.polar(3 + 4j),
    (1 + 2j) ** 3,
    (2 + 3j) ** (0.5 - 1j),
    abs(-3 + 4j),
    cmath.log(-1),
)
print(
    round(2.5), round(-3.5), round(2.675, 2), round(12345, -2), -7 // 2, -7 % 3, divmod(-7.5, 2), 7 // -2.0, int(-3.99)
)
print(1e16 + 1, 1e22, 123456789012345678.0, 1.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.7, 1 / 3, 100 * 1.1)
print(
    f'{math.pi:.50f}',
    f'{1e100:.0f}'[:30],
    '%.3g' % 1234.5,
    format(0.000123, 'g'),
    repr(float('1e23')),
    f'{1.5:a}' if False else (1.5).hex(),
)
print(
    (10**50).bit_length(),
    (255).bit_count(),
    2**100 % 97,
    int('zz', 36),
    bin(-10),
    hex(2**64),
    0b1011 ^ 0o17,
    ~5 & 0xFF,
    -1 >> 100,
)
print(
    isinstance(True, numbers.Integral),
    isinstance(1.0, numbers.Rational),
    complex('1+2j'),
    float('  -1_0.5e3 '),
    math.inf - math.inf,
)
print(
    max(('a', 3), ('b', 9), key=itemgetter(1)),
    methodcaller('split', ',')('a,b'),
    attrgetter('real')(3 + 1j),
    sorted([3, -1, 2], key=abs),
)
for action in (
    lambda: math.sqrt(-1),
    lambda: math.log(0),
    lambda: math.exp(1000),
    lambda: math.factorial(-3),
    lambda: math.gamma(0),
    lambda: 2.0**5000,
    lambda: 1 % 0,
    lambda: 0.0**-1,
    lambda: int('12a'),
    lambda: float('one'),
    lambda: math.acos(2),
    lambda: int(math.nan),
    lambda: round(math.inf),
    lambda: 1 << -1,
    lambda: 5 / 0.0,
    lambda: complex('i'),
):
    try:
        print(action())
    except (ValueError, ArithmeticError) as e:
        print(type(e).__name__, e)
print(math.comb(3.5, 2))
