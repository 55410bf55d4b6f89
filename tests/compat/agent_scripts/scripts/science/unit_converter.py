import sys
from enum import Enum

from scipy import constants
from sympy.physics import units as u
from sympy.physics.units import convert_to


class Unit(Enum):
    METER = ('m', 'length', 1.0)
    MILE = ('mi', 'length', constants.mile)
    INCH = ('in', 'length', constants.inch)
    KILOGRAM = ('kg', 'mass', 1.0)
    POUND = ('lb', 'mass', constants.pound)
    JOULE = ('J', 'energy', 1.0)
    CALORIE = ('cal', 'energy', constants.calorie)

    @classmethod
    def find(cls, symbol: str) -> 'Unit':
        for unit in cls:
            if unit.value[0] == symbol:
                return unit
        raise ValueError(f'unknown unit: {symbol!r}')


def convert(value: float, source: str, target: str) -> float:
    a, b = Unit.find(source), Unit.find(target)
    if a.value[1] != b.value[1]:
        raise TypeError(f'cannot convert {a.value[1]} to {b.value[1]}')
    return value * a.value[2] / b.value[2]


for query in [
    (26.2, 'mi', 'm'),
    (1, 'lb', 'kg'),
    (2000, 'cal', 'J'),
    (1, 'm', 'in'),
    (1, 'm', 'kg'),
    (1, 'furlong', 'm'),
]:
    try:
        print(*query, '=', f'{convert(*query):.6g}')
    except (TypeError, ValueError) as e:
        print(type(e).__name__, e)
print(
    constants.c,
    constants.h,
    constants.physical_constants['electron mass'],
    constants.convert_temperature([0, 100], 'C', 'F'),
)
print(constants.find('proton mass')[:2], constants.unit('speed of light in vacuum'))
print(
    convert_to(60 * u.mile / u.hour, [u.meter, u.second]),
    convert_to(u.speed_of_light, u.km / u.s),
    u.joule.dimension,
    convert_to(3 * u.newton, [u.kg, u.m, u.s]).n(4),
)
print(Unit.MILE, Unit['INCH'].value, len(Unit), [member.name.title() for member in Unit][:3])
sys.exit(0 if convert(1, 'm', 'm') == 1 else 4)
