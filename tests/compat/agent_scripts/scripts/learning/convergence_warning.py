import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Lasso, LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

X, y = make_classification(n_samples=200, n_features=20, n_informative=6, random_state=5, shift=50, scale=100)
for model in (
    LogisticRegression(max_iter=3),
    MLPClassifier(hidden_layer_sizes=(8,), max_iter=5, random_state=0),
    LinearSVC(max_iter=5, random_state=0),
    SGDClassifier(max_iter=2, tol=1e-9, random_state=0),
    Lasso(alpha=1e-8, max_iter=2),
):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always', ConvergenceWarning)
        model.fit(X, y)
    for w in caught:
        print(type(model).__name__, '|', w.category.__name__, '|', str(w.message).splitlines()[0][:60])
try:
    LogisticRegression().predict(X)
except NotFittedError as e:
    print('NotFittedError:', e)
try:
    check_is_fitted(MLPClassifier())
except NotFittedError as e:
    print(type(e).__mro__[1].__name__, e)
for bad in (np.full((4, 2), np.nan), np.array([1, 2, 3]), np.array([['a', 'b']]), np.empty((0, 3))):
    try:
        LogisticRegression().fit(bad, [0, 1, 0, 1][: len(bad)])
    except ValueError as e:
        print('ValueError:', str(e).splitlines()[0])
try:
    LogisticRegression().fit(X, np.ones(200))
except ValueError as e:
    print('ValueError:', e)
try:
    LogisticRegression(C='big').fit(X, y)
except Exception as e:
    print(type(e).__name__, e)
LogisticRegression(max_iter=2).fit(X, y)
LogisticRegression(penalty='l1', solver='lbfgs').fit(X, y)
