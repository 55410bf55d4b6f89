"""matplotlib figures as events. Nothing here imports matplotlib: who has no figures does not pay for them.

A figure is captured once per cell and change, whatever shows it: `plt.show()`, its being displayed, the end of the
cell. One that an earlier cell has shown is captured again when a later one draws into it.
"""

from .pristine import __builtins__

import binascii
import hashlib
import io
import sys
import weakref

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
    # Digests of what this cell has captured: by figure (its identity, and a weak reference), and of other contents.
    captured = {}
    contents = set()
    # Figures that were captured, and are still there, by identity: `(weak reference, digest)`, the newest last.
    known = {}


def start_run():
    """Renews the allowance of figures."""
    _State.left = MAX_FIGURES
    _State.publish = None
    _State.captured.clear()
    _State.contents.clear()


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


def is_new_content(content):
    """Whether this cell has not captured this content (bytes) yet; from now on it has."""
    digest = _digest(content)
    new = digest not in _State.contents
    _State.contents.add(digest)
    return new


def _captured(figure):
    """Digests of what this cell has captured of a figure, as a set to add to."""
    reference, digests = _State.captured.get(id(figure), (None, None))
    if reference is None or reference() is not figure:
        digests = set()
        _State.captured[id(figure)] = weakref.ref(figure), digests
    return digests


def _is_new(figure, png):
    """Whether this cell has not captured this picture of a figure yet; from now on it has."""
    digests, digest = _captured(figure), _digest(png)
    new = digest not in digests
    digests.add(digest)
    return new


def _digest(content):
    return hashlib.blake2b(content, digest_size=16).digest()


def _know(figure, png):
    """Notes what was captured of a figure."""
    known = _State.known
    known.pop(id(figure), None)
    known[id(figure)] = weakref.ref(figure), _digest(png)
    while len(known) > MAX_FIGURES:
        del known[next(iter(known))]
    # Drawing sets it; from now on, only changes do.
    figure.stale = False


def is_figure(kind):
    """Whether a type is matplotlib's `Figure`, or derived from it."""
    module = sys.modules.get("matplotlib.figure")
    return module is not None and issubclass(kind, module.Figure)


def bundle(figure, svg=False):
    """The mime bundle of a figure: its text, and pictures of it that this cell has not captured yet. Drawing runs guest
    code and may raise."""
    png = _png(figure)
    if _is_new(figure, png):
        data = _pictures(figure, png, svg)
    else:
        data = {"text/plain": repr(figure)}
    _know(figure, png)
    return data


def _pictures(figure, png, svg):
    data = {"text/plain": repr(figure)}
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
    if not figure.get_children()[1:] or _State.left <= 0:  # the first child is the background
        return
    png = _png(figure)
    if not _is_new(figure, png):
        _know(figure, png)
        return
    take_one()
    data = _pictures(figure, png, svg=_State.publish is not None)
    _know(figure, png)
    if not publish(data):
        streams.flush()
        channel.emit("DisplayData", data)


def show_open():
    """At the end of a run: emits the figures that are still open, closes them all, and emits those that were shown
    before and drawn into since."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return
    open_ones = []
    for manager in helpers.Gcf.get_all_fig_managers():
        figure = manager.canvas.figure
        if _captured(figure) and not figure.stale:
            helpers.Gcf.destroy(manager)
        else:
            open_ones.append(manager)
    show(open_ones)
    for identity, (reference, digest) in list(_State.known.items()):
        figure = reference()
        if figure is None:
            del _State.known[identity]
        elif figure.stale:
            # Saving a figure makes it stale as well: only another picture is a change.
            if _digest(_png(figure)) == digest:
                figure.stale = False
            else:
                emit(figure)
