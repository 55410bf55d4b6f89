import io
import time

start = time.perf_counter()
import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

frame = pd.DataFrame({"x": np.arange(100), "y": np.arange(100) ** 2})
figure, axes = plt.subplots()
axes.plot(frame["x"], frame["y"], label="square")
axes.legend()
file = io.BytesIO()
figure.savefig(file, format="png")
if not file.getvalue().startswith(b"\x89PNG"):
    raise AssertionError("no PNG")
print("figure", flush=True)
print(f"inside {time.perf_counter() - start:.6f}", flush=True)
