"""A matplotlib backend: Agg, where showing a figure sends it to the host.

Chosen by the environment variable MPLBACKEND; matplotlib imports it when pyplot is first used.
"""

from matplotlib.backend_bases import FigureManagerBase, Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg

from . import figures


class FigureManager(FigureManagerBase):
    """Shows by sending an event."""

    @classmethod
    def pyplot_show(cls, *, block=None):
        """`plt.show()`: sends and closes every open figure. `block` has no meaning here."""
        figures.show(Gcf.get_all_fig_managers())

    def show(self):
        """`figure.show()`: sends and closes this one."""
        figures.show([self])


class FigureCanvas(FigureCanvasAgg):
    """Agg's canvas with our manager."""

    manager_class = FigureManager
