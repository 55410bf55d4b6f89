"""What an image has done before the first fork: imports, and the first use of what is slow the first time.

Nothing of it may be visible to guest code but loaded modules.
"""

from .pristine import __builtins__

import gc
import importlib
import json
import sys
import types

from . import loops, notebook, space
from .execution import execute
from .imports import analyze
from .reseeding import reseed

# How often the paths of every run are gone through, so that CPython has specialised their bytecode: until then each
# pass counts down in the code itself, and every fork would copy those pages.
WARM_UP = 64

_WARM_UP_CODE = ("1+1", "x = 1\nprint(x)", "import math\nmath.pi")

# By top-level module: code that imports what is usually used of it, and fills its caches. Those of the bundle, and packages of
# `--deps` that take seconds to import.
_FIRST_USES = {
    "numpy": """
import numpy as np
a = np.arange(12.0).reshape(3, 4)
repr(a), str(a.astype(int)), np.linalg.inv(np.eye(3)), np.fft.fft(a), a.mean(), a @ a.T, np.sort(a)
np.random.default_rng(0).normal(size=3)
""",
    "pandas": """
import io
import pandas as pd
frame = pd.read_csv(io.StringIO("when,name,value\\n2024-01-01,a,1.5\\n2024-01-02,b,2\\n2024-01-03,a,3"), parse_dates=["when"])
frame.info(buf=io.StringIO())
repr(frame), frame.describe(), frame.groupby("name").value.agg(["mean", "sum"]), frame._repr_html_()
frame.merge(frame, on="name"), frame.to_json(orient="records"), frame.to_csv(), frame.sort_values("value")
frame.set_index("when").resample("D").value.sum(), frame.pivot_table(index="name", values="value")
frame.name.str.upper(), pd.concat([frame, frame]).drop_duplicates(), frame.value.rolling(2).mean()
""",
    "matplotlib": """
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2, 3], [2, 1, 3], "o-", label="line")
axes.bar([1, 2], [1, 2])
axes.set(title="Title", xlabel="x", ylabel="y")
axes.legend()
plt.show()
""",
    "scipy": """
import importlib
for name in ("cluster.hierarchy", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse.linalg",
             "sparse.csgraph", "spatial", "special", "stats"):
    importlib.import_module("scipy." + name)
import numpy as np, scipy
a = np.eye(4) * 2 + 0.1
scipy.linalg.svd(a), scipy.linalg.eigh(a), scipy.linalg.solve(a, a[0]), scipy.stats.norm.cdf(0.5)
scipy.optimize.minimize(lambda v: ((v - 1) ** 2).sum(), a[0]), scipy.sparse.csr_array(a) @ a[0]
scipy.stats.ttest_ind(a[0], a[1]), scipy.interpolate.CubicSpline(range(4), a[0])(1.5), scipy.integrate.quad(np.sin, 0, 1)
""",
    "sklearn": """
import importlib
for name in ("cluster", "compose", "datasets", "decomposition", "ensemble", "feature_extraction.text", "feature_selection", "impute",
             "inspection", "linear_model", "manifold", "metrics", "mixture", "model_selection", "naive_bayes", "neighbors",
             "neural_network", "pipeline", "preprocessing", "svm", "tree"):
    importlib.import_module("sklearn." + name)
import warnings
from sklearn import cluster, datasets, decomposition, ensemble, linear_model, metrics, model_selection, pipeline, preprocessing
x, y = datasets.load_iris(return_X_y=True)
a, b, c, d = model_selection.train_test_split(x, y, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for model in (linear_model.LinearRegression(), linear_model.LogisticRegression(max_iter=20), ensemble.RandomForestClassifier(3)):
        pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(2), model).fit(a, c).predict(b)
    model_selection.cross_val_score(model, x, y, cv=2), cluster.KMeans(2, n_init=1).fit(x), repr(model)
metrics.classification_report(d, model.fit(a, c).predict(b)), metrics.confusion_matrix(d, model.predict(b))
""",
    "statsmodels": """
import warnings
import numpy as np, pandas as pd
import statsmodels.api as sm, statsmodels.formula.api as smf, statsmodels.tsa.api as tsa
data = pd.DataFrame({"x": np.arange(20.0), "g": list("ab") * 10})
data["y"] = data.x * 2 + np.sin(data.x)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    str(smf.ols("y ~ x + C(g)", data).fit().summary())
    sm.GLM(data.y + 2, sm.add_constant(data.x)).fit(), tsa.ARIMA(data.y.values, order=(1, 0, 0)).fit()
""",
}


