"""matplotlib figures as events. Nothing here imports matplotlib: who has no figures does not pay for them.

A figure is captured once per cell and change, whatever shows it: `plt.show()`, its being displayed, the end of the
cell. One that an earlier cell has shown is captured again when a later one draws into it.
"""

from .pristine import __builtins__

import hashlib
import sys
import weakref

from . import channel, figure_formats, saved_figures, space, streams
from .text import well_formed

BACKEND = "module://_brumate.mpl_backend"
# Figures of one run that are shown.
MAX_FIGURES = 50


class _State:
    left = MAX_FIGURES
    publish = None
    shows_empty = False
    # Whether the code is a script: nobody looks at what it shows.
    script = False
    # Digests of what this cell has captured: by figure (its identity, and a weak reference), and of other contents.
    captured = {}
    contents = set()
    # Figures that were captured, and are still there, by identity: `(weak reference, digest)`, the newest last.
    known = {}


def start_run(script=False):
    """Renews the allowance of figures."""
    _State.left = MAX_FIGURES
    _State.script = script
    _State.publish = None
    _State.captured.clear()
    _State.contents.clear()
    saved_figures.start_run()


def publish_with(function, shows_empty=False):
    """For this run, mime bundles of figures go to `function` instead of the channel. With `shows_empty` figures that
    have nothing in them are shown as text."""
    _State.publish, _State.shows_empty = function, shows_empty


def is_unseen():
    """Whether what the code shows goes nowhere: it is a script."""
    return _State.script


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


def _is_new(figure, picture):
    """Whether this cell has not captured this picture of a figure yet; from now on it has."""
    digests, digest = _captured(figure), _digest(picture)
    new = digest not in digests
    digests.add(digest)
    return new


def _digest(content):
    return hashlib.blake2b(content, digest_size=16).digest()


def _know(figure, picture, path):
    """Notes what was captured of a figure, and the file it was saved to, if that was taken."""
    saved_figures.note_captured(figure, path)
    known = _State.known
    known.pop(id(figure), None)
    known[id(figure)] = weakref.ref(figure), _digest(picture)
    while len(known) > MAX_FIGURES:
        del known[next(iter(known))]
    # Drawing sets it; from now on, only changes do.
    figure.stale = False


def is_figure(kind):
    """Whether a type is matplotlib's `Figure`, or derived from it."""
    module = sys.modules.get("matplotlib.figure")
    return module is not None and issubclass(kind, module.Figure)


def bundle(figure):
    """The mime bundle of a figure: its text, and pictures of it that this cell has not captured yet. Drawing runs guest
    code and may raise."""
    kind, picture, path = _picture(figure)
    new = _is_new(figure, picture)
    _know(figure, picture, path)
    return _bundle(figure, kind, picture, path) if new else {"text/plain": repr(figure)}


def _picture(figure):
    """`(type, bytes, path)` of a figure: as it was saved, with the path, or drawn."""
    saved = saved_figures.picture_of(figure, figure_formats.MAX_RASTER_BYTES)
    return saved if saved is not None else (*figure_formats.draw(figure), None)


def _bundle(figure, kind, picture, path):
    data = figure_formats.bundle(figure, kind, picture)
    if path is not None and path.startswith(f"{space.WORKSPACE}/"):
        data[saved_figures.SAVED] = well_formed(path.removeprefix(f"{space.WORKSPACE}/"))
    return data


def show(managers):
    """Emits figures and closes them, as Jupyter does: the next `plt.plot` begins a new one. Empty ones are not sent;
    those of a script are not even drawn."""
    from matplotlib._pylab_helpers import Gcf

    for manager in managers:
        figure = manager.canvas.figure
        try:
            if _State.script:
                saved_figures.note_unseen(figure)
            else:
                emit(figure)
        finally:
            Gcf.destroy(manager)
            if _State.publish is None:
                saved_figures.note_shown(figure)


def emit(figure):
    """Sends one figure as `display_data`, unless it has nothing in it or the run has shown enough."""
    if _State.left <= 0:
        return
    if not figure.get_children()[1:]:  # the first child is the background
        if _State.shows_empty:
            publish({"text/plain": repr(figure)})
        return
    kind, picture, path = _picture(figure)
    new = _is_new(figure, picture)
    _know(figure, picture, path)
    if not new:
        return
    take_one()
    data = _bundle(figure, kind, picture, path)
    figure.stale = False
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
        elif saved_figures.shows_a_change(figure):
            emit(figure)
        elif figure.stale:
            # Saving a figure to an open file makes it stale as well: only another picture is a change.
            if _digest(figure_formats.draw(figure)[1]) == digest:
                figure.stale = False
            else:
                emit(figure)
