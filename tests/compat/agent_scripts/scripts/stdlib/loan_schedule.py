import sys
from decimal import (
    ROUND_HALF_EVEN,
    ROUND_UP,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    getcontext,
    localcontext,
)
from fractions import Fraction

CENT = Decimal('0.01')


def schedule(principal: Decimal, rate: Decimal, months: int):
    monthly = rate / 12
    payment = (principal * monthly / (1 - (1 + monthly) ** -months)).quantize(CENT, ROUND_UP)
    while principal > 0:
        interest = (principal * monthly).quantize(CENT, ROUND_HALF_EVEN)
        part = min(payment - interest, principal)
        principal -= part
        yield interest, part, principal


for month, (interest, part, left) in enumerate(schedule(Decimal(1000), Decimal('0.0725'), 6), 1):
    print(f'{month:>2} {interest:>8} {part:>8} {left:>9,}')
with localcontext(prec=50) as ctx:
    print(Decimal(2).sqrt(), ctx.flags and sorted(f.__name__ for f, on in ctx.flags.items() if on))
    print(Decimal(1).exp().ln(), Decimal('1e-30').log10())
print(getcontext())
print(Decimal(0.1), Decimal('-0').is_signed(), Decimal('123.4567').to_eng_string(), Decimal('NaN').compare(Decimal(1)))
print(f'{Decimal("1234567.891"):,.2f} {Decimal("1E+5"):f} {Decimal("0.00012"):e} {Decimal("12.5"):>10%}')
for text in ('1/3', 'abc', '0x10', '1_000.5', '١٢'):
    try:
        print(repr(Decimal(text)))
    except InvalidOperation as e:
        print(text, type(e).__name__, e)
try:
    Decimal(1) / 0
except DivisionByZero as e:
    print('DivisionByZero', e)
print(Context(prec=3, traps=[]).divide(Decimal(1), Decimal(0)), Decimal(10) ** Decimal('0.5'))
f = Fraction(3, 7) + Fraction('0.25') - Fraction(1.5)
print(
    f,
    f.limit_denominator(10),
    float(f),
    round(f, 2),
    f'{f:.4f}',
    Fraction.from_decimal(Decimal('1.1')),
    Fraction('22/7') // 1,
)
print(sys.float_info.max, sys.float_info.epsilon, (0.1 + 0.2).as_integer_ratio(), (255.5).hex())
print(Fraction(1, 0))
