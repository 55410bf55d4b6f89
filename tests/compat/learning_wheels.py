"""Wheels as published on PyPI for this platform that want scikit-learn.

They are in /wheels, as those of `numpy_wheels.py`. shap uses numpy's C API, fastcan has buffers whose types it states.
"""

import sys

import numpy as np

from checks import equal

sys.path.insert(0, "/wheels")


def test_they_are_the_published_ones():
    import fastcan._cancorr_fast
    import shap._cext

    for module in (fastcan._cancorr_fast, shap._cext):
        assert module.__file__.startswith("/wheels/") and module.__file__.endswith(".so"), module


def test_shap():
    import shap
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

    # All of them integers, as Python makes them.
    table = np.arange(120).reshape(40, 3) * np.array([7, 11, 13]) % 17
    wanted = table @ np.array([3, 0, -2])
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(table, wanted)
    explainer = shap.TreeExplainer(model)
    values = explainer.shap_values(table)
    equal(values.shape, (40, 3))
    np.testing.assert_allclose(values.sum(1) + explainer.expected_value, model.predict(table))
    assert np.abs(values).mean(0).argmax() == 0
    rows = np.argsort(wanted)[:5]
    np.testing.assert_allclose(explainer.shap_values(table[rows]), values[rows])
    classes = RandomForestClassifier(n_estimators=5, random_state=0).fit(table, (wanted > 0).astype(int))
    explained = shap.TreeExplainer(classes, data=table[:20]).shap_values(table[np.nonzero(wanted > 0)[0]])
    equal(explained.shape, (int((wanted > 0).sum()), 3, 2))


def test_fastcan():
    from fastcan import FastCan, minibatch

    table = np.arange(90).reshape(30, 3) * np.array([5, 7, 9]) % 31
    wanted = (table[:, :1] * 4 - table[:, 2:]).ravel()
    equal(sorted(FastCan(2, verbose=0).fit(table, wanted).get_support(indices=True).tolist()), [0, 2])
    chosen = minibatch(table.T.astype(float), table[:4].T.astype(float), 8, batch_size=2, verbose=0)
    equal((len(chosen), len(np.unique(chosen))), (8, 8))
    np.testing.assert_array_equal(table[chosen].shape, (8, 3))


def test_own_tests_of_fastcan():
    """The tests that come with the wheel, but those of NARX models and those that want torch."""
    import pytest

    names = ("beam", "fastcan", "init", "minibatch", "refine")
    files = [f"/wheels/fastcan/tests/test_{name}.py" for name in names]
    equal(int(pytest.main([*files, "-q", "-p", "no:cacheprovider"])), 0)
