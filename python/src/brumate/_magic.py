"""`%%sandbox` for IPython and Jupyter: a cell of an ordinary notebook runs in a session of the sandbox.

The values that come back are data: nothing in them runs code (`_exchange`). Outputs come as they are made harmless for
kernels, without scripts.
"""

from __future__ import annotations

import argparse
import atexit
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from . import _operations as operations
from ._errors import BrumateError, CodeError
from ._operations import CellEnd
from ._sandbox import Sandbox, Session, run_operation

#: The session of cells that name none.
DEFAULT = "default"

#: Text of `%%sandbox?`.
DESCRIPTION = """Run a cell in the sandbox, in a session that stays until this kernel ends.

    %%sandbox --in table --out result
    result = table.describe()

`%sandbox --reset` and `%sandbox --deps rich` are possible without a cell."""


class SandboxCellError(CodeError):
    """A cell of the sandbox failed. IPython shows the traceback of the sandbox."""

    def __init__(self, end: CellEnd) -> None:
        super().__init__(end.error or end.name, "run-error")
        #: Name and message of the exception in the sandbox.
        self.name, self.message = end.name, end.message
        self._traceback = end.traceback

    def _render_traceback_(self) -> list[str]:
        return list(self._traceback)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions: it must not end the kernel."""

    def error(self, message: str) -> NoReturn:
        raise _usage_error(message)


def _parser() -> _Parser:
    parser = _Parser(prog="%%sandbox", add_help=False, allow_abbrev=False)
    parser.add_argument("--in", dest="inputs", action="append", default=[], metavar="NAMES")
    parser.add_argument("--out", dest="outputs", action="append", default=[], metavar="NAMES")
    parser.add_argument("--session", default=DEFAULT, metavar="NAME")
    parser.add_argument("--deps", action="append", default=[], metavar="REQUIREMENTS")
    parser.add_argument("--reset", action="store_true")
    return parser


class Magic:
    """The sessions of one shell, and the magic that uses them."""

    def __init__(self, shell: Any, make_sandbox: Callable[[], Sandbox] = Sandbox) -> None:
        self._shell = shell
        self._make_sandbox = make_sandbox
        self._sessions: dict[str, Session] = {}
        self._installed: set[tuple[str, str]] = set()
        atexit.register(self.close)

    def __call__(self, line: str, cell: str | None = None) -> None:
        """Runs a cell. Without one only resets or installs.

        Raises:
            UsageError: the options are wrong.
            NameError: a name of `--in` is no variable here, or one of `--out` none in the sandbox.
            TypeError: a value cannot cross.
            SandboxCellError: the code failed.
        """
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise _usage_error(str(error)) from None
        options = _parser().parse_args(words)
        inputs, outputs = _names("--in", options.inputs), _names("--out", options.outputs)
        if cell is None and not (options.reset or options.deps or inputs or outputs):
            raise _usage_error("without a cell it needs an option, such as --reset")
        session = self._session(options.session)
        if options.reset:
            session.reset()
            self._installed = {known for known in self._installed if known[0] != session.id}
        self._install(session, [part for text in options.deps for part in _requirements(text)])
        self._move_in(session, inputs)
        if cell is not None:
            _run(session, cell, internal=False)
        self._move_out(session, outputs)

    def close(self) -> None:
        """Deletes the sessions that this magic has made."""
        for session in self._sessions.values():
            try:
                session.delete()
            except BrumateError:
                pass  # It ends by itself after some time without use.
        self._sessions.clear()

    def _session(self, name: str) -> Session:
        """Returns the session in the variable `name`, or the one that this magic has made with that name."""
        given = self._shell.user_ns.get(name)
        if isinstance(given, Session):
            return given
        if name not in self._sessions:
            self._sessions[name] = self._make_sandbox().session()
        return self._sessions[name]

    def _install(self, session: Session, requirements: list[str]) -> None:
        new = [text for text in requirements if (session.id, text) not in self._installed]
        if not new:
            return
        line = " ".join(shlex.quote(text) for text in ["pip", "install", "-q", *new])
        failure = f"%%sandbox --deps: not all of these could be installed: {', '.join(new)}"
        code = f"get_ipython().system({line!r})\nif _exit_code:\n    raise ModuleNotFoundError({failure!r})"
        _run(session, code, internal=True)
        self._installed.update((session.id, text) for text in new)

    def _move_in(self, session: Session, names: list[str]) -> None:
        namespace: Mapping[str, Any] = self._shell.user_ns
        for name in names:
            if name not in namespace:
                raise NameError(f"%%sandbox --in {name}: there is no variable {name!r} in this notebook; set it first")
        for name in names:
            try:
                session[name] = namespace[name]
            except TypeError as error:
                raise TypeError(f"%%sandbox --in {name}: the value of {name!r} cannot cross: {error}") from None

    def _move_out(self, session: Session, names: list[str]) -> None:
        values: dict[str, Any] = {}
        for name in names:
            try:
                values[name] = session[name]
            except KeyError:
                raise NameError(
                    f"%%sandbox --out {name}: there is no variable {name!r} in the sandbox; set it in the cell"
                ) from None
            except TypeError as error:
                raise TypeError(f"%%sandbox --out {name}: the value of {name!r} cannot cross: {error}") from None
            except (ValueError, OverflowError, RecursionError, MemoryError) as error:
                # The sandbox may send anything.
                raise TypeError(
                    f"%%sandbox --out {name}: what the sandbox sent for {name!r} is no value ({error}); "
                    "`%sandbox --reset` begins anew"
                ) from None
        # All of them or none.
        self._shell.user_ns.update(values)


def load(shell: Any) -> None:
    """Adds the magic to a shell. Loading it again changes nothing."""
    known = shell.magics_manager.magics["cell"].get("sandbox")
    if getattr(known, "__module__", None) == __name__:
        return
    magic = Magic(shell)

    def sandbox(line: str, cell: str | None = None) -> None:
        magic(line, cell)

    sandbox.__doc__ = f"{DESCRIPTION}\n\n{_parser().format_usage()}"
    shell.register_magic_function(sandbox, "line_cell", "sandbox")


def _usage_error(message: str) -> Exception:
    """Returns an error that IPython shows without a traceback."""
    from IPython.core.error import UsageError

    error: Exception = UsageError(f"%sandbox: {message}\n{_parser().format_usage().strip()}")
    return error


def _names(option: str, texts: list[str]) -> list[str]:
    """Returns the names of lists such as `a,b`, each once."""
    names: dict[str, None] = {}
    for text in texts:
        for name in text.split(","):
            name = name.strip()
            if not name.isidentifier():
                raise _usage_error(f"{option}: {name!r} is no name of a variable; write {option} a,b")
            names[name] = None
    return list(names)


def _requirements(text: str) -> list[str]:
    """Returns the requirements of a list. A comma between version specifiers separates none: `numpy>=2,<3`."""
    parts: list[str] = []
    for part in text.split(","):
        if parts and (part.strip()[:1] in "<>=!~" or parts[-1].count("[") > parts[-1].count("]")):
            parts[-1] += f",{part}"
        elif part.strip():
            parts.append(part.strip())
    return parts


def _run(session: Session, code: str, internal: bool) -> None:
    """Runs a cell and shows its outputs.

    Raises:
        SandboxCellError: the code failed.
    """
    end = run_operation(session, operations.cell(session.id, code, _show, internal))
    if end.error is not None:
        raise SandboxCellError(end)


def _show(kind: str, content: dict[str, Any]) -> None:
    """Shows an output of a cell in this notebook."""
    from IPython.display import clear_output, publish_display_data

    if kind == "stream":
        (sys.stderr if content["name"] == "stderr" else sys.stdout).write(content["text"])
    elif kind == "clear_output":
        clear_output(wait=content.get("wait") is True)
    elif kind in ("display_data", "update_display_data", "execute_result"):
        data, metadata = _object(content.get("data")), _object(content.get("metadata"))
        identity = _object(content.get("transient")).get("display_id")
        transient = {"display_id": identity} if isinstance(identity, str) else {}
        publish_display_data(data, metadata, transient=transient, update=kind == "update_display_data")
    # The error of a cell is raised when it has ended.


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
