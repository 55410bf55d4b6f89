"""matplotlib figures as PNG events. Nothing here imports matplotlib: who has no figures does not pay for them."""

from .pristine import __builtins__

import binascii
import io
import sys

from . import channel, streams

BACKEND = "module://_brumate.mpl_backend"
# Figures of one run that are shown.
MAX_FIGURES = 50
# Pixels of one picture; a larger figure is drawn at a lower resolution.
MAX_PIXELS = 16_000_000
# Bytes of one PNG; a larger one is not sent.
MAX_PNG_BYTES = 6 << 20


class _State:
    left = MAX_FIGURES


def start_run():
    """Renews the allowance of figures."""
    _State.left = MAX_FIGURES


def is_figure(kind):
    """Whether a type is matplotlib's `Figure`, or derived from it."""
    module = sys.modules.get("matplotlib.figure")
    return module is not None and issubclass(kind, module.Figure)


def add_png(data, figure):
    """Adds the picture of a figure to a mime bundle. Drawing runs guest code and may raise."""
    png = _png(figure)
    if len(png) <= MAX_PNG_BYTES:
        data["image/png"] = binascii.b2a_base64(png, newline=False).decode()


def _png(figure):
    width, height = figure.get_size_inches()
    dpi = figure.dpi
    pixels = width * height * dpi * dpi
    if pixels > MAX_PIXELS:
        dpi *= (MAX_PIXELS / pixels) ** 0.5
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight")
    return buffer.getvalue()


def show(managers):
    """Emits figures and closes them, as Jupyter does: the next `plt.plot` begins a new one. Empty ones are not sent."""
    from matplotlib._pylab_helpers import Gcf

    for manager in managers:
        figure = manager.canvas.figure
        try:
            emit(figure)
        finally:
            Gcf.destroy(manager)


def emit(figure):
    """Sends one figure as `display_data`, unless it has nothing in it or the run has shown enough."""
    if not figure.get_children()[1:] or _State.left <= 0:  # the first child is the background
        return
    _State.left -= 1
    data = {"text/plain": repr(figure)}
    add_png(data, figure)
    streams.flush()
    channel.emit("DisplayData", data)


def show_open():
    """Emits the figures that are still open at the end of a run."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is not None:
        show(helpers.Gcf.get_all_fig_managers())
