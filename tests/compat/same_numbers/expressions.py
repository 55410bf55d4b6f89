"""Random expressions over numpy and pandas, as people write them: templates from `templates/` with their holes filled.

A file there has one template in a line; a line that begins with `# ` names the kind of those below it. Each kind is tried as
often as any other. A hole is one of

    <name>          what the method or the list of that name gives
    <name:3>        the same with so many elements; `<name:n>` twice in a template has the same number of elements
    <one|another>   one of these, holes within them too

The last expression of a line is what is compared; statements before it end with `; `.
"""

import random
import re
from pathlib import Path

TEMPLATES = Path(__file__).parent / 'templates'
INNERMOST = re.compile(r'<(\w+(?::\w+)?|[^<>\s][^<>]*\|[^<>]*|\|[^<>]*)>')
# Stand for the angle brackets of what filled a hole, until all are filled.
FILLED = {ord('<'): '\1', ord('>'): '\2'}
BRACKETS = {1: '<', 2: '>'}

# Where 32 bits and 64 differ.
LARGE = [2**31 - 1, 2**31, 2**32, 2**32 + 1, 5 * 10**9, 2**40, 2**53, 2**62, 2**63 - 1]
NEGATIVE = [-1, -2, -7, -128, -50000, -(2**31), -(2**31) - 1, -(2**40)]
ORDINARY = [0, 1, 2, 3, 5, 7, 10, 12, 100, 255, 256, 1000, 46341, 50000, 65536, 10**6, 10**9]
SMALL = list(range(10))
FLOATS = (
    '0.0 -0.0 1.0 -1.0 0.5 2.5 -3.75 1e-3 1e10 -1e10 3e9 1e19 1e300 -1e300 1e308 np.inf -np.inf np.nan 710.0 -750.0 '
    '1e-310 5e-324 100.0 0.1'
).split()
SIGNED = 'np.int64 np.int32 np.int16 np.int8 np.int_'.split()
INTEGERS = [*SIGNED, *'int np.uint8 np.uint16 np.uint32 np.uint64'.split(), '"i4"', '"i8"', '"int"', '"u1"']
REALS = 'float np.float64 np.float32 np.float16'.split()

# Holes that any of these fills.
LISTS = {
    'bool': ['True', 'False'],
    'small': SMALL,
    'positive': SMALL[1:],
    'few': [1, 2, 3, 4],
    'large': [*LARGE, *(-number for number in LARGE)],
    'float': FLOATS,
    'finite': '0.0 1.0 -1.0 0.5 2.5 -3.75 0.001 1e10 -12.25 100.0 0.1 1234.5678 2147483648.0 1e-7'.split(),
    'word': ['"a"', '"b"', '"c"', '"dd"'],
    'day': [f'"{day}"' for day in '2024-01-01 2024-02-29 2023-12-31 1969-07-20 2024-03-31 2050-06-15'.split()],
    'freq': [f'"{freq}"' for freq in 'D h ME MS W QE YE B 7D 36h 2W'.split()],
    'zone': ['"UTC"', '"Europe/Oslo"', '"America/New_York"', '"Asia/Kolkata"'],
    'signed': SIGNED,
    'int_type': [*INTEGERS, 'np.intp', 'bool'],
    'plain_int_type': INTEGERS,
    'float_type': [*REALS, 'complex', 'np.complex64'],
    'real_type': REALS,
    'type': [*INTEGERS, *REALS, 'bool', 'complex'],
    'order': ['<', '>', '='],
    'compare': ['<', '<=', '>', '>=', '==', '!='],
    'int_operator': ['+', '-', '*', '//', '%', '/', '&', '|', '^', '==', '<', '>='],
    'scalar_operator': ['+', '-', '*', '/', '//', '%', '<', '=='],
    'operator': ['+', '-', '*', '/', '//', '%', '**', '<', '=='],
    'unary': (
        'sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh '
        'reciprocal square abs fabs sign rint floor ceil trunc negative positive cbrt isnan isinf isfinite signbit deg2rad '
        'rad2deg spacing nan_to_num'
    ).split(),
    'binary': (
        'add subtract multiply divide floor_divide remainder fmod power float_power maximum minimum fmax fmin hypot arctan2 '
        'logaddexp logaddexp2 copysign nextafter heaviside divmod less equal greater_equal'
    ).split(),
    'int_binary': (
        'add subtract multiply floor_divide remainder fmod divide bitwise_and bitwise_or bitwise_xor maximum minimum gcd lcm '
        'less not_equal divmod logical_and arctan2 hypot'
    ).split(),
    'reduction': 'sum prod mean std var min max argmin argmax any all ptp median'.split(),
}


