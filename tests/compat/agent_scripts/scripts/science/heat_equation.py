"""Explicit and Crank-Nicolson schemes for the heat equation."""

import logging

import numpy as np
from scipy.linalg import solve_banded
from scipy.sparse import diags_array, eye_array, kron
from scipy.sparse.linalg import splu

logging.basicConfig(level=logging.INFO, format='%(levelname)s %(name)s: %(message)s', force=True)
log = logging.getLogger('heat')
n, alpha, dt = 41, 1.0, 0.0002
x = np.linspace(0, 1, n)
dx = x[1] - x[0]
r = alpha * dt / dx**2
assert r <= 0.5, f'unstable: r={r:.3f}'
u = np.sin(np.pi * x)
exact = np.exp(-(np.pi**2) * 0.1) * np.sin(np.pi * x)
for _ in range(round(0.1 / dt)):
    u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
print(f'explicit  r={r:.4f} error={np.abs(u - exact).max():.3e}')
steps = 50
s = alpha * (0.1 / steps) / dx**2 / 2
bands = np.vstack([np.r_[0, np.full(n - 3, -s)], np.full(n - 2, 1 + 2 * s), np.r_[np.full(n - 3, -s), 0]])
v = np.sin(np.pi * x)
for _ in range(steps):
    v[1:-1] = solve_banded((1, 1), bands, v[1:-1] + s * (v[2:] - 2 * v[1:-1] + v[:-2]))
print(f'implicit  s={s:.4f} error={np.abs(v - exact).max():.3e}')
log.info('two-dimensional Poisson problem')
m = 20
lap = diags_array([1, -2, 1], offsets=[-1, 0, 1], shape=(m, m)) * (m + 1) ** 2
A = kron(lap, eye_array(m)) + kron(eye_array(m), lap)
lu = splu(A.tocsc())
sol = lu.solve(-np.ones(m * m)).reshape(m, m)
print(A.shape, A.nnz, sol.max().round(6), np.allclose(sol, sol.T))
log.warning('a step that is too large')
w = np.sin(np.pi * x)
w[20] += 1e-3
with np.errstate(over='raise', invalid='raise'):
    for i in range(3000):
        w[1:-1] += 1.2 * (w[2:] - 2 * w[1:-1] + w[:-2])
print('not reached')
