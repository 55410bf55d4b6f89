"""What was typed, kept in memory: IPython's own history without a database."""

from ..pristine import __builtins__

import fnmatch

from IPython.core.history import HistoryManager


class History(HistoryManager):
    """The session's cells, and nothing from other sessions."""

    # Set by every cell: not traits, as in the shell.
    _i00 = _i = _ii = _iii = ""

    def get_tail(self, n=10, raw=True, output=False, include_latest=False):
        """The last `n` cells, oldest first; without `include_latest` not the one that asks."""
        end = len(self.input_hist_raw) - (0 if include_latest else 1)
        return list(self.get_range(0, max(1, end - (10 if n is None else n)), max(1, end), raw=raw, output=output))

    def search(self, pattern="*", raw=True, search_raw=True, output=False, n=None, unique=False):
        """The cells that match a pattern of `*` and `?`, oldest first."""
        searched = self.input_hist_raw if search_raw else self.input_hist_parsed
        numbers = [number for number, text in enumerate(searched) if number and fnmatch.fnmatchcase(text, pattern)]
        if unique:
            numbers = sorted({searched[number]: number for number in numbers}.values())
        for number in numbers if n is None else numbers[-n:] if n else []:
            yield from self.get_range(0, number, number + 1, raw=raw, output=output)
