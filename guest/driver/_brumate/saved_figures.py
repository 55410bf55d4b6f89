"""Figures that code saves itself. One that was saved as a picture and not changed since is shown as it was saved: it is
not drawn again. In a script, `plt.savefig()` after `plt.show()` saves the figure that was shown, as natively."""

from .pristine import __builtins__

import os
import weakref

from . import import_hooks, pictures, streams

# The relative path of the file in the working directory that has this picture already.
SAVED = "application/vnd.brumate.saved+text"
# A picture that was saved much smaller than the figure is drawn again.
_LEAST_SCALE = 0.7
_TYPES = {".png": pictures.PNG, ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
_SAVE, _WRITE = "plt.savefig('figure.png')", "fig.write_html('figure.html')"
# Saved pictures that are remembered in one run.
MAX_SAVED = 100


class _Picture:
    """A file that a figure was saved to."""

    def __init__(self, figure, path, changed):
        self.figure = weakref.ref(figure)
        self.path = path
        self.changed = changed
        self.stamp = _stamp(path)


def _stamp(path):
    """What differs when another figure is saved to the same file."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino


class _Saved:
    # By the identity of the figure.
    pictures = {}
    # The figure that a script has shown last.
    shown = None
    # Figures that were saved, in whatever form.
    kept = weakref.WeakSet()
    # Of a script: weak references to figures that it has shown and not saved, and how many of plotly's it has shown.
    unseen = []
    unseen_pages = 0
    # Whether a figure of plotly was written to a page.
    page_written = False


def start_run():
    """Forgets what the last run has saved and shown."""
    _Saved.pictures.clear()
    _Saved.shown = None
    _Saved.kept.clear()
    _Saved.unseen.clear()
    _Saved.unseen_pages, _Saved.page_written = 0, False


def note_unseen(figure):
    """Notes that a script has shown a figure of matplotlib. An empty one needs no note, nor one that was saved."""
    if figure.get_children()[1:] and figure not in _Saved.kept:  # the first child is the background
        _Saved.unseen.append(weakref.ref(figure))


def note_unseen_page():
    """Notes that a script has shown a figure of plotly."""
    _Saved.unseen_pages += 1


def tell_unseen():
    """At the end of a script: says how to keep the figures that it has shown and not saved."""
    pages = 0 if _Saved.page_written else _Saved.unseen_pages
    count = len(_Saved.unseen) + pages
    if not count:
        return
    shown, kept = ("a figure", "it") if count == 1 else (f"{count} figures", "them")
    calls = [call for call, number in ((_SAVE, len(_Saved.unseen)), (_WRITE, pages)) if number]
    streams.write_error(
        f"brumate: the script showed {shown}, and nobody sees figures of a script (to keep {kept}, call "
        f"{' or '.join(calls)} and use --output-dir DIR)\n"
    )


def note_shown(figure):
    """Notes the figure that a script shows and closes."""
    _Saved.shown = figure


def picture_of(figure, max_bytes):
    """`(type, bytes, path)` of the picture of a figure that was saved and has not changed since; None without one."""
    saved = _of(figure)
    if saved is None:
        return None
    try:
        if saved.stamp != _stamp(saved.path) or saved.stamp[0] > max_bytes:
            return None
        with open(saved.path, "rb") as file:
            content = file.read(max_bytes)
    except OSError:
        return None
    kind = _TYPES[os.path.splitext(saved.path)[1].lower()]
    if kind == pictures.PNG:
        size = pictures.size_of(content)
        if size is None or size[0] < figure.get_size_inches()[0] * min(figure.dpi, 100) * _LEAST_SCALE:
            return None
    return kind, content, saved.path


def note_captured(figure, path):
    """Notes that a figure was shown as it was saved, or drawn anew (None): then its file is out of date."""
    if path is None:
        _Saved.pictures.pop(id(figure), None)
    else:
        _Saved.pictures[id(figure)].changed = False


def shows_a_change(figure):
    """Whether a figure had changed when it was saved, and has not since."""
    saved = _of(figure)
    return saved is not None and saved.changed


def _of(figure):
    saved = _Saved.pictures.get(id(figure))
    return saved if saved is not None and saved.figure() is figure and not figure.stale else None


def install():
    """Done once, at boot."""
    import_hooks.after_import("matplotlib.figure", _watch)
    import_hooks.after_import("matplotlib.pyplot", _follow_show)
    import_hooks.after_import("plotly.io._html", _watch_pages)


def _watch(module):
    line = "changed = a[0].stale if a else None; result = original(*a, **k); note(changed, *a, **k); return result"
    module.Figure.savefig = import_hooks.stand_in(module, module.Figure.savefig, line, note=_note_arguments)


def _watch_pages(module):
    line = "note(); return original(*a, **k)"
    module.write_html = import_hooks.stand_in(module, module.write_html, line, note=_note_page)


def _note_page():
    _Saved.page_written = True


def _note_arguments(changed, figure=None, name=None, *_arguments, **options):
    if figure is not None:
        _Saved.kept.add(figure)
        _Saved.unseen[:] = [reference for reference in _Saved.unseen if reference() is not figure]
        _note(figure, options.get("fname", name), options.get("format"), changed)


def _note(figure, name, kind, changed):
    if not isinstance(name, (str, os.PathLike)):
        return
    path = os.path.abspath(os.fspath(name))
    if not isinstance(path, str):
        return
    ending = os.path.splitext(path)[1].lower()
    if ending not in _TYPES or (kind is not None and f".{kind}".lower() != ending) or len(_Saved.pictures) >= MAX_SAVED:
        return
    try:
        _Saved.pictures[id(figure)] = _Picture(figure, path, changed)
    except OSError:
        return  # it is gone already
    # Saving sets it; from now on, only changes do.
    figure.stale = False


def _follow_show(module):
    def choose(original):
        return _Saved.shown.savefig if _Saved.shown is not None and not module.get_fignums() else original

    module.savefig = import_hooks.stand_in(module, module.savefig, "return choose(original)(*a, **k)", choose=choose)
