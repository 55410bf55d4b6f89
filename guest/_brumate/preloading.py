"""What an image has done before the first fork: imports, and the first use of what is slow the first time.

Nothing of it may be visible to guest code but loaded modules.
"""

from .pristine import __builtins__

import gc
import importlib
import json
import sys
import types

from . import notebook, space
from .execution import execute
from .imports import analyze
from .reseeding import reseed

# How often the paths of every run are gone through, so that CPython has specialised their bytecode: until then each
# pass counts down in the code itself, and every fork would copy those pages.
WARM_UP = 64

_WARM_UP_CODE = ("1+1", "x = 1\nprint(x)", "import math\nmath.pi")

# By top-level module: code that fills its caches.
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
}


def preload(names_json):
    """Imports modules (a JSON list of names) and uses them once."""
    names = json.loads(names_json)
    for name in names:
        importlib.import_module(name)
    for name in names:
        if name == "IPython":
            notebook.prepare()
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
    requests += [json.dumps({"code": code, "session": True}) for code in _WARM_UP_CODE]
    if notebook.was_made():
        requests += [json.dumps({"code": code, "shell": True}) for code in _WARM_UP_CODE]

    def usual():
        for request in requests:
            execute(request)
        analyze("import json, numpy")
        reseed(b"x" * 64)

    _gather(_executed(usual))
    for _ in range(WARM_UP):
        usual()
    notebook.forget()
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


def mortals(_=""):
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
