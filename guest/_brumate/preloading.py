"""What an image has done before the first fork: imports, and the first use of what is slow the first time.

Nothing of it may be visible to guest code but loaded modules.
"""

from .pristine import __builtins__

import importlib
import json

from .execution import execute

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
        code = _FIRST_USES.get(name)
        if code is None:
            continue
        answer = json.loads(execute(json.dumps({"code": code})))
        if "Returned" not in answer["ended"]:
            raise RuntimeError(f"the first use of {name} failed: {answer}")
