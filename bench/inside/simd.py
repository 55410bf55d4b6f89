"""Linear algebra, element by element and sorting, with the numpy in the package that is named; prints the seconds of
each, the best of several, and a number that its result gives.

numpy is imported by name, so that the interpreter is not forked from an image that has the bundle's.
"""

import importlib
import sys
import time

package = importlib.import_module(sys.argv[1])
sys.path.insert(0, list(package.__path__)[0])
np = importlib.import_module("numpy")
if sys.argv[1] not in np.__file__:
    raise SystemExit(f"another numpy was imported: {np.__file__}")

print("simd", flush=True)

generator = np.random.default_rng(0)
a, b = generator.random((500, 500)), generator.random((500, 500))
small = generator.random((300, 300))
symmetric = small + small.T
x, y, z = generator.random((3, 1_000_000))
x32, y32, z32 = (values.astype("f4") for values in (x, y, z))

WORK = {
    "matmul 500²": lambda: a @ b,
    "matmul 500², float32": (lambda a, b: lambda: a @ b)(a.astype("f4"), b.astype("f4")),
    "eigh 300²": lambda: np.linalg.eigh(symmetric).eigenvalues,
    "svd 300²": lambda: np.linalg.svd(small).S,
    "sort 10⁶": lambda: np.sort(x),
    "sum 10⁶": lambda: x.sum(),
    "sum 10⁶, float32": lambda: x32.sum(),
    "exp 10⁶": lambda: np.exp(x),
    "exp 10⁶, float32": lambda: np.exp(x32),
    "sqrt 10⁶": lambda: np.sqrt(x),
    "sqrt 10⁶, float32": lambda: np.sqrt(x32),
    "x < y, 10⁶": lambda: x < y,
    "x < y, 10⁶, float32": lambda: x32 < y32,
    "x * y + z, 10⁶": lambda: x * y + z,
    "x * y + z, 10⁶, float32": lambda: x32 * y32 + z32,
}

for name, work in WORK.items():
    best = float("inf")
    for _ in range(9):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    print(f"{name}\t{best}\t{float(np.sum(result, dtype=float))}", flush=True)
