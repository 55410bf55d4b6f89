import numpy as np

a = np.arange(25).reshape(5, 5)
print(a[[0, 2, 4], [1, 3, 0]], a[np.ix_([0, 1], [2, 4])], a[a % 3 == 0], sep='\n')
a[a > 20] = -1
print(a[-1], np.where(a < 0)[1], np.argwhere(a == -1).tolist(), np.nonzero(a[0]))
print(np.where(a > 10, a, 0).sum(), np.select([a < 5, a < 10], [a, a * 10], default=-5)[:2])
print(np.take_along_axis(a, np.argsort(-a, axis=1), axis=1)[:, :2], np.take(a, [0, 6, 12]), np.clip(a, 3, 8)[1])
b = a.copy()
b[[0, 0, 1]] += 1
print(b[:2], np.unravel_index(13, (5, 5)), np.ravel_multi_index((2, 3), (5, 5)))
counts = np.zeros(4, int)
np.add.at(counts, [0, 0, 3], 1)
print(counts, np.bincount([0, 1, 1, 3]), np.searchsorted([1, 3, 5], [0, 3, 6]), np.digitize([0.5, 2.5], [0, 1, 2, 3]))
print(np.partition([5, 2, 9, 1], 1)[:2], np.argpartition([5, 2, 9, 1], 1)[:1], np.lexsort(([3, 1, 2], [1, 1, 0])))
print(np.sort([3, np.nan, 1]), np.argsort(['b', 'a', 'C']), np.flip(a[0]), np.roll(a[0], 2), np.diff(a[0], n=2))
print(a[..., 0], a[:, np.newaxis].shape, np.shares_memory(a, a[1:]), np.may_share_memory(a, b))
for index in [10, (0, 7), 1.5, 'x', [True, False]]:
    try:
        print(a[index])
    except IndexError as e:
        print(index, 'IndexError:', e)
a[5, 0] = 1
