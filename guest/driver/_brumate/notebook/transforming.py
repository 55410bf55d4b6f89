"""Cells of plain Python pass IPython's input transformers unchanged: most need not be tokenized to find that out."""

from ..pristine import __builtins__

import re

# Whatever a transformer looks for: escapes anywhere or at the beginning of a line, prompts, indentation of the first
# line.
_SPECIAL = re.compile(r"\A\s|[%!?]|^[^\S\n]*(?:[,;/]|>>>|\.\.\.|In \[)", re.MULTILINE)
# Line ends that are not Python's; who has these asks IPython.
_ODD_ENDS = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class Transformers:
    """What transforms the cells of a shell, as IPython made it."""

    def __init__(self, shell):
        self._shell = shell
        self._known = self._present()

    def _present(self):
        manager, prefilter = self._shell.input_transformer_manager, self._shell.prefilter_manager
        lists = (manager.cleanup_transforms, manager.line_transforms, manager.token_transformers)
        return [*map(tuple, lists), tuple(prefilter.checkers), tuple(prefilter.transformers)]

    def plain(self, cell):
        """What [`InteractiveShell.transform_cell`] makes of a cell, if that can be told without asking; None
        otherwise."""
        if not cell or _SPECIAL.search(cell) or _ODD_ENDS.search(cell):
            return None
        shell = self._shell
        if shell.input_transformers_post or self._present() != self._known:
            return None
        if not cell.endswith("\n"):
            cell += "\n"
        # A line of its own may be a macro, a magic without its sign, or `exit`: those begin with a name.
        if cell.count("\n") == 1 and (cell[0] == "_" or cell[0].isalpha() or not cell.isascii()):
            return None
        return cell
