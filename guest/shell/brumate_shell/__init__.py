"""Shell lines without a shell: a small set of file commands, answered inside the interpreter.

`!ls -l *.csv | head -3`, `%%bash` and `x = !cat f` end up here. What can be done is in [`table`]; the rest is refused
by name. Nothing here starts a process.
"""

from _brumate.pristine import __builtins__

from brumate_shell.bash.interpreter import run
from .table import NAMES

__all__ = ["NAMES", "run"]
