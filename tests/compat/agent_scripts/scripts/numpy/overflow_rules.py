import warnings

import numpy as np

print(np.array([127], dtype=np.int8) + np.array([1], dtype=np.int8), np.uint8([250]) + np.uint8(10))
print(np.int64(2**62) * np.array([2]), np.array([2**31 - 1], dtype=np.int32) + np.int32(1))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    print(
        np.int32(2**31 - 1) + np.int32(1), np.int64(2**63 - 1) + np.int64(1), np.uint8(0) - np.uint8(1), -np.int8(-128)
    )
    print(np.float32(3e38) * np.float32(10), np.exp(1000.0), np.float64(1e308) * 10, np.power(np.float16(300), 2))
for w in caught:
    print(w.category.__name__, w.message)
for value, kind in [
    (300, np.uint8),
    (-1, np.uint64),
    (2**64, np.int64),
    (1e20, np.int64),
    ('12', np.int16),
    ('x', float),
]:
    try:
        print(kind.__name__, kind(value))
    except Exception as e:
        print(kind.__name__, type(e).__name__, e)
try:
    np.array([1, 2], dtype=np.int8) + 200
except OverflowError as e:
    print('OverflowError:', e)
print(np.array([2**63]), np.array([2**64]).dtype, np.array([1, 2**63]).dtype, np.array([-1, 2**63]).dtype)
print(np.array([1.9, -1.9]).astype(int), np.array([3.7]).astype(np.uint8), np.array([300, -1]).astype(np.uint8))
print(
    np.result_type(np.int32, np.float32),
    np.promote_types('i8', 'u8'),
    (np.float32(1) + 1.5).dtype,
    np.can_cast('f8', 'f4'),
)
print(np.arange(5, dtype=np.float16).sum().dtype, np.arange(20).prod(), np.array([1, 2], np.int8).sum().dtype)
print(
    np.array([5, 7]) // 2,
    np.array([-7]) // 2,
    np.array([-7]) % 3,
    np.fmod(-7, 3),
    np.array([2]) ** 10,
    2.0 ** np.array([-1]),
)
np.array([2]) ** -1
