"""Linear algebra, sorting and grouping; prints the milliseconds of each, the best of several."""

import time

import numpy as np
import pandas as pd

print("numerics", flush=True)

generator = np.random.default_rng(0)
a, b = generator.random((500, 500)), generator.random((500, 500))
small = generator.random((300, 300))
symmetric = small + small.T
numbers = generator.random(1_000_000)
frame = pd.DataFrame({"key": generator.integers(0, 1000, 1_000_000), "value": numbers})

WORK = {
    "matmul 500²": lambda: a @ b,
    "matmul 500², float32": (lambda x, y: lambda: x @ y)(a.astype("f4"), b.astype("f4")),
    "solve 500²": lambda: np.linalg.solve(a, b[0]),
    "inv 500²": lambda: np.linalg.inv(a),
    "eigh 300²": lambda: np.linalg.eigh(symmetric),
    "svd 300²": lambda: np.linalg.svd(small),
    "sort 10⁶": lambda: np.sort(numbers),
    "groupby of 10⁶ rows": lambda: frame.groupby("key")["value"].mean(),
}

for name, work in WORK.items():
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    print(f"{name}\t{best}", flush=True)
