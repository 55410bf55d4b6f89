"""Random expressions over numpy and pandas, as people write them."""

import random

# Where 32 bits and 64 differ, and where nothing does.
INTEGERS = [
    0,
    1,
    2,
    3,
    5,
    7,
    10,
    12,
    100,
    255,
    256,
    1000,
    46341,
    50000,
    65536,
    10**6,
    10**9,
    2**31 - 1,
    2**31,
    2**32,
    2**32 + 1,
    5 * 10**9,
    2**40,
    2**53,
    2**62,
    2**63 - 1,
    -1,
    -2,
    -7,
    -128,
    -50000,
    -(2**31),
    -(2**31) - 1,
    -(2**40),
]
SMALL = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
FLOATS = [
    '0.0',
    '-0.0',
    '1.0',
    '-1.0',
    '0.5',
    '2.5',
    '-3.75',
    '1e-3',
    '1e10',
    '-1e10',
    '3e9',
    '1e19',
    '1e300',
    '-1e300',
    '1e308',
    'np.inf',
    '-np.inf',
    'np.nan',
    '710.0',
    '-750.0',
    '1e-310',
    '5e-324',
    '100.0',
    '0.1',
]
INT_TYPES = [
    'int',
    'np.int64',
    'np.int32',
    'np.int16',
    'np.int8',
    'np.uint8',
    'np.uint16',
    'np.uint32',
    'np.uint64',
    'np.int_',
    "'i4'",
    "'i8'",
    "'int'",
    'np.intp',
    'bool',
]
FLOAT_TYPES = ['float', 'np.float64', 'np.float32', 'np.float16', 'complex', 'np.complex64']
UNARY = [
    'sqrt',
    'exp',
    'exp2',
    'expm1',
    'log',
    'log2',
    'log10',
    'log1p',
    'sin',
    'cos',
    'tan',
    'arcsin',
    'arccos',
    'arctan',
    'sinh',
    'cosh',
    'tanh',
    'arcsinh',
    'arccosh',
    'arctanh',
    'reciprocal',
    'square',
    'abs',
    'sign',
    'rint',
    'floor',
    'ceil',
    'trunc',
    'negative',
    'cbrt',
    'isnan',
    'isinf',
    'isfinite',
    'signbit',
    'deg2rad',
    'rad2deg',
    'spacing',
    'nan_to_num',
]
BINARY = [
    'add',
    'subtract',
    'multiply',
    'divide',
    'floor_divide',
    'remainder',
    'fmod',
    'power',
    'float_power',
    'maximum',
    'minimum',
    'fmax',
    'fmin',
    'hypot',
    'arctan2',
    'logaddexp',
    'copysign',
    'nextafter',
    'heaviside',
    'divmod',
    'less',
    'equal',
    'greater_equal',
]
INT_BINARY = [
    'add',
    'subtract',
    'multiply',
    'floor_divide',
    'remainder',
    'divide',
    'bitwise_and',
    'bitwise_or',
    'bitwise_xor',
    'maximum',
    'minimum',
    'gcd',
    'lcm',
    'less',
    'not_equal',
    'divmod',
]
REDUCTIONS = [
    'sum',
    'prod',
    'mean',
    'std',
    'var',
    'min',
    'max',
    'argmin',
    'argmax',
    'any',
    'all',
    'cumsum',
    'cumprod',
    'ptp',
]


