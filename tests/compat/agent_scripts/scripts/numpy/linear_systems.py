import numpy as np
from numpy.linalg import LinAlgError

np.set_printoptions(precision=5, suppress=True)
A = np.array([[4.0, -2, 1], [-2, 4, -2], [1, -2, 4]])
b = np.array([11, -16, 17])
x = np.linalg.solve(A, b)
print('x =', x.round(5), np.allclose(A @ x, b))
print('det', round(np.linalg.det(A), 4), 'rank', np.linalg.matrix_rank(A), 'cond', round(np.linalg.cond(A), 4))
print(np.linalg.inv(A).round(5))
values = np.linalg.eigvalsh(A)
print(values.round(5), np.trace(A), np.linalg.norm(A).round(5), np.linalg.norm(b, 1))
Q, R = np.linalg.qr(A)
print(np.allclose(Q @ R, A), np.abs(np.diag(R)).round(4))
U, s, Vt = np.linalg.svd(A)
print(s.round(4), np.allclose(U * s @ Vt, A))
print(np.linalg.cholesky(A).round(4))
coef, residuals, rank, _ = np.linalg.lstsq(np.c_[np.ones(5), np.arange(5)], [1, 3.1, 4.9, 7.2, 9], rcond=None)
print(coef.round(4), residuals.round(4), rank)
print(np.linalg.eig([[0, 1], [-1, 0]]).eigenvalues, np.linalg.matrix_power([[1, 1], [1, 0]], 30)[0, 1])
print(np.linalg.pinv([[1, 2], [3, 4], [5, 6]]).round(4), np.kron([1, 2], [1, 10]), np.cross([1, 0, 0], [0, 1, 0]))
for matrix in ([[1, 2], [2, 4]], [[1, 2, 3], [4, 5, 6]], [1, 2]):
    try:
        print(np.linalg.inv(matrix))
    except LinAlgError as e:
        print('LinAlgError:', e)
try:
    np.linalg.cholesky([[1, 2], [2, 1]])
except LinAlgError as e:
    print('LinAlgError:', e)
np.ones((2, 3)) @ np.ones((2, 3))
