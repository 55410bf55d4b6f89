import warnings

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

x = np.linspace(-2, 2, 21)
rng = np.random.default_rng(5)
y = 1 - 2 * x + 0.5 * x**3 + rng.normal(0, 0.1, x.size)
coef = np.polyfit(x, y, 3)
print(coef.round(4))
p = np.poly1d(coef.round(2))
print(p)
print(p(2), p.deriv().coeffs, p.integ(k=1).order, np.sort(np.roots([1, -6, 11, -6])).round(4))
fit = Polynomial.fit(x, y, 3)
print(fit.convert().coef.round(4), fit.domain, fit.degree())
q = Polynomial([1, 2, 3])
print(q, q * q, q // Polynomial([1, 1]), q.roots().round(4), q(np.array([0, 1])), q.deriv())
print(repr(q), f'{q:ascii}', Chebyshev([1, 0, 2]), Chebyshev([1, 0, 2]).convert(kind=Polynomial).coef)
r2 = 1 - ((y - np.polyval(coef, x)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
print(f'R^2 = {r2:.5f}')
print(
    np.polymul([1, 1], [1, -1]), np.polydiv([1, 0, -1], [1, 1]), np.vander([2, 3], 3), np.corrcoef(x, y)[0, 1].round(5)
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    np.polyfit([1, 1, 1], [1, 2, 3], 2)
print([f'{w.category.__name__}: {w.message}' for w in caught])
np.polyfit([0, 1], [1, 2], 5)
np.polyfit([1, 2, 3], [1, 2], 1)