class Generator:
    """Makes expressions; the same seed gives the same ones."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.kinds = [getattr(self, name) for name in sorted(dir(type(self))) if name.startswith('of_')]

    def one(self):
        return self.random.choice(self.kinds)()

    def pick(self, choices):
        return self.random.choice(choices)

    def integer(self):
        return self.pick(INTEGERS) if self.random.random() < 0.6 else self.random.randint(-1000, 1000)

    def integers(self, least=1, most=6, source=None):
        count = self.random.randint(least, most)
        return '[' + ', '.join(str(self.pick(source) if source else self.integer()) for _ in range(count)) + ']'

    def floats(self, count=None):
        return '[' + ', '.join(self.pick(FLOATS) for _ in range(count or self.random.randint(1, 6))) + ']'

    def size(self):
        return self.random.randint(1, 9)

    def int_array(self):
        return self.pick(
            [
                lambda: f'np.array({self.integers()})',
                lambda: f'np.array({self.integers(source=SMALL)}, dtype={self.pick(INT_TYPES)})',
                lambda: f'np.arange({self.random.randint(1, 12)})',
                lambda: f'np.arange({self.pick(SMALL)}, {self.random.randint(10, 40)}, {self.random.randint(1, 7)})',
                lambda: self.pick(['np.arange(100000)', 'np.arange(2**31, 2**31 + 5)', 'np.arange(2**33, 2**33 + 3)']),
                lambda: f'np.{self.pick(["zeros", "ones"])}({self.size()}, dtype={self.pick(INT_TYPES)})',
                lambda: f'np.full({self.size()}, {self.integer()})',
                lambda: (
                    f'np.random.default_rng({self.size()}).integers({self.pick([5, 1000, 2**31 - 1, 2**40])}, size={self.size()})'
                ),
                lambda: (
                    f'np.random.RandomState({self.size()}).randint(0, {self.pick([5, 1000, 2**31 - 1])}, {self.size()})'
                ),
                lambda: f'np.repeat({self.integers(source=SMALL)}, {self.size()})',
                lambda: f'np.eye({self.random.randint(1, 4)}, dtype=int)',
                lambda: f'np.array({self.integers(6, 6)}).reshape({self.pick(["2, 3", "3, 2", "-1, 1"])})',
            ]
        )()

    def float_array(self):
        return self.pick(
            [
                lambda: f'np.array({self.floats()})',
                lambda: f'np.array({self.floats()}, dtype={self.pick(FLOAT_TYPES[:4])})',
                lambda: f'np.linspace({self.pick(SMALL)}, {self.integer()}, {self.size()})',
                lambda: f'np.random.default_rng({self.size()}).normal(size={self.size()})',
                lambda: f'(np.array({self.integers(source=SMALL)}) / {self.pick(SMALL)})',
            ]
        )()

    def scalar(self):
        return self.pick(
            [
                lambda: (
                    f'np.{self.pick(["int64", "int32", "int16", "int8", "uint8", "uint32", "uint64", "int_", "intp"])}({self.pick(SMALL + [100, 127])})'
                ),
                lambda: f'np.int64({self.integer()})',
                lambda: f'np.{self.pick(["float64", "float32", "float16"])}({self.pick(FLOATS)})',
                lambda: f'{self.integer()}',
                lambda: self.pick(FLOATS),
                lambda: f'np.complex128({self.pick(FLOATS)})',
            ]
        )()

    # Each of these makes one kind of expression.

    def of_creation(self):
        return self.pick([self.int_array, self.float_array])()

    def of_types(self):
        a = self.pick([self.int_array, self.float_array])()
        return self.pick(
            [
                f'({a}).dtype',
                f'({a}).dtype.char == np.dtype(int).char',
                f'({a}).itemsize',
                f'({a}).nbytes',
                f'({a}).strides',
                f'type(({a}).flat[0])',
                f'type(({a}).tolist()[0])',
                f'isinstance(({a}).flat[0], np.{self.pick(["int64", "int_", "integer", "intp", "signedinteger"])})',
                f'np.result_type({self.pick(INT_TYPES)}, {self.pick(INT_TYPES + FLOAT_TYPES)})',
                f'np.promote_types({self.pick(INT_TYPES)}, {self.pick(INT_TYPES + FLOAT_TYPES)})',
                f'np.can_cast({self.pick(INT_TYPES)}, {self.pick(INT_TYPES + FLOAT_TYPES)}, {self.pick([repr("safe"), repr("same_kind"), repr("unsafe")])})',
                f'np.min_scalar_type({self.integer()})',
                f'np.iinfo({self.pick(INT_TYPES[:-1])}).max',
                f'np.iinfo({self.pick(INT_TYPES[:-1])})',
                f'np.dtype({self.pick(INT_TYPES)}).{self.pick(["name", "str", "itemsize", "alignment", "kind"])}',
                f'repr(np.dtype({self.pick(INT_TYPES)}))',
                f'np.issubdtype(({a}).dtype, {self.pick(["np.int64", "int", "np.integer", "np.floating", "float", "np.intp"])})',
                f'np.asarray({self.integers()}).dtype',
                f'np.asarray({self.integer()}).dtype',
                f'np.array({self.integers()} + [{self.pick(FLOATS)}]).dtype',
                f'({a}).dtype == {self.pick(INT_TYPES)}',
                f'hash(np.int64({self.integer()})) == hash({self.integer()})',
            ]
        )

    def of_integer_arithmetic(self):
        operator = self.pick(['+', '-', '*', '//', '%', '/', '&', '|', '^', '==', '<', '>='])
        left, right = (
            self.int_array(),
            self.pick([self.int_array, lambda: str(self.integer()), lambda: str(self.pick(SMALL))])(),
        )
        return f'{left} {operator} {right}'

    def of_shifts_and_powers(self):
        a, k = self.int_array(), self.pick(SMALL)
        return self.pick(
            [
                f'{a} ** {k}',
                f'{a} << {k}',
                f'{a} >> {k}',
                f'{k} ** {a}',
                f'~{a}',
                f'-{a}',
                f'abs({a})',
                f'np.power({a}, {k})',
                f'np.left_shift({k}, np.arange({self.pick([5, 33, 63])})).max()',
                f'10 ** np.arange({self.pick([5, 10, 12, 19])})',
            ]
        )

    def of_integer_functions(self):
        return (
            f'np.{self.pick(INT_BINARY)}({self.int_array()}, {self.pick([str(self.pick(SMALL)), str(self.integer())])})'
        )

    def of_float_functions(self):
        return (
            f'np.{self.pick(UNARY)}({self.pick([self.float_array, self.float_array, self.int_array, self.scalar])()})'
        )

    def of_two_floats(self):
        count = self.size()
        return f'np.{self.pick(BINARY)}(np.array({self.floats(count)}), {self.pick([f"np.array({self.floats(count)})", self.pick(FLOATS), str(self.pick(SMALL))])})'

    def of_float_operators(self):
        count = self.size()
        operator = self.pick(['+', '-', '*', '/', '//', '%', '**', '<', '=='])
        kind = self.pick(['', '', ', dtype=np.float32', ', dtype=np.float16', ', dtype=complex'])
        if 'complex' in kind and operator in '//%<':
            operator = '*'
        return f'np.array({self.floats(count)}{kind}) {operator} np.array({self.floats(count)}{kind})'

    def of_in_place(self):
        operator = self.pick(['+=', '-=', '*=', '/=', '//=', '**='])
        return f'a = np.array({self.floats(4)})\na {operator} np.array({self.floats(4)})\nprint(show(a))'

    def of_scalars(self):
        operator = self.pick(['+', '-', '*', '/', '//', '%', '**', '<', '==', '&', '>>'])
        # A power of two of Python's integers may have more digits than there are atoms.
        left = f'np.float64({self.pick(FLOATS)})' if operator == '**' else self.scalar()
        return f'{left} {operator} {self.scalar()}'

    def of_scalar_conversions(self):
        return self.pick(
            [
                f'{self.pick(["np.int64", "np.int32", "np.uint8", "np.int_", "np.uint64", "np.intp"])}({self.integer()})',
                f'{self.pick(["np.float32", "np.float16", "np.float64"])}({self.integer()})',
                f'int(np.float64({self.pick(FLOATS)}))',
                f'np.float64({self.pick(FLOATS)}).astype({self.pick(INT_TYPES)})',
                f'divmod({self.scalar()}, {self.scalar()})',
                f'round({self.scalar()}, 2)',
                f'({self.scalar()}).item() if hasattr({self.scalar()}, "item") else 0',
                f'repr({self.scalar()})',
                f'str({self.scalar()})',
                f'-{self.scalar()}',
                f'abs({self.scalar()})',
                f'bool({self.scalar()})',
                f'hash({self.scalar()})',
                f'np.array({self.scalar()}).dtype',
            ]
        )

    def of_casts(self):
        return f'{self.pick([self.int_array, self.float_array])()}.astype({self.pick(INT_TYPES + FLOAT_TYPES)})'

    def of_reductions(self):
        a = self.pick([self.int_array, self.int_array, self.float_array])()
        more = self.pick(['', '', '', 'axis=0', 'keepdims=True', 'axis=-1'])
        name = self.pick(REDUCTIONS)
        if name in ('cumsum', 'cumprod') and more == 'keepdims=True':
            more = ''
        return f'np.{name}({a}{", " + more if more else ""})'

    def of_nan_reductions(self):
        return f'np.nan{self.pick(["sum", "mean", "max", "min", "std", "prod", "argmax", "median", "cumsum", "var"])}(np.array({self.floats()}))'

    def of_typed_reductions(self):
        return f'np.{self.pick(["sum", "prod", "cumsum", "mean"])}({self.int_array()}, dtype={self.pick(INT_TYPES[:-1] + FLOAT_TYPES[:4])})'

    def of_products(self):
        n = self.random.randint(1, 4)
        a, b = f'np.array({self.integers(n, n)})', f'np.array({self.integers(n, n)})'
        return self.pick(
            [
                f'{a} @ {b}',
                f'np.dot({a}, {b})',
                f'np.outer({a}, {b})',
                f'np.inner({a}, {b})',
                f'np.kron({a}, {b})',
                f'np.convolve({a}, {b})',
                f'np.correlate({a}, {b})',
                f'np.einsum("i,i", {a}, {b})',
                f'np.tensordot({a}, {b}, 1)',
                f'np.vdot({a}, {b})',
                f'np.trace(np.outer({a}, {b}))',
                f'np.array({self.floats(n)}) @ np.array({self.floats(n)})',
                f'np.dot(np.array({self.floats(n)}), {a})',
            ]
        )

    def of_indices(self):
        a = self.pick([self.int_array, self.float_array])()
        return self.pick(
            [
                f'np.argsort({a}, kind="stable")',
                f'np.nonzero({a})',
                f'np.where({a} > 2)',
                f'np.argwhere({a} > 1)',
                f'np.flatnonzero({a})',
                f'np.argmax({a})',
                f'np.searchsorted(np.sort({a}.ravel()), {self.pick(SMALL)})',
                f'np.searchsorted([1, 2, 3], {a})',
                f'np.digitize({a}, [1, 5, 100])',
                f'np.lexsort(({a}.ravel(),))',
                f'np.partition({a}.ravel(), 0)[0]',
                f'np.count_nonzero({a})',
                f'np.unravel_index({self.pick(SMALL[:6])}, (2, 3))',
                'np.ravel_multi_index((1, 2), (3, 4))',
                f'np.argsort({a}, kind="stable") * 10**9',
                'np.unravel_index(np.array([1, 5]), (2, 3))',
                'np.triu_indices(3)',
                'np.diag_indices(2)',
                'np.indices((2, 2))',
                'np.ix_([0, 1], [1])',
                f'len({a})',
                f'{a}.size',
                f'{a}.shape',
                f'{a}.ndim',
                'np.mgrid[0:2, 0:3]',
                'np.ogrid[0:3]',
                'np.r_[0:5]',
                f'np.c_[{self.integers(2, 2)}, {self.integers(2, 2)}]',
            ]
        )

    def of_indexing(self):
        return self.pick(
            [
                f'np.arange({self.random.randint(10, 20)})[{self.integers(source=SMALL)}]',
                f'np.take(np.arange(10), {self.integers(source=SMALL)})',
                f'np.take(np.arange(10), {self.integers()}, mode="clip")',
                f'np.take(np.arange(10), {self.integers(source=SMALL)}, mode="wrap")',
                f'np.arange(10)[np.array({self.integers(source=SMALL)}, dtype={self.pick(INT_TYPES[:-1])})]',
                f'np.arange(10)[{self.pick(SMALL)}:{self.pick(SMALL)}]',
                f'np.arange(12).reshape(3, 4)[:, {self.pick(SMALL[:4])}]',
                'np.arange(10)[np.arange(10) % 2 == 0]',
                f'np.arange(10)[{self.integer()}]',
                f'np.choose({self.integers(source=[0, 1])}, [[1, 2, 3, 4, 5, 6][:1], [7]])',
                f'np.delete(np.arange(9), {self.pick(SMALL)})',
                f'np.insert(np.arange(4), {self.pick(SMALL[:4])}, {self.integer()})',
                f'np.put_along_axis(np.zeros(3, int), np.array([0]), {self.pick(SMALL)}, 0)',
                f'np.compress([True, False, True], {self.integers(3, 3)})',
                f'np.select([np.arange(5) < 3], [np.arange(5)], {self.integer()})',
                f'np.where(np.arange(4) > 1, {self.integer()}, {self.integer()})',
            ]
        )

    def of_sets(self):
        a = self.int_array()
        return self.pick(
            [
                f'np.unique({a})',
                f'np.unique({a}, return_counts=True)',
                f'np.unique({a}, return_index=True, return_inverse=True)',
                f'np.isin({a}, {self.integers(source=SMALL)})',
                f'np.union1d({a}, {self.integers(source=SMALL)})',
                f'np.intersect1d({a}, {self.integers(source=SMALL)}, return_indices=True)',
                f'np.setdiff1d({a}, [1, 2])',
                f'np.bincount({self.integers(source=SMALL)})',
                f'np.bincount({self.integers(3, 3, SMALL)}, weights=[1, 2, 3])',
                f'np.histogram({a}, bins={self.random.randint(1, 5)})',
                f'np.histogram({self.integers(source=SMALL)}, bins=[0, 2, 5, 10])',
                'np.histogram2d([1, 2, 3], [4, 5, 6], bins=2)',
                f'np.histogram_bin_edges({self.integers(source=SMALL)})',
            ]
        )

    def of_statistics(self):
        a = f'np.array({self.integers(2, 6)})'
        return self.pick(
            [
                f'np.median({a})',
                f'np.percentile({a}, {self.pick([0, 10, 25, 50, 99])})',
                f'np.quantile({a}, [0.1, 0.9])',
                f'np.average({a})',
                f'np.cov({a}, {a})',
                f'np.corrcoef({a}, {a}[::-1])',
                f'np.diff({a})',
                f'np.gradient({a})',
                f'np.ediff1d({a})',
                'np.interp(2.5, [1, 2, 3], [10, 20, 30])',
                'np.polyfit([0, 1, 2], [1, 3, 7], 1).round(6)',
                f'np.polyval({a}, {self.pick(SMALL)})',
                f'np.trapezoid({a})',
                f'np.cumsum({a})[-1]',
                f'np.clip({a}, {self.pick(SMALL)}, {self.pick([10, 100, 2**31])})',
                f'np.round({a} / 7, 3)',
                f'np.sort({a})[::-1]',
                f'np.flip({a})',
                f'np.roll({a}, 1)',
            ]
        )

    def of_random(self):
        seed, n = self.size(), self.random.randint(1, 5)
        rng = self.pick([f'np.random.default_rng({seed})', f'np.random.RandomState({seed})'])
        common = [
            f'{rng}.normal(size={n}).round(6)',
            f'{rng}.poisson({self.pick([1, 10, 1000])}, {n})',
            f'{rng}.binomial(10, 0.5, {n})',
            f'{rng}.permutation({n + 3})',
            f'{rng}.choice({n + 5}, {n})',
            f'{rng}.choice([5, 6, 7], {n}, p=[0.2, 0.3, 0.5])',
            f'{rng}.geometric(0.3, {n})',
            f'{rng}.multinomial(20, [0.2, 0.8], {n})',
            f'{rng}.negative_binomial(5, 0.5, {n})',
            f'{rng}.zipf(2.5, {n})',
            f'{rng}.hypergeometric(5, 5, 3, {n})',
            f'{rng}.uniform(size={n}).round(9)',
            f'{rng}.logseries(0.6, {n})',
            f'{rng}.exponential(size={n}).round(6)',
            f'{rng}.bytes({n})',
            f'{rng}.standard_t(5, {n}).round(5)',
            f'{rng}.beta(2, 3, {n}).round(6)',
        ]
        own = (
            [
                f'{rng}.integers(0, {self.pick([10, 2**31, 2**45])}, {n})',
                f'{rng}.integers(0, 10, {n}, dtype={self.pick(INT_TYPES[1:9])})',
                f'{rng}.random({n}).round(9)',
            ]
            if 'default_rng' in rng
            else [
                f'{rng}.randint(0, {self.pick([10, 2**31, 2**31 - 1, 2**40])}, {n})',
                f'{rng}.rand({n}).round(9)',
                f'{rng}.randint(100)',
                f'{rng}.random_integers(5, size={n})',
                f'{rng}.tomaxint() > 2**31',
            ]
        )
        return self.pick(common + own)

    def of_text(self):
        a = self.pick([self.int_array, self.float_array])()
        return self.pick(
            [
                f'str({a})',
                f'repr({a})',
                f'np.array2string({a}, separator=", ")',
                f'json.dumps({a}.tolist())',
                f'{a}.tolist()',
                f'print({a})',
                f'np.array_repr({a})',
                f'"%d" % {self.integer()}',
                f'f"{{{self.integer()}:,}}"',
                f'np.format_float_positional({self.pick(FLOATS)})',
                f'np.base_repr({abs(self.integer())}, 7)',
                f'np.binary_repr({self.pick(SMALL)}, 8)',
                f'{a}.tobytes().hex()',
                f'np.frombuffer({a}.tobytes(), {a}.dtype)',
                f'memoryview({a}).itemsize',
                'np.char.add(["a"], ["b"])',
                'np.array(["1", "22"]).astype(int)',
                'np.fromstring("1 2 3", dtype=int, sep=" ")',
                'np.loadtxt(io.StringIO("1 2\\n3 4"), dtype=int)',
                'np.genfromtxt(io.StringIO("1,2\\n3,4"), delimiter=",", dtype=None)',
                f'np.array({self.integers()}, dtype=str)',
                f'np.array({self.integers()}, dtype=object).sum()',
            ]
        )

    def of_errstate(self):
        state = self.pick(
            [
                'all="raise"',
                'divide="raise"',
                'over="raise"',
                'invalid="raise"',
                'all="ignore"',
                'all="warn"',
                'under="raise"',
                'under="warn"',
            ]
        )
        return f'with np.errstate({state}):\n    print(show(np.{self.pick(UNARY[:22])}(np.array({self.floats()}))))\n    print(show(np.array({self.floats(3)}) {self.pick(["*", "/", "+", "-"])} np.array({self.floats(3)})))'

    def of_linear_algebra(self):
        n = self.pick([2, 3])
        rows = '[' + ', '.join(self.integers(n, n, SMALL) for _ in range(n)) + ']'
        return self.pick(
            [
                f'np.linalg.det({rows}).round(6) + 0.0',
                f'np.linalg.inv({rows}).round(6) + 0.0',
                f'np.linalg.matrix_rank({rows})',
                f'np.linalg.norm({rows})',
                f'np.linalg.matrix_power(np.array({rows}), {self.pick([2, 3, 12, 20])})',
                f'np.linalg.solve({rows}, {self.integers(n, n, SMALL)}).round(6) + 0.0',
                f'np.trace({rows})',
                f'np.linalg.cond({rows}) > 1',
                f'np.fft.fft({self.integers(4, 4, SMALL)}).round(6) + 0.0',
                f'np.linalg.eigvalsh({rows}).round(5)',
            ]
        )

    def of_masked_and_structured(self):
        return self.pick(
            [
                f'np.ma.array({self.integers(3, 3)}, mask=[0, 1, 0]).sum()',
                f'np.ma.masked_greater({self.integers()}, 5)',
                f'np.ma.array({self.integers(3, 3)}).dtype',
                'np.array([(1, 2.0)], dtype=[("a", int), ("b", float)])',
                'np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]).dtype',
                'np.zeros(2, dtype="i8,f4")',
                'np.rec.array([(1, 2)], names="x,y")',
                f'np.datetime64("2024-01-01") + {self.pick(SMALL)}',
                'np.arange("2024-01", "2024-04", dtype="datetime64[M]")',
                '(np.datetime64("2024-03-01") - np.datetime64("2024-01-01")).astype(int)',
                f'np.timedelta64({self.pick(SMALL)}, "h") * {self.pick(SMALL)}',
                f'np.array(["2024-01-01", "2025-05-05"], dtype="datetime64[D]").astype({self.pick(["int", "np.int64"])})',
                'np.busday_count("2024-01-01", "2024-02-01")',
                f'np.vectorize(lambda x: x * 2)({self.integers()})',
                f'np.fromiter((i * i for i in range({self.size()})), dtype=int)',
                'np.fromfunction(lambda i, j: i * j, (2, 3), dtype=int)',
                f'np.frompyfunc(lambda a, b: a + b, 2, 1)({self.integers(2, 2)}, 1)',
                'np.apply_along_axis(sum, 0, np.arange(6).reshape(2, 3))',
            ]
        )

    def series(self):
        return self.pick(
            [
                lambda: f'pd.Series({self.integers(2, 6)})',
                lambda: f'pd.Series({self.integers(2, 6, SMALL)})',
                lambda: f'pd.Series({self.floats(4)})',
                lambda: 'pd.Series(["b", "a", "b", None, "c"])',
                lambda: f'pd.Series(np.arange({self.size()}))',
                lambda: f'pd.Series({self.integers(3, 3, SMALL)}, index=list("xyz"))',
                lambda: f'pd.Series({self.integers(3, 3)}, dtype="Int64")',
            ]
        )()

    def of_series(self):
        s = self.series()
        method = self.pick(
            [
                'sum()',
                'describe()',
                'value_counts()',
                'cumsum()',
                'rank()',
                'unique()',
                'nunique()',
                'factorize()',
                'argsort()',
                'sort_values()',
                'to_json()',
                'to_dict()',
                'to_csv()',
                'tolist()',
                'dtype',
                'mode()',
                'diff()',
                'shift()',
                'pct_change()',
                'is_unique',
                'duplicated()',
                'to_frame("v")',
                'isna().sum()',
                'count()',
                'size',
                'memory_usage(index=False)',
                'idxmax()',
                'max()',
                'index',
                'values',
                'to_numpy()',
                'map(type)',
                'astype(str)',
                'astype("category").cat.codes',
                'head(2)',
                'nlargest(2)',
                'apply(lambda v: v)',
                'groupby(lambda i: i).size()',
                'reset_index()',
                'quantile(0.3)',
                'clip(1, 100)',
                'between(1, 5)',
                'searchsorted(3)',
                'rolling(2).sum()',
                'expanding().mean()',
                'mean()',
                'std()',
                'prod()',
                'agg(["min", "max"])',
                'get(0)',
                'nbytes',
                'abs()',
                'round(2)',
                'astype(int)',
                'astype("int64") * 10**9',
            ]
        )
        return f'{s}.{method}'

    def of_pandas(self):
        accessor = self.pick(['hour', 'day', 'dayofyear', 'isocalendar()', 'date', 'floor("D")'])
        text = self.pick(['len()', 'upper()', 'contains("b")', 'find("b")', 'count("b")', 'get_dummies()'])
        levels = self.pick(['codes', 'levels', 'to_frame()', 'dtypes', 'get_locs([1])'])
        number = abs(self.integer())
        return self.pick(
            [
                f'pd.cut({self.integers(3, 6, SMALL)}, {self.random.randint(1, 4)}).codes',
                f'pd.cut(pd.Series({self.integers(3, 6, SMALL)}), [0, 3, 6, 10]).value_counts(sort=False)',
                'pd.qcut(pd.Series(range(8)), 4).cat.codes',
                f'pd.factorize({self.integers(3, 6, SMALL)})',
                f'pd.to_datetime({self.pick([0, 1700000000, 10**9])}, unit="s")',
                'pd.to_datetime(pd.Series([1700000000, 1]).astype(int) * 1000, unit="ms")',
                f'pd.date_range("2024-01-01", periods={self.size()}, freq="{self.pick(["D", "h", "ME", "W"])}")',
                f'pd.date_range("2024-01-01", periods=3).{self.pick(["year", "month", "dayofweek", "asi8", "quarter", "is_month_start"])}',
                f'pd.Series(pd.date_range("2024-01-01", periods=3, freq="7h")).dt.{accessor}',
                f'pd.Series(["a", "bb", None]).str.{text}',
                'pd.get_dummies(["a", "b", "a"]).sum()',
                f'pd.Index({self.integers(3, 5, SMALL)}).get_indexer([1, 2, 3])',
                f'pd.Index({self.integers(2, 5)}).dtype',
                f'pd.RangeIndex({self.size()}).{self.pick(["dtype", "nbytes", "memory_usage()", "sum()", "to_numpy()", "tolist()"])}',
                f'pd.MultiIndex.from_product([[1, 2], ["a", "b"]]).{levels}',
                f'pd.Timestamp("2024-05-05").{self.pick(["value", "timestamp()", "dayofyear", "week", "to_julian_date()"])}',
                f'pd.Timedelta({self.pick(SMALL)}, "h").{self.pick(["value", "total_seconds()", "components", "days"])}',
                'pd.to_numeric(pd.Series(["1", "5000000000", "x"]), errors="coerce")',
                'pd.to_numeric(pd.Series(["1", "2"]), downcast="integer").dtype',
                'pd.Series(["5000000000", "7"]).astype(int)',
                f'pd.array({self.integers(2, 4)}).dtype',
                f'pd.array({self.integers(2, 4, SMALL)}, dtype="Int32").sum()',
                f'pd.concat([{self.series()}, {self.series()}]).dtype',
                'pd.crosstab(np.array([1, 1, 2]), np.array([3, 4, 3]))',
                f'pd.read_csv(io.StringIO("a,b\\n1,{self.integer()}\\n2,x")).dtypes',
                f"pd.read_json(io.StringIO('{{\"a\":[1,{number}]}}')).dtypes",
                f'pd.Interval(0, {self.size()}).length',
                f'pd.period_range("2024-01", periods=3, freq="M").{self.pick(["month", "asi8", "to_timestamp()"])}',
                'pd.isna(np.array([1.0, np.nan]))',
                f'pd.unique(np.array({self.integers(2, 5, SMALL)}))',
                f'pd.Series({self.integers(2, 4)}).map({{1: 2}})',
                f'pd.util.hash_array(np.array({self.integers(2, 3)}))',
            ]
        )

    def of_frames(self):
        n = self.random.randint(2, 5)
        frame = f'pd.DataFrame({{"k": {[self.pick(list("abc")) for _ in range(n)]}, "v": {self.integers(n, n)}, "w": {self.integers(n, n, SMALL)}, "f": {[self.pick([0.5, 1.25, -2.0, 100.0]) for _ in range(n)]}}})'
        return f'{frame}.' + self.pick(
            [
                'dtypes',
                'describe()',
                'groupby("k").sum()',
                'groupby("k")["v"].agg(["sum", "mean", "count"])',
                'groupby("k").size()',
                'groupby("k").indices',
                'groupby("k").ngroup()',
                'groupby("k").cumcount()',
                'groupby("k")["w"].rank()',
                'groupby("k")["v"].transform("max")',
                'pivot_table(index="k", values="v", aggfunc="sum")',
                'sum(numeric_only=True)',
                'mean(numeric_only=True)',
                'corr(numeric_only=True)',
                'sort_values("v")',
                'to_json()',
                'to_json(orient="records")',
                'to_csv()',
                'to_dict()',
                'to_numpy()',
                'shape',
                'size',
                'T',
                'melt(id_vars="k")',
                'set_index("k")',
                'value_counts("k")',
                'nunique()',
                'memory_usage(index=False)',
                'query("w > 2")',
                'eval("v + w")',
                'assign(x=lambda d: d.v * d.w)',
                'select_dtypes("int").columns',
                'select_dtypes("int64").columns',
                'iloc[0]',
                'loc[0, "v"]',
                'at[0, "w"]',
                'astype({"f": int})',
                'astype({"w": "int32"}).dtypes',
                'reset_index()',
                'stack()',
                'idxmax(numeric_only=True)',
                'cumsum(numeric_only=True)',
                'info(buf=io.StringIO())',
                'duplicated("k").sum()',
                'drop_duplicates("k")',
                'merge(pd.DataFrame({"k": ["a", "b"], "z": [1, 2]}), on="k")',
                'merge(pd.DataFrame({"k": ["a"], "z": [1]}), on="k", how="left")',
                'sample(2, random_state=1)',
                'groupby("k").apply(len, include_groups=False)',
                'rank(numeric_only=True)',
                'to_records()',
                'isin([1, 2])',
                'v.sum()',
                'v.max() + 1',
                'agg({"v": "sum", "f": "mean"})',
                'quantile(0.5, numeric_only=True)',
                'nlargest(2, "w")',
                'filter(like="v")',
                'itertuples().__next__()',
                'to_string()',
                'head(1)',
                'index',
                'columns',
                'values',
            ]
        )


def expressions(seed, count):
    """Different expressions, in the order in which they were made."""
    generator, made = Generator(seed), {}
    while len(made) < count:
        made[generator.one()] = None
    return list(made)
