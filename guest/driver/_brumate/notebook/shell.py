"""IPython's shell for this sandbox: no history file and its thread, no processes; output as events.

A shell that is made for an image leaves nothing behind in `builtins`, `sys` and IPython's own registry:
[`ZMQInteractiveShell.attach`] puts it in place when the first cell of a session runs.
"""

from ..pristine import __builtins__

import atexit
import builtins
import contextlib
import io
import sys
import warnings

from IPython.core import interactiveshell, page
from IPython.core.autocall import ExitAutocall
from IPython.core.builtin_trap import BuiltinTrap
from IPython.core.error import UsageError
from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell
from IPython.display import display
from traitlets import Any, Instance, Type, default, observe
from traitlets.config import Config

import brumate_shell
from brumate_shell import Streams

from .. import ending, interrupts, loops
from . import frontend, last_line, magics, running, sources
from .attributes import settle
from .cleaning import Manager
from .errors import Errors
from .history import History
from .output import DisplayHook, DisplayPublisher, register_formatters
from .transforming import Transformers

_NOTHING = contextlib.nullcontext()
_BACKENDS = (None, "auto", "inline", "agg")


class _Memory(dict):
    """What `%store` and `%bookmark` keep: for as long as the session lives."""

    def keys(self, pattern=None):
        import fnmatch

        return [key for key in dict.keys(self) if pattern is None or fnmatch.fnmatchcase(key, pattern)]


class _Exiter(ExitAutocall):
    """`exit` and `quit`: the cell ends, the session goes on. With anything that is no success, as an error."""

    def __call__(self, keep_kernel=None):
        if frontend.is_listening():
            keep = keep_kernel is True
            self._ip.payload_manager.write_payload({"source": "ask_exit", "keepkernel": keep})
        error = SystemExit(keep_kernel)
        if not keep_kernel or keep_kernel is True:
            self._ip.leaving = error
        raise error


# What IPython advises after each `SystemExit`; it is no use here.
_EXIT_ADVICE = "To exit: use 'exit', 'quit', or Ctrl-D."


_pseudo_sync_runner = interactiveshell._pseudo_sync_runner


def _run_without_loop(coroutine):
    """Runs a cell that does not await, in the context of those that do."""
    return loops.in_context(_pseudo_sync_runner, coroutine)


def _warn(message, category=None, stacklevel=1, **options):
    if message != _EXIT_ADVICE:
        warnings.warn(message, category, stacklevel + 1, **options)


