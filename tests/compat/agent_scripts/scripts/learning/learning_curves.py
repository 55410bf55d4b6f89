import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_diabetes, make_moons
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LassoCV, Ridge, RidgeCV
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneOut,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
    learning_curve,
    validation_curve,
)
from sklearn.neighbors import KNeighborsClassifier

X, y = load_diabetes(return_X_y=True)
sizes, train, test = learning_curve(Ridge(0.1), X, y, train_sizes=[0.2, 0.5, 1.0], cv=5, n_jobs=-1)
for n, a, b in zip(sizes, train.mean(1), test.mean(1), strict=True):
    print(f'{n:4d} train {a:.4f} test {b:.4f}')
_, scores = validation_curve(Ridge(), X, y, param_name='alpha', param_range=[0.01, 1, 100], cv=3)
print(scores.mean(1).round(4))
lasso = LassoCV(cv=5, random_state=0).fit(X, y)
print(f'{lasso.alpha_:.4f}', (lasso.coef_ != 0).sum(), RidgeCV([0.1, 1, 10]).fit(X, y).alpha_)
Xm, ym = make_moons(200, noise=0.25, random_state=0)
for cv in (RepeatedKFold(n_splits=4, n_repeats=2, random_state=0), ShuffleSplit(3, random_state=1), LeaveOneOut()):
    s = cross_val_score(KNeighborsClassifier(7), Xm, ym, cv=cv, n_jobs=1)
    print(type(cv).__name__, len(s), s.mean().round(4))
for fold, (a, b) in enumerate(TimeSeriesSplit(3).split(np.arange(12))):
    print(fold, a, b)
print([b.tolist() for _, b in GroupKFold(2).split(np.arange(6), groups=[1, 1, 2, 2, 3, 3])])
search = RandomizedSearchCV(
    Ridge(), {'alpha': loguniform(1e-3, 1e2)}, n_iter=6, random_state=0, n_jobs=2, verbose=1
).fit(X, y)
print(f'{search.best_params_["alpha"]:.5f} {search.best_score_:.4f}')
gp = GaussianProcessRegressor(RBF(1.0) + WhiteKernel(0.1), random_state=0).fit([[0], [1], [2], [3]], [0, 1, 4, 9])
print(gp.predict([[1.5]], return_std=True)[0].round(1))
cross_val_score(KNeighborsClassifier(), Xm[:3], ym[:3], cv=5)