class Filler:
    """Fills templates."""

    def __init__(self, source):
        self.random = source
        self.length = 0

    def template(self, text):
        self.length = self.random.randint(2, 5)
        while (filled := INNERMOST.sub(self.hole, text)) != text:
            text = filled
        return text.translate(BRACKETS)

    def hole(self, match):
        text = match[1]
        if '|' in text:
            return self.pick(text.split('|'))
        name, _, count = text.partition(':')
        size = None if not count else self.length if count == 'n' else int(count)
        found = self.pick(LISTS[name]) if name in LISTS else getattr(self, name)(size)
        return str(found).translate(FILLED)

    def pick(self, choices):
        return self.random.choice(choices)

    def made_of(self, make, size):
        return '[' + ', '.join(str(make()) for _ in range(size or self.random.randint(1, 6))) + ']'

    # Each of these fills the hole of its name.

    def int(self, _=None):
        numbers = self.pick([ORDINARY, ORDINARY, LARGE, NEGATIVE])
        return self.pick(numbers) if self.random.random() < 0.6 else self.random.randint(-1000, 1000)

    def int_list(self, size):
        return self.made_of(self.int, size)

    def small_list(self, size):
        return self.made_of(lambda: self.pick(SMALL), size)

    def large_list(self, size):
        return self.made_of(lambda: self.pick(LARGE), size)

    def float_list(self, size):
        return self.made_of(lambda: self.pick(FLOATS), size)

    def finite_list(self, size):
        return self.made_of(lambda: self.pick(LISTS['finite']), size)

    def bool_list(self, size):
        return self.made_of(lambda: self.pick(LISTS['bool']), size)

    def word_list(self, size):
        return self.made_of(lambda: self.pick(LISTS['word']), size)

    def day_list(self, size):
        return self.made_of(lambda: self.pick(LISTS['day']), size)

    def distinct(self, size):
        """Numbers no two of which are the same: their order is the same for every way to sort."""
        return str(self.random.sample(range(-20, 100), size or 5))

    def distinct_words(self, size):
        return str(self.random.sample('ash birch cedar elm fir gum hazel ivy'.split(), size or 4))

    def matrix(self, size):
        """A square of small integers that has an inverse: the diagonal outweighs the rest."""
        rows = [[self.random.randint(0, 3) for _ in range(size)] for _ in range(size)]
        for index, row in enumerate(rows):
            row[index] += 4 * size
        return str(rows)

    def seed(self, _):
        return self.random.randint(0, 99)

    def ints(self, size):
        """An array of integers."""
        if size:
            return f'np.array({self.int_list(size)})'
        return self.template_within(
            'np.array(<int_list>)|np.array(<small_list>, dtype=<int_type>)|np.arange(<positive>)'
            '|np.arange(<small>, 30, <positive>)|np.arange(100000)|np.arange(2**31, 2**31 + 5)|np.arange(2**33, 2**33 + 3)'
            '|np.zeros(<few>, dtype=<int_type>)|np.ones(<few>, dtype=int)|np.full(<few>, <int>)'
            '|np.random.default_rng(<seed>).integers(2**40, size=<few>)|np.random.RandomState(<seed>).randint(0, 1000, <few>)'
            '|np.repeat(<small_list>, <few>)|np.eye(<few>, dtype=int)|np.array(<int_list:6>).reshape(2, 3)'
            '|np.array(<int_list:6>).reshape(3, 2)|np.array(<large_list>)'
        )

    def floats(self, size):
        """An array of floats."""
        if size:
            return f'np.array({self.float_list(size)})'
        return self.template_within(
            'np.array(<float_list>)|np.array(<float_list>)|np.array(<float_list>, dtype=<real_type>)'
            '|np.linspace(<small>, <int>, <positive>)|np.random.default_rng(<seed>).normal(size=<positive>)'
            '|(np.array(<small_list>) / <small>)|np.array(<finite_list:6>).reshape(2, 3)'
        )

    def array(self, size):
        return self.pick([self.ints, self.floats])(size)

    def int_scalar(self, _):
        return self.template_within(
            'np.<int64|int32|int16|int8|uint8|uint32|uint64|int_>(<0|1|2|3|7|100|127>)|np.int64(<int>)|<int>'
        )

    def float_scalar(self, _):
        return self.template_within('np.<float64|float64|float32|float16>(<float>)|<float>')

    def scalar(self, _):
        return self.pick([self.int_scalar, self.float_scalar, lambda _: f'np.complex128({self.pick(FLOATS)})'])(None)

    def series(self, size):
        return self.pick([self.int_series, self.small_series, self.float_series, self.word_series, self.other_series])(
            size
        )

    def int_series(self, size):
        return f'pd.Series({self.int_list(size or 4)})'

    def small_series(self, size):
        return f'pd.Series({self.small_list(size or self.random.randint(3, 7))})'

    def float_series(self, size):
        return f'pd.Series({self.float_list(size or 4)})'

    def word_series(self, size):
        return f'pd.Series({self.word_list(size or self.random.randint(3, 6))})'

    def other_series(self, _):
        return self.template_within(
            'pd.Series(np.arange(<positive>))|pd.Series(<small_list:3>, index=list("xyz"))|pd.Series([3, None, 1])'
            '|pd.Series(<small_list:3>, dtype="<Int64|int32|uint8|Int8|Float64|float32|category|object>")'
            '|pd.Series(<bool_list:4>)|pd.Series(["b", None, "a"])|pd.Series(pd.to_datetime(<day_list:3>))|pd.Series(range(<few>))'
        )

    def frame(self, size):
        """A table with words `k`, integers `v`, small integers `w` and floats `f`."""
        rows = size or self.random.randint(3, 6)
        floats = [self.pick([0.5, 1.25, -2.0, 100.0]) for _ in range(rows)]
        numbers = f'"v": {self.int_list(rows)}, "w": {self.small_list(rows)}, "f": {floats}'
        return f'pd.DataFrame({{"k": {self.word_list(rows)}, {numbers}}})'

    def template_within(self, choices):
        """One of the choices between bars, filled; bars within a hole do not count."""
        text = self.pick(re.split(r'\|(?![^<>]*>)', choices))
        while (filled := INNERMOST.sub(self.hole, text)) != text:
            text = filled
        return text


def kinds():
    """The templates of each kind, by its name."""
    found = {}
    for file in sorted(TEMPLATES.glob('*.txt')):
        for line in file.read_text().splitlines():
            if line.startswith('# '):
                templates = found.setdefault(f'{file.stem}: {line[2:]}', [])
            elif line:
                templates.append(line)
    return found


def expressions(seed, count):
    """Different expressions, in the order in which they were made. The same seed gives the same ones."""
    source = random.Random(seed)
    templates, filler, made = list(kinds().values()), Filler(source), {}
    while len(made) < count:
        made[filler.template(source.choice(source.choice(templates)))] = None
    return list(made)