# Libraries look at the class's name to find out that they are in a notebook.
class ZMQInteractiveShell(InteractiveShell):
    """The shell of a notebook's session."""

    displayhook_class = Type(DisplayHook)
    display_pub_class = Type(DisplayPublisher)
    exiter = Instance(_Exiter)
    # Set by every cell, and watched by nobody: not traits, whose changes are checked and announced.
    execution_count = 1
    last_execution_succeeded = True
    last_execution_result = None
    _transformers = None
    # Nobody waits for what ipykernel sends in payloads; `kernel` is there for those who ask whether there is one.
    kernel = Any()

    @default("exiter")
    def _default_exiter(self):
        return _Exiter(self)

    def __init__(self, **options):
        self.errors = Errors()
        # The exception that ends a cell at its own wish.
        self.leaving = None
        self._memory = _Memory()
        super().__init__(**options)
        self.events.register("post_execute", _show_figures)
        atexit.unregister(self.atexit_operations)

    # Parts that would write files, start threads, or change the interpreter for everyone.

    def init_profile_dir(self, profile_dir):
        self.profile_dir = None

    @observe("ipython_dir")
    def _ipython_dir_changed(self, change):
        """The directory is not made."""

    def init_virtualenv(self):
        pass

    def init_sys_modules(self):
        pass

    def init_prompts(self):
        pass

    def init_builtins(self):
        self.builtin_trap = BuiltinTrap(shell=self)

    def init_history(self):
        self.history_manager = History(shell=self, parent=self)
        self.configurables.append(self.history_manager)

    def init_hooks(self):
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(_print_page), 99)
        self.set_hook("editor", _no_editor, 0)

    def init_display_formatter(self):
        super().init_display_formatter()
        register_formatters(self.display_formatter)

    def init_magics(self):
        super().init_magics()
        magics.register(self)

    @property
    def db(self):
        return self._memory

    def _plain(self, raw_cell):
        if self._transformers is None:
            self._transformers = Transformers(self)
        return self._transformers.plain(raw_cell)

    def transform_cell(self, raw_cell):
        cell = self._plain(raw_cell)
        return super().transform_cell(raw_cell) if cell is None else cell

    # A session's beginning.

    def attach(self, module):
        """Makes `module` the namespace of cells, if it is not, and this the process's shell."""
        if InteractiveShell._instance is not self:
            for kind in type(self)._walk_mro():
                kind._instance = self
            vars(builtins)["__IPYTHON__"] = True
            builtins.display = display
            sys.ps1, sys.ps2, sys.ps3 = "In : ", "...: ", "Out: "
        if self.user_module is not module:
            names = module.__dict__
            names.setdefault("__builtin__", builtins)
            self.user_module, self.user_ns = module, names
            self.ns_table = {"user_global": names, "user_local": names, "builtin": vars(builtins)}
            self.user_ns_hidden = {name: value for name, value in names.items() if name[:2] == "__"}
            with contextlib.suppress(OSError):
                self.history_manager.dir_hist[:] = [type(self).starting_directory()]
            taken = {name: names[name] for name in ("open", "exit", "quit", "In", "Out") if name in names}
            self.init_user_ns()
            names.update(taken)
            for under in ("_", "__", "___"):
                names.setdefault(under, "")
                self.user_ns_hidden[under] = names[under]
            self.displayhook._ = names["_"]

    @staticmethod
    def starting_directory():
        """The working directory, as a path."""
        from pathlib import Path

        return Path.cwd()

    def mend(self):
        """Undoes what an interrupt in the shell's own code may have left half done."""
        for trap in (self.builtin_trap, self.display_trap):
            while trap._nested_level > 0:
                trap._nested_level = 1
                trap.__exit__(None, None, None)
            # A coroutine that was left behind closes the trap once more when it is deleted.
            trap._nested_level = 0
        self.displayhook._is_active = False
        self.displayhook.exec_result = None
        # The number of a cell and its place in `In` are set one after the other.
        parsed, raw = self.history_manager.input_hist_parsed, self.history_manager.input_hist_raw
        if not len(parsed) == len(raw) == self.execution_count:
            self.execution_count = max(len(parsed), len(raw), self.execution_count)
            for cells in (parsed, raw):
                cells.extend([""] * (self.execution_count - len(cells)))

    # Running.

    def _tee(self, channel):
        """Output is not kept a second time."""
        return _NOTHING

    def _run_cell(self, raw_cell, store_history, silent, shell_futures, cell_id, cell_meta):
        if store_history and shell_futures and not silent:
            try:
                cell = self._plain(raw_cell)
                if cell is not None and "await" not in cell and "async" not in cell:
                    result = loops.in_context(running.run, self, raw_cell, cell, cell_id, cell_meta)
                    if result is not None:
                        return result
            except BaseException as error:
                return self._interrupted(error, raw_cell, cell_id, cell_meta)
        return super()._run_cell(raw_cell, store_history, silent, shell_futures, cell_id, cell_meta)

    def _interrupted(self, error, raw_cell, cell_id, cell_meta):
        """The result of a cell that was stopped between its statements."""
        info = ExecutionInfo(raw_cell, True, False, True, cell_id, cell_meta, transformed_cell=raw_cell)
        result = ExecutionResult(info)
        result.error_in_exec = error
        with contextlib.suppress(Exception):
            self.showtraceback(running_compiled_code=True)
        return result

    def should_run_async(self, raw_cell, *, transformed_cell=None, preprocessing_exc_tuple=None):
        """Whether a cell awaits: those without the words are not compiled to find out."""
        if transformed_cell is not None and "await" not in transformed_cell and "async" not in transformed_cell:
            return False
        return super().should_run_async(
            raw_cell, transformed_cell=transformed_cell, preprocessing_exc_tuple=preprocessing_exc_tuple
        )

    def loop_runner(self, coroutine):
        """Runs a cell that awaits, in the session's loop."""
        return loops.run(coroutine)

    def showtraceback(self, exc_tuple=None, *arguments, **options):
        """Prepares the exception, and has IPython show it."""
        if self.is_leaving(sys.exc_info()[1]):
            return
        value = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        self.errors.before_showing(value)
        if not self.errors.is_too_much_for_ipython(value):
            with interrupts.Held() if type(value) is KeyboardInterrupt else _NOTHING, sources.looked_up_once():
                super().showtraceback(exc_tuple, *arguments, **options)

    def _format_exception_for_storage(self, exception, *arguments, **options):
        """What `%notebook` writes of an exception: what was shown, so that it is not worded twice."""
        shown = self.errors.shown(exception)
        if shown is None:
            with sources.looked_up_once():
                return super()._format_exception_for_storage(exception, *arguments, **options)
        name, message, text = shown
        return {"ename": name, "evalue": message, "traceback": text.splitlines()}

    def is_leaving(self, error):
        """Whether an exception is that of `exit()` or `quit()`."""
        return error is not None and error is self.leaving

    def _showtraceback(self, etype, evalue, stb):
        if frontend.is_listening():
            self.errors.send(etype, evalue, list(stb), showing=self.displayhook.is_active)
        else:
            self.errors.show(etype, evalue, self.InteractiveTB.stb2text(stb), showing=self.displayhook.is_active)

    def show_usage_error(self, exc):
        if frontend.is_listening():
            print(f"UsageError: {exc}", file=sys.stderr)
        else:
            self.errors.show(type(exc), exc, f"UsageError: {exc}")

    def publish_figure(self, data):
        """Shows a figure's mime bundle, or has `%%capture` catch it."""
        if frontend.is_listening():
            self.display_pub.publish(*frontend.figure(data))
        else:
            self.display_pub.publish(data)

    def safe_execfile(self, *arguments, **options):
        """Runs a file, for `%run`: its program ends, though its names stay."""
        visit = ending.Visit(shares=True)
        try:
            return super().safe_execfile(*arguments, **options)
        finally:
            visit.hand_over()

    def safe_run_module(self, *arguments, **options):
        """Runs a module, for `%run -m`."""
        visit = ending.Visit(shares=True)
        try:
            return super().safe_run_module(*arguments, **options)
        finally:
            visit.hand_over()

    # Shell lines. IPython itself makes `get_ipython().system('x')` of `!x`, and `getoutput` of `y = !x`.

    def system(self, cmd):
        """Runs a shell line; the status is in `_exit_code`."""
        self._exited(*self._run_line(cmd))

    system_piped = system_raw = system

    def last_system(self, cmd):
        """Runs the shell line that ends a cell. The cell fails with it, unless a frontend shows what it printed."""
        self._exited(*self._run_line(cmd), is_last=not frontend.is_listening())

    def _run_line(self, cmd):
        if cmd.rstrip().endswith("&") and not cmd.rstrip().endswith("&&"):
            raise OSError("Background processes not supported.")
        # `{name}` and `$name` are variables of the caller of `system`, whose frame is two above this one.
        cmd = self.var_expand(cmd, depth=2)
        return brumate_shell.run(cmd, Streams(io.BytesIO(), sys.stdout, sys.stderr)), cmd

    def transform_ast(self, node):
        """A shell line that is the last statement is a call of its own."""
        node = super().transform_ast(node)
        last_line.mark_last(node)
        return node

    def getoutput(self, cmd, split=True, depth=0):
        """Output of a shell line, errors included."""
        from IPython.utils.text import LSString, SList

        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        out = io.StringIO()
        line = self.var_expand(cmd, depth=depth + 1)
        self._exited(brumate_shell.run(line, Streams(io.BytesIO(), out, out)), cmd)
        text = out.getvalue()
        return SList(text.splitlines()) if split else LSString(text)

    def _exited(self, status, cmd, is_last=False):
        self.user_ns["_exit_code"] = status
        if status and (is_last or self.system_raise_on_error):
            from subprocess import CalledProcessError

            raise CalledProcessError(status, cmd)

    # What a frontend would do.

    @property
    def parent_header(self):
        """The header of the request that is served, and its content: empty without a frontend."""
        return self.get_parent()

    def get_parent(self):
        """The same, as ipykernel's shell has it."""
        return frontend.parent()

    def enable_gui(self, gui=None):
        if gui not in _BACKENDS:
            print(f"no {gui} windows here: figures are shown below the cell", file=sys.stderr)

    def enable_matplotlib(self, gui=None):
        """`%matplotlib`: figures are always shown inline."""
        import matplotlib

        from .. import figures

        if isinstance(gui, str):
            gui = gui.lower()
        if gui not in _BACKENDS:
            print(
                f"%matplotlib {gui}: no windows or widgets here; figures are shown below the cell (%matplotlib inline)",
                file=sys.stderr,
            )
        if matplotlib.get_backend(auto_select=False) != figures.BACKEND:
            matplotlib.use(figures.BACKEND)
        return "inline", figures.BACKEND

    def ask_exit(self):
        self.exiter()

    def set_next_input(self, text, replace=False):
        """`%load` and `%recall` put text into the next cell: without a frontend it is printed."""
        if frontend.is_listening():
            self.payload_manager.write_payload({"source": "set_next_input", "text": text, "replace": replace})
        else:
            print(text)


