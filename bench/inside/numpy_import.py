import time

start = time.perf_counter()
import numpy

numpy.arange(3) ** 2
print("numpy", flush=True)
print(f"inside {time.perf_counter() - start:.6f}", flush=True)
