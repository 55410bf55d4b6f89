"""Names of what a picture leaves out, each of them once."""

from _brumate.text import well_formed
from brumate_plotly import MAX_NOTES

# Characters of one name.
_MAX_CHARS = 100


class Notes:
    """Names in the order in which they came."""

    def __init__(self):
        self._names = {}

    def add(self, name):
        """Adds a name, unless it is there or there are enough."""
        if len(self._names) < MAX_NOTES:
            self._names[well_formed(str(name))[:_MAX_CHARS]] = True

    def all(self):
        """Returns the names as a list."""
        return list(self._names)
