"""matplotlib figures as events. Nothing here imports matplotlib: who has no figures does not pay for them."""

from .pristine import __builtins__

import binascii
import io
import sys

from . import channel, pictures, streams

BACKEND = "module://_brumate.mpl_backend"
# Figures of one run that are shown.
MAX_FIGURES = 50
# Pixels of one picture; a larger figure is drawn at a lower resolution.
MAX_PIXELS = 16_000_000
# Bytes of one PNG; a larger one is not sent.
MAX_PNG_BYTES = 6 << 20


# Bytes of one SVG; drawing ends there, and the picture is left out.
MAX_SVG_BYTES = 2 << 20
SVG = "image/svg+xml"


class _State:
    left = MAX_FIGURES
    publish = None
    # Figures that the cell has displayed itself, by identity: they are not shown again at its end.
    shown = {}


def start_run():
    """Renews the allowance of figures."""
    _State.left = MAX_FIGURES
    _State.publish = None
    _State.shown.clear()


def publish_with(function):
    """For this run, mime bundles of figures, SVG included, go to `function` instead of the channel."""
    _State.publish = function


def take_one():
    """Uses up one of the run's figures. Returns whether there was one left."""
    if _State.left <= 0:
        return False
    _State.left -= 1
    return True


def publish(data):
    """Passes a mime bundle on to the function of [`publish_with`]. Returns whether there is one."""
    if _State.publish is None:
        return False
    _State.publish(data)
    return True


def was_shown(figure):
    """Notes that a figure was displayed by itself, so that it is not shown again when the cell ends."""
    _State.shown[id(figure)] = figure


def is_figure(kind):
    """Whether a type is matplotlib's `Figure`, or derived from it."""
    module = sys.modules.get("matplotlib.figure")
    return module is not None and issubclass(kind, module.Figure)


def bundle(figure, svg=False):
    """The mime bundle of a figure: its text, and pictures of it. Drawing runs guest code and may raise."""
    data = {"text/plain": repr(figure)}
    png = _png(figure)
    if len(png) <= MAX_PNG_BYTES:
        data[pictures.PNG] = binascii.b2a_base64(png, newline=False).decode()
        pictures.fit(data)
    if svg:
        _add_svg(data, figure)
    return data


def _png(figure):
    width, height = figure.get_size_inches()
    dpi = figure.dpi * _scale()
    pixels = width * height * dpi * dpi
    if pixels > MAX_PIXELS:
        dpi *= (MAX_PIXELS / pixels) ** 0.5
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight")
    return buffer.getvalue()


def _scale():
    """2 after `%config InlineBackend.figure_format = "retina"`."""
    config = sys.modules.get("matplotlib_inline.config")
    if config is None or not config.InlineBackend.initialized():
        return 1
    formats = config.InlineBackend.instance().figure_formats
    return 2 if "retina" in formats or "png2x" in formats else 1


class _TooLarge(Exception):
    pass


class _Bounded(io.BytesIO):
    def write(self, data):
        if self.tell() + len(data) > MAX_SVG_BYTES:
            raise _TooLarge
        return super().write(data)


def _add_svg(data, figure):
    buffer = _Bounded()
    try:
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    except _TooLarge:
        data["text/plain"] += f"\n(no SVG: it would be larger than {MAX_SVG_BYTES >> 20} MiB)"
    else:
        data[SVG] = buffer.getvalue().decode()


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
    if not figure.get_children()[1:] or not take_one():  # the first child is the background
        return
    data = bundle(figure, svg=_State.publish is not None)
    if not publish(data):
        streams.flush()
        channel.emit("DisplayData", data)


def show_open():
    """Emits the figures that are still open at the end of a run, and were not displayed; closes them all."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return
    managers = helpers.Gcf.get_all_fig_managers()
    for manager in managers:
        if id(manager.canvas.figure) in _State.shown:
            helpers.Gcf.destroy(manager)
    show([manager for manager in managers if id(manager.canvas.figure) not in _State.shown])
