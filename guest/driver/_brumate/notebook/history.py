"""What was typed, kept in memory: IPython's own history without a database."""

from ..pristine import __builtins__

import fnmatch

from IPython.core.history import HistoryManager


class History(HistoryManager):
    """The session's cells, and nothing from other sessions."""

    # Set by every cell: not traits, as in the shell.
    _i00 = _i = _ii = _iii = ""

    def store_inputs(self, line_num, source, source_raw=None):
        """Keeps what was typed, in `In` and in the names `_i`, `_ii`, `_iii` and `_i<number>`; `exit` is not kept."""
        typed = (source if source_raw is None else source_raw).rstrip("\n")
        if self._exit_re.match(typed.strip()):
            return
        self.input_hist_parsed.append(source.rstrip("\n"))
        self.input_hist_raw.append(typed)
        self._iii, self._ii, self._i, self._i00 = self._ii, self._i, self._i00, typed
        names = {"_i": self._i, "_ii": self._ii, "_iii": self._iii, f"_i{line_num}": typed}
        self.shell.push(names, interactive=False)

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
