"""Work with floats and integers of a million elements, with the numpy and pandas of a package and integers of a type.

Prints the seconds of each, the best of several, and a number that its result gives.

    number_widths.py PACKAGE int32|int64          PACKAGE `-`: the numpy and pandas that are installed
"""

import importlib
import sys
import time

package, integers = sys.argv[1:]
if package != "-":
    # By name, so that the interpreter is not forked from an image that has the bundle's.
    found = importlib.import_module(package)
    sys.path.insert(0, list(found.__path__)[0])
np, pd = importlib.import_module("numpy"), importlib.import_module("pandas")
for module in (np, pd):
    if package not in ("-", *module.__file__.split("/")):
        raise SystemExit(f"another {module.__name__} was imported: {module.__file__}")

print("numbers", flush=True)

SIZE = 1_000_000
REPEATS = 12
generator = np.random.default_rng(0)
x, y = generator.random((2, SIZE))
x32, y32 = x.astype("f4"), y.astype("f4")
out = np.empty(SIZE)
one, two = np.float64(1.5), np.float64(2.5)
i = generator.integers(0, 1000, SIZE).astype(integers)
random = generator.permutation(SIZE).astype(integers)
ordered = np.arange(SIZE, dtype=integers)
frame = pd.DataFrame({"key": i, "value": random})


def scalars():
    total = one
    for _ in range(10_000):
        total = one + two
    return total


FLOATS = {
    "x + y": lambda: x + y,
    "x + y, in place": lambda: np.add(x, y, out=out),
    "x + y, float32": lambda: x32 + y32,
    "x * y": lambda: x * y,
    "x / y": lambda: x / y,
    "sqrt": lambda: np.sqrt(x),
    "exp": lambda: np.exp(x),
    "log": lambda: np.log(y),
    "sin": lambda: np.sin(x),
    "sum": lambda: x.sum(),
    "mean over axis 0": lambda: x.reshape(1000, 1000).mean(0),
    "sort": lambda: np.sort(x),
    "x < y": lambda: x < y,
    "10⁴ sums of two scalars": scalars,
}
INTEGERS = {
    "arange": lambda: np.arange(SIZE, dtype=integers),
    "sum": lambda: i.sum(),
    "cumsum": lambda: i.cumsum(dtype=integers),
    "i * 3": lambda: i * 3,
    "sort of integers": lambda: np.sort(i),
    "argsort": lambda: np.argsort(i, kind="stable"),
    "a[idx], in order": lambda: x[ordered],
    "a[idx], at random": lambda: x[random],
    "take": lambda: x.take(random),
    "bincount": lambda: np.bincount(i),
    "groupby, sum": lambda: frame.groupby("key")["value"].sum().to_numpy(),
}

for kind, work in (("floats", FLOATS), ("integers", INTEGERS)):
    for name, function in work.items():
        best = float("inf")
        for _ in range(REPEATS):
            start = time.perf_counter()
            result = function()
            best = min(best, time.perf_counter() - start)
        print(f"{kind}\t{name}\t{best}\t{float(np.sum(result, dtype=float))}", flush=True)
