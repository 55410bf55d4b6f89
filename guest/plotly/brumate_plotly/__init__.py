"""Pictures of plotly figures, drawn with matplotlib where there is no browser.

[`draw`] takes a figure's dictionary, as `figure.to_dict()` makes it. Nothing else of this package is imported, nor
matplotlib, before the first picture.

Modules of this package use the builtins as they are, as matplotlib and numpy do. [`draw`] repairs them first: a cell
may have replaced some.
"""

from _brumate.pristine import Repaired

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
# Times that a picture may be larger than its figure.
MAX_SCALE = 20.0
FORMATS = ("png", "jpg", "jpeg", "webp", "svg", "pdf")


class TooLarge(Exception):
    """A picture has more pixels than it may have."""


def draw(figure, kind="png", scale=1.0):
    """Returns a figure's picture, and a list with the names of what is not in it.

    `scale`: pixels of the picture for each of the figure; vector formats have no pixels.

    The picture is empty when there is nothing to draw. Any value is taken for a figure. Raises ValueError for a scale
    that makes it too large, else only interrupts.
    """
    with Repaired():
        return _drawn(figure, kind, scale)


def _drawn(figure, kind, scale):
    from .notes import Notes

    notes = Notes()
    try:
        from .picture import drawn

        return drawn(figure, notes, kind, scale), notes.all()
    except TooLarge as error:
        raise ValueError(str(error)) from None
    except Exception as error:
        notes.add(f"the figure ({type(error).__name__})")
        return b"", notes.all()
