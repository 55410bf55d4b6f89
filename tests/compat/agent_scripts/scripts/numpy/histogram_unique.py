import numpy as np

rng = np.random.default_rng(8)
scores = rng.normal(70, 12, 300).clip(0, 100)
counts, edges = np.histogram(scores, bins=[0, 40, 50, 60, 70, 80, 90, 100])
for low, high, c in zip(edges[:-1], edges[1:], counts, strict=True):
    print(f'{low:5.0f}-{high:<5.0f} {"#" * (c // 4)} {c}')
for rule in ('auto', 'fd', 'sturges', 'scott'):
    print(rule, len(np.histogram_bin_edges(scores, rule)) - 1)
density, _ = np.histogram(scores, 10, density=True)
print(density.sum().round(4), np.histogram2d([1, 2, 2], [1, 1, 2], bins=2)[0])
values, index, inverse, n = np.unique([3, 1, 3, 2, 1], return_index=True, return_inverse=True, return_counts=True)
print(values, index, inverse, n, np.unique([[1, 0], [1, 0], [2, 3]], axis=0))
print(np.percentile(scores, [5, 50, 95]).round(6), np.quantile([1, 2, 3, 4], 0.4, method='nearest'), np.ptp([3, 9]))
print(
    np.intersect1d([1, 2, 3], [2, 3, 4]),
    np.union1d([1], [2]),
    np.setdiff1d([1, 2], [2]),
    np.isin([1, 5], [5]),
    np.setxor1d([1, 2], [2, 3]),
)
print(np.average([1, 2, 3], weights=[3, 1, 0]), np.var([1, 2, 3, 4], ddof=1), np.cov([1, 2, 3], [1, 2, 4]).round(6))
print(
    np.packbits([1, 0, 1, 1]),
    np.unpackbits(np.uint8([6])),
    np.bitwise_xor(5, 3),
    np.left_shift(1, 40),
    np.invert(np.uint8(1)),
)
print(
    np.gcd(12, 18),
    np.lcm.reduce([4, 6, 10]),
    np.round([0.5, 1.5, 2.675], 0),
    np.round(1234, -2),
    np.trunc(-1.7),
    np.count_nonzero(scores > 90),
)
try:
    np.histogram([1, np.nan], bins=3)
except ValueError as e:
    print('ValueError:', e)
np.percentile(scores, 120)
