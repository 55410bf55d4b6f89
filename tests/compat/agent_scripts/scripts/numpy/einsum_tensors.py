import numpy as np

rng = np.random.default_rng(1)
a = rng.integers(0, 5, (2, 3))
b = rng.integers(0, 5, (3, 4))
v = np.arange(3)
print(a, b, sep='\n')
print(np.einsum('ij,jk->ik', a, b), np.einsum('ij,j->i', a, v), np.einsum('ij->j', a), np.einsum('ii', np.eye(4)))
print(np.einsum('i,j->ij', v, v), np.einsum('bij,bjk->bik', np.ones((2, 2, 3)), np.ones((2, 3, 2))).shape)
path, text = np.einsum_path('ij,jk,kl->il', a, b, np.ones((4, 2)), optimize='greedy')
print(path)
print(text)
print(np.tensordot(a, b, axes=1).shape, np.dot(v, v), np.inner(a, a), np.outer(v, v).trace(), np.vdot([1j, 2], [1j, 2]))
x = rng.normal(size=(4, 3, 2))
print(
    np.moveaxis(x, 0, -1).shape, np.swapaxes(x, 0, 2).shape, np.transpose(x, (1, 0, 2)).shape, np.squeeze(x[:1]).shape
)
print(np.matmul(x, np.ones((2, 5))).shape, np.apply_along_axis(np.ptp, 1, x).shape, np.expand_dims(v, (0, 2)).shape)
print(np.linalg.multi_dot([a, b, np.ones((4, 1))]), np.pad(a, 1, mode='reflect'), np.rot90(a))
windows = np.lib.stride_tricks.sliding_window_view(np.arange(6), 3)
print(
    windows,
    windows.mean(axis=1),
    np.vectorize(lambda p, q: max(p, q))([1, 5], [3, 2]),
    np.fromfunction(lambda i, j: i * j, (2, 3)),
)
for spec, args in [('ij,jk->ik', (a, a)), ('ij,k', (a,)), ('ii->i', (a,))]:
    try:
        print(np.einsum(spec, *args))
    except ValueError as e:
        print(spec, 'ValueError:', e)
a @ v[:2]
