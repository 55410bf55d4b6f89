"""Runs cells of plain Python. It takes the steps of IPython's `run_cell_async`, with the same effects, in plain
functions instead of a coroutine.

IPython runs all other cells: those that await, that have magics, or that do not parse. It also runs every cell if
somebody has changed how the shell runs them, by transformers of the syntax tree, other methods or a log.
"""

from ..pristine import __builtins__

import ast
import bdb
import sys

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

from .. import recursion
from .attributes import value_of

# If code has replaced one of these methods, IPython runs the cell: the replacement must be called.
_METHODS = ("run_cell_async", "run_ast_nodes", "run_code", "transform_ast")
_IPYTHONS = [vars(InteractiveShell)[name] for name in _METHODS]


def _is_ordinary(shell):
    """Whether nobody has changed how this shell runs cells."""
    if shell.trio_runner is not None:
        return False
    logger = shell._logger
    if logger is not None and logger.log_active:
        return False
    if value_of(shell, "ast_transformers") or value_of(shell, "ast_node_interactivity") != "last_expr":
        return False
    own, general = vars(shell), vars(InteractiveShell)
    for name, method in zip(_METHODS, _IPYTHONS, strict=True):
        if name in own or general[name] is not method:
            return False
    return True


def run(shell, raw_cell, cell, cell_id=None, cell_meta=None):
    """Runs a cell of plain Python, `raw_cell` as it was typed and `cell` as it is to be compiled.

    Returns IPython's `ExecutionResult`, or None when it is IPython's to run: nothing has happened then.
    """
    if raw_cell.isspace() or not _is_ordinary(shell):
        return None
    count, compiler = shell.execution_count, shell.compile
    # First, so that the parser's warnings have a source to show.
    name = compiler.cache(cell, count, raw_code=raw_cell)
    try:
        nodes = compiler.ast_parse(cell, filename=name).body
    except Exception:
        return None
    info = ExecutionInfo(raw_cell, True, False, True, cell_id, cell_meta, transformed_cell=cell)
    result = ExecutionResult(info)
    result.execution_count = count
    shell.execution_count = count + 1
    shell.events.trigger("pre_execute")
    shell.events.trigger("pre_run_cell", info)
    history = shell.history_manager
    history.store_inputs(count, cell, raw_cell)
    with shell.builtin_trap, shell.display_trap:
        hook = shell.displayhook
        hook.exec_result = result
        shell.last_execution_succeeded = _run_nodes(shell, nodes, name, result)
        shell.last_execution_result = result
        hook.exec_result = None
    history.store_output(count)
    if result.error_in_exec is not None:
        history.exceptions[count] = shell._format_exception_for_storage(result.error_in_exec)
    return result


def _run_nodes(shell, nodes, name, result):
    """Compiles and runs one statement after the other; the value of the last is shown. Returns whether all went
    well."""
    compiler = shell.compile
    last = len(nodes) - 1
    try:
        for index, node in enumerate(nodes):
            if index == last and type(node) is ast.Expr:
                code = compiler(ast.Interactive([node]), name, "single")
            else:
                code = compiler(ast.Module([node], []), name, "exec")
            if not run_code(shell, code, result):
                return False
    except BaseException:
        # A statement that parses need not compile; whatever it is, it ends the cell.
        result.error_before_exec = sys.exc_info()[1]
        shell.showtraceback()
        return False
    return True


def run_code(shell, code, result):
    """Runs compiled code as the cell's. Returns whether it went well; an exception is shown and noted."""
    __tracebackhide__ = "__ipython_bottom__"  # frames above are the machinery's
    hook, sys.excepthook = sys.excepthook, shell.excepthook
    shell.sys_excepthook = hook
    try:
        try:
            recursion.count_frames()
            exec(code, shell.user_global_ns, shell.user_ns)
        finally:
            sys.excepthook = hook
        return True
    except BaseException as error:
        result.error_in_exec = error
        if isinstance(error, SystemExit):
            shell.showtraceback(exception_only=True)
        elif isinstance(error, bdb.BdbQuit):
            pass  # whoever left the debugger knows
        elif isinstance(error, shell.custom_exceptions):
            shell.CustomTB(type(error), error, error.__traceback__)
        else:
            shell.showtraceback(running_compiled_code=True)
        return False


# Its frame stands where that of IPython's method would, for all who look for that one.
run_code.__code__ = run_code.__code__.replace(co_filename=InteractiveShell.run_code.__code__.co_filename)
