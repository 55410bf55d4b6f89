"""Cells run as a Jupyter kernel runs them: IPython's shell, its output sent to the host.

Nothing here imports IPython before the first such cell, unless an image is made of it ([`prepare`]).
"""

from ..pristine import __builtins__

from . import cell
from .cell import run_cell, serve_frontend, was_made

__all__ = ["forget", "prepare", "run_cell", "serve_frontend", "was_made"]


def prepare():
    """Makes the shell and uses it, for an image that is being built. [`forget`] ends that."""
    from . import warming

    warming.warm()


def forget():
    """Leaves the shell as if it had never run a cell."""
    if cell.was_made():
        from . import warming

        warming.forget(cell.shell())