def preload(names_json):
    """Imports modules (a JSON list of names) and uses them once."""
    names = json.loads(names_json)
    for name in names:
        importlib.import_module(name)
    for name in names:
        if name == "IPython":
            notebook.prepare()
        if name.startswith("mcp.server."):
            from .serving import first_use

            first_use.use(name)
        code = _FIRST_USES.get(name)
        if code is None:
            continue
        answer = json.loads(execute(json.dumps({"code": code})))
        if "Returned" not in answer["ended"]:
            raise RuntimeError(f"the first use of {name} failed: {answer}")


class _Kept:
    blocks = None


def warm_up():
    """Runs what every run runs, often."""
    requests = [json.dumps({"code": code}) for code in _WARM_UP_CODE]
    requests += [json.dumps({"code": code, "mode": "cell"}) for code in _WARM_UP_CODE]
    if notebook.was_made():
        requests += [json.dumps({"code": code, "mode": "notebook_cell"}) for code in _WARM_UP_CODE]

    def usual():
        for request in requests:
            execute(request)
        analyze("import json, numpy")
        reseed(b"x" * 64)

    _gather(_executed(usual))
    for _ in range(WARM_UP):
        usual()
    notebook.forget()
    loops.keep(False)
    space.forget_session()


def _executed(function):
    """Code that runs in a call, in the order of its first run."""
    codes = {}

    def profile(frame, event, argument):
        if event == "call":
            codes[frame.f_code] = None

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return list(codes)


def _gather(codes):
    """Lays code side by side that is used together. Where bytecode cannot be specialised it counts on for ever: the pages
    it lies on are written to by every run."""
    wanted = {id(code) for code in codes}
    functions = {}
    for some in gc.get_objects():
        if type(some) is types.FunctionType and id(some.__code__) in wanted:
            functions.setdefault(id(some.__code__), []).append(some)
    for code in codes:
        copy = code.replace()
        for function in functions.get(id(code), ()):
            function.__code__ = copy


# Sizes of the small objects that CPython's own allocator keeps in pools, and how many blocks a pool holds at most.
_SMALLEST, _LARGEST, _STEP = 8, 512, 8
_POOL = 4096
# Pools of one size that may be partly free; the fragments of a boot are fewer.
_MAX_POOLS = 64


def _fill_fragments():
    """Uses up the free blocks that are scattered over the heap, so that what a fork allocates lies side by side: each page
    it writes to is copied. The blocks are never given back."""
    empty = sys.getsizeof(b"")
    kept = []
    for size in range(_LARGEST, max(_SMALLEST, empty) - 1, -_STEP):
        last = stride = steady = 0
        for _ in range(_MAX_POOLS * (_POOL // size)):
            block = bytes(size - empty)
            kept.append(block)
            # A fresh pool hands its blocks out in order.
            distance = id(block) - last
            steady = steady + 1 if distance == stride and size <= stride < size + 2 * _STEP else 0
            last, stride = id(block), distance
            if steady >= max(_POOL // size // 2, 5):
                break
    return kept


def object_addresses(_=""):
    """Addresses of all objects, as hexadecimal text: the host makes them immortal (PEP 683).

    Counting references writes to every object that is merely used, and each fork would copy the pages. Immortal objects
    are not counted. To be called when the image is complete; freezes the garbage collector's generations.
    """
    gc.unfreeze()
    gc.collect()
    _Kept.blocks = _fill_fragments()
    found = {}
    # The walk's own objects stay mortal.
    own = []
    own += [id(own), id(found)]
    waiting = gc.get_objects()
    own += [id(waiting), id(sys._getframe())]
    for identity in own:
        found[identity] = None
    while waiting:
        some = waiting.pop()
        identity = id(some)
        if identity in found:
            continue
        kind = type(some)
        if kind is types.FrameType or kind is types.GeneratorType:
            continue
        found[identity] = None if sys._is_immortal(some) else identity
        waiting += gc.get_referents(some)
        if kind is types.CodeType:
            # The collector does not look into code.
            waiting += (some.co_consts, some.co_names, some.co_name, some.co_qualname, some.co_filename)
            waiting += (some.co_linetable, some.co_exceptiontable)
    del some
    text = ",".join([f"{identity:x}" for identity in found.values() if identity is not None])
    gc.freeze()
    return text
