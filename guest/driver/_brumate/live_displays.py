"""rich's live displays: in a notebook's cell they are shown once, as at the end, and no thread draws them anew."""

from .pristine import __builtins__

import functools

from . import import_hooks


def _draw_at_end(module):
    kind = module.Live
    make, refresh, stop = kind.__init__, getattr(kind, "refresh", None), getattr(kind, "stop", None)

    @functools.wraps(make)
    def __init__(self, *arguments, **options):
        make(self, *arguments, **options)
        if getattr(getattr(self, "console", None), "is_jupyter", False):
            self.auto_refresh = False

    def is_shown_once(live):
        return live.console.is_jupyter and not getattr(live, "_nested", False)

    kind.__init__ = __init__
    if refresh is None or stop is None:
        return  # not rich's own

    @functools.wraps(refresh)
    def refresh_(self):
        if is_shown_once(self):
            with self._lock:
                self._live_render.set_renderable(self.renderable)
        else:
            refresh(self)

    @functools.wraps(stop)
    def stop_(self):
        is_last = self._started and is_shown_once(self) and not self.transient
        stop(self)
        if is_last:
            self.console.print(self.get_renderable())

    kind.refresh, kind.stop = refresh_, stop_


def _show_no_empty(module):
    display = module.display

    @functools.wraps(display)
    def display_(segments, text):
        # Sequences that move a terminal's cursor have no text.
        if text:
            display(segments, text)

    module.display = display_


def install():
    """Done once, at boot."""
    import_hooks.after_import("rich.jupyter", _show_no_empty)
    import_hooks.after_import("rich.live", _draw_at_end)
