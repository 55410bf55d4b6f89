"""matplotlib: Agg and the vector backends, FreeType and Qhull inside, errors out of C++."""

import io

import matplotlib
import numpy as np
import pandas as pd
from PIL import Image

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import matplotlib.tri as tri
from matplotlib.ft2font import FT2Font

fig, ax = plt.subplots(2, 2, figsize=(8, 6))
x = np.linspace(0, 6, 200)
ax[0, 0].plot(x, np.sin(x), label="sin")
ax[0, 0].plot(x, np.cos(x), "--", label="косинус")
ax[0, 0].legend()
ax[0, 0].set_title(r"$\int_0^x \cos t\,dt$ Привет")
noise = np.random.default_rng(0).random((40, 40))
ax[0, 1].contourf(*np.mgrid[0:5:40j, 0:5:40j], noise)
ax[1, 0].bar(["a", "b"], [3, 4])
fig.colorbar(ax[1, 1].imshow(noise))
fig.tight_layout()
starts = {"png": b"\x89PNG", "jpg": b"\xff\xd8", "webp": b"RIFF", "svg": b"<?xml", "pdf": b"%PDF"}
for format, start in starts.items():
    file = io.BytesIO()
    fig.savefig(file, format=format, dpi=100)
    assert file.getvalue().startswith(start), format
    if format == "png":
        assert Image.open(file).size == (800, 600)

assert len(tri.Triangulation([0, 1, 0, 1], [0, 0, 1, 1]).triangles) == 2
figure = plt.figure()
surface = figure.add_subplot(projection="3d")
surface.plot_surface(*np.meshgrid(np.arange(5), np.arange(5)), np.arange(25).reshape(5, 5))
figure.savefig(io.BytesIO())
pd.DataFrame({"a": [1, 2, 3]}).plot()
plt.savefig(io.BytesIO())


def huge():
    plt.figure(figsize=(700, 700)).canvas.draw()


with open("/tmp/no-font", "wb") as file:
    file.write(b"no font")
for call in (
    lambda: tri.Triangulation([0, 0, 0], [0, 0, 0]),
    lambda: FT2Font("/tmp/no-font"),
    huge,
):
    try:
        call()
    except (RuntimeError, ValueError):
        continue
    raise AssertionError("no error")
