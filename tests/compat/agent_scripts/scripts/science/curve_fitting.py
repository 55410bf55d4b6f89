import warnings

import numpy as np
from scipy.optimize import OptimizeWarning, curve_fit, least_squares
from scipy.stats import chi2


def model(t, a, tau, c):
    return a * np.exp(-t / tau) + c


rng = np.random.default_rng(12)
t = np.linspace(0, 10, 40)
sigma = 0.05
y = model(t, 2.5, 1.8, 0.4) + rng.normal(0, sigma, t.size)
popt, pcov = curve_fit(model, t, y, p0=[1, 1, 0], sigma=np.full(t.size, sigma), absolute_sigma=True)
errors = np.sqrt(np.diag(pcov))
for name, value, error in zip(['a', 'tau', 'c'], popt, errors, strict=True):
    print(f'{name:>4} = {value:.4f} ± {error:.4f}')
residual = y - model(t, *popt)
stat = (residual**2 / sigma**2).sum()
print(f'chi2 = {stat:.2f}, dof = {t.size - 3}, p = {chi2.sf(stat, t.size - 3):.4f}')
bounded, _ = curve_fit(model, t, y, bounds=([0, 0, 0], [2, 5, 1]))
print('bounded', bounded.round(4))
robust = least_squares(lambda p: model(t, *p) - y, [1, 1, 0], loss='soft_l1')
print('robust', robust.x.round(4), robust.status > 0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    p, cov = curve_fit(lambda x, a, b: a + b, [1, 2, 3], [1, 2, 3])
print([f'{w.category.__name__}: {w.message}' for w in caught], np.isinf(cov).all())
for action in (
    lambda: curve_fit(model, t[:2], y[:2]),
    lambda: curve_fit(model, t, y, p0=[1, 1e-3, 0], maxfev=5),
    lambda: curve_fit(model, t, np.where(t > 5, np.nan, y)),
):
    try:
        action()
    except Exception as e:
        print(type(e).__name__, e)
warnings.simplefilter('error', OptimizeWarning)
curve_fit(lambda x, a, b: a + b, [1, 2, 3], [1, 2, 3])
