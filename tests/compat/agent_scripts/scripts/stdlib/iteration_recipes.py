import operator
import sys
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from functools import cache, cached_property, lru_cache, partial, reduce, singledispatch, total_ordering
from itertools import (
    accumulate,
    batched,
    chain,
    combinations,
    count,
    cycle,
    islice,
    pairwise,
    permutations,
    product,
    starmap,
    takewhile,
    tee,
    zip_longest,
)

print(list(batched('ABCDEFG', 3)), list(pairwise('abcd')), list(accumulate([3, 1, 4, 1, 5], max)))
print([''.join(p) for p in islice(permutations('abc'), 4)], len(list(product(range(3), repeat=4))))
print(list(zip_longest('ab', 'wxyz', fillvalue='-')), list(takewhile(lambda x: x < 20, map(lambda n: n * n, count(2)))))
print(list(starmap(pow, [(2, 5), (3, 2)])), dict(Counter('mississippi').most_common(2)), list(islice(cycle('ab'), 5)))
a, b = tee(iter(range(3)))
print(list(a), next(b), list(chain.from_iterable([[1], [2, 3]])), list(combinations('abc', 2)))
Point = namedtuple('Point', 'x y z', defaults=[0])
print(Point(1, 2), Point(1, 2)._replace(z=9)._asdict(), Point._field_defaults)
window = deque(range(10), maxlen=4)
window.rotate(1)
print(window, ChainMap({'a': 1}, {'a': 2, 'b': 3}), OrderedDict(a=1, b=2), defaultdict(list, k=[1]))
print(Counter(a=3, b=1) - Counter(a=1, b=2), Counter(a=3) | Counter(a=1, b=2), reduce(operator.mul, range(1, 11)))


@singledispatch
def describe(value):
    return f'object {value!r}'


@describe.register
def _(value: int | bool):
    return f'number {value}'


@lru_cache(maxsize=32)
def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(describe(3), describe('x'), describe.dispatch(bool) is describe.dispatch(int))
print(fib(100), fib.cache_info(), partial(int, base=2)('1010'))
try:
    list(zip([1, 2], [1], strict=True))
except ValueError as e:
    print(e)
try:
    Point(1)
except TypeError as e:
    print(e)
window[99]
