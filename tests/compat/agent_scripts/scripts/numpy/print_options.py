import sys

import numpy as np

a = np.array([1e-10, 1.23456789, 1000, 123456.789])
print(a, np.array([0.1, 100.25]), np.array([1e20, 1]), np.array([np.nan, np.inf, -1]))
np.set_printoptions(precision=3, suppress=True)
print(a, np.pi * np.eye(2))
with np.printoptions(formatter={'float': '{:+.1e}'.format}):
    print(a)
np.set_printoptions(precision=8, suppress=False, threshold=10, edgeitems=2)
print(np.arange(100).reshape(10, 10), np.arange(11))
np.set_printoptions(threshold=sys.maxsize, linewidth=60)
print(np.arange(40))
print(
    np.array2string(np.array([1.5, 2, 3]), precision=1, separator=',', prefix='x'), np.array_repr(np.zeros(2, np.int8))
)
print(
    np.format_float_positional(1e-7),
    np.format_float_scientific(12345.678, precision=2),
    np.base_repr(255, 16),
    np.binary_repr(-3, 8),
)
print(
    np.array([1 + 2j, 3.5 - 1e-5j]),
    np.array([True, False]),
    np.array([b'x']),
    np.array([], dtype=int),
    np.empty((0, 3)),
)
print(f'{np.float64(3.14159):.2f} {np.int64(42):05d} {np.float32(0.1)} {np.float32(0.1)!r} {np.array(5)}')
print(str(np.float32(1) / 3), np.float16(1) / 3, 1e16, np.float64(1e16), np.array(1e16), np.array([1e16, 1]))
np.set_printoptions(legacy='1.25')
print(repr(np.float64(2.5)), [np.int64(1)], np.array([1.0, 2]))
np.set_printoptions(legacy=False, sign='+', floatmode='fixed')
print(np.array([1.5, 2.25]))
try:
    np.set_printoptions(threshold='all')
except TypeError as e:
    print('TypeError:', e)
print(f'{np.array([1.5, 2]):.2f}')