def _show_figures():
    if "matplotlib.pyplot" in sys.modules:
        from .. import figures

        figures.show_open()


def _print_page(text, start=0, screen_lines=0, pager_cmd=None):
    """What IPython would show in a pager is printed, or shown by the frontend. A hook."""
    if frontend.is_listening():
        data = text if isinstance(text, dict) else {"text/plain": text}
        InteractiveShell._instance.payload_manager.write_payload({"source": "page", "data": data, "start": start})
        return
    print(text["text/plain"] if isinstance(text, dict) else text)


def _no_editor(*_arguments):
    raise UsageError("there is no editor here; use %%writefile")


def make():
    """A shell that belongs to nobody yet."""
    interactiveshell.warn = _warn
    interactiveshell._pseudo_sync_runner = _run_without_loop
    frontend.install()
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.autocall = 0
    config.InteractiveShell.enable_tip = False
    config.InteractiveShell.autoindent = False
    config.Completer.use_jedi = False
    shell = ZMQInteractiveShell(config=config, ipython_dir="/nonexistent")
    shell.input_transformer_manager = Manager()
    shell.extension_manager.load_extension("storemagic")
    if sys.flags.utf8_mode:
        shell.stdin_encoding = "utf-8"
    settle(shell.display_formatter, "formatters", "mimebundle_formatter", "ipython_display_formatter")
    settle(shell.display_trap, "hook")
    settle(shell.displayhook, "shell")
    settle(shell.history_manager, "shell", "db_input_cache", "input_hist_parsed", "input_hist_raw", "output_hist_reprs")
    settle(
        shell, "builtin_trap", "display_formatter", "display_trap", "history_manager", "input_transformer_manager",
        "input_transformers_post", "prefilter_manager",
    )  # fmt: skip
    return shell
