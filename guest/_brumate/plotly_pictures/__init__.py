"""Pictures of plotly figures, drawn with matplotlib where there is no browser.

[`draw`] takes a figure's dictionary, as `figure.to_dict()` makes it. Nothing else of this package is imported, nor
matplotlib, before the first picture.
"""

from ..pristine import __builtins__

from .. import pristine

# Pixels of a side of a picture, and of a picture.
MIN_SIDE = 10
MAX_SIDE = 4000
MAX_PIXELS = 16_000_000
# Size of a picture whose figure has none.
WIDTH = 700
HEIGHT = 500
# Points of all traces of a figure; traces with more are thinned out.
MAX_POINTS = 200_000
# Traces that are drawn.
MAX_TRACES = 1000
# Names of what was left out.
MAX_NOTES = 20


def draw(figure):
    """Returns a figure's picture (PNG), and a list with the names of what is not in it.

    The picture is empty when there is nothing to draw. Any value is taken for a figure; only interrupts are raised.
    """
    # matplotlib and numpy see the live builtins.
    changed = pristine.repair()
    try:
        return _drawn(figure)
    finally:
        if changed:
            pristine.restore(changed)


def _drawn(figure):
    from .notes import Notes

    notes = Notes()
    try:
        from .picture import png

        return png(figure, notes), notes.all()
    except Exception as error:
        notes.add(f"the figure ({type(error).__name__})")
        return b"", notes.all()
