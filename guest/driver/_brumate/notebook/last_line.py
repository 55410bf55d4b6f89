"""Marks the shell line that ends a cell: when its command fails, so does the cell."""

from ..pristine import __builtins__

import ast

# What IPython makes of `!command`, and what is called in its place at the end of a cell.
_METHOD = "system"
_LAST_METHOD = "last_system"


def mark_last(module):
    """Has the last statement of a cell call [`ZMQInteractiveShell.last_system`] if it is a shell line."""
    body = getattr(module, "body", None)
    call = body[-1].value if body and type(body[-1]) is ast.Expr else None
    if type(call) is not ast.Call or call.keywords or len(call.args) != 1:
        return
    method = call.func
    if type(method) is not ast.Attribute or method.attr != _METHOD or type(method.value) is not ast.Call:
        return
    shell = method.value
    if type(shell.func) is ast.Name and shell.func.id == "get_ipython" and not shell.args and not shell.keywords:
        method.attr = _LAST_METHOD
