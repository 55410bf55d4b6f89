import numpy as np

a = np.arange(12).reshape(3, 4)
print(a, a.dtype, a.shape, a.strides, a.flags['C_CONTIGUOUS'])
print(np.zeros((2, 3)), np.ones(3, dtype=int), np.full((2, 2), 7.5), np.eye(3), sep='\n')
print(np.linspace(0, 1, 5), np.logspace(0, 3, 4), np.geomspace(1, 256, 5))
print(a.T.strides, a.T.flags['F_CONTIGUOUS'], a[::2, ::-1])
print(np.array([1, 2.5, True]), np.array(['a', 'bcd']), np.array([1, None]), np.array([1, 2], dtype=complex))
print(a.sum(axis=0), a.mean(axis=1), a.cumsum(), a.argmax(), np.median(a), a.std().round(6))
print(np.int_, np.intp, np.array([1]).dtype, np.array([1]).itemsize, np.dtype(int).name, np.array([0]).nbytes)
print(np.iinfo(int), np.finfo(float).eps, np.finfo(np.float32).max, sep='\n')
print(np.vstack([a, a[0]]), np.hstack([a, a[:, :1]]).shape, np.concatenate([a, a]).shape, np.stack([a, a]).shape)
print(np.split(np.arange(9), 3), np.array_split(np.arange(7), 3), np.tile([1, 2], 3), np.repeat([1, 2], [1, 3]))
print(repr(a), repr(np.float64(1.5)), repr(np.int64(3)), [np.int32(1), np.bool_(True)])
print(np.longdouble(1) / 3, np.dtype(np.longdouble).itemsize)
try:
    np.array([[1, 2], [3]])
except ValueError as e:
    print('ValueError:', e)
