"""Magics that IPython would start a process for."""

from ..pristine import __builtins__

import io
import json
import sys

from IPython.core import page
from IPython.core.error import UsageError

import brumate_shell
from brumate_shell import Refused, Streams

from . import frontend

_SHELLS = ("bash", "sh")
_PYTHONS = ("python", "python3", "pypy")
_OTHERS = ("perl", "ruby", "js", "javascript_node", "node", "Rscript", "R")


def register(shell):
    """Puts our own in the place of IPython's."""
    manager = shell.magics_manager

    def line(name, function):
        function.__name__ = name
        manager.register_function(function, "line", name)

    for name in ("pip", "uv"):
        line(name, _pip if name == "pip" else _uv)
    for name in ("conda", "mamba", "micromamba"):
        line(name, _conda)
    for name in ("less", "more"):
        line(name, _less)
    line("man", _man)
    line("clear", _nothing)
    for name in ("debug", "pdb"):
        line(name, _no_debugger(name))
    line("notebook", _notebook(shell))
    line("checkpoint", _checkpoint("kept"))
    line("rollback", _checkpoint("resumed"))
    # Not through the manager: `config` is a trait of what it would hang it on.
    manager.magics["line"]["config"] = _config(shell)
    for name in (*_SHELLS, *_PYTHONS, "script", *_OTHERS):
        manager.register_function(_script(shell, name), "cell", name)


def _checkpoint(done):
    """The kernel makes or resumes the checkpoint before the cell runs, and names it in the request's metadata."""

    def checkpoint(line):
        name = (frontend.parent().get("metadata") or {}).get("brumate_checkpoint")
        if not isinstance(name, str):
            raise UsageError(
                "checkpoints are for Jupyter kernels, and the magic is the only line of its cell: %checkpoint [NAME], "
                "%rollback [NAME]. In other sessions the tool fork_session makes a copy"
            )
        print(f"checkpoint {name!r} is {done}")

    checkpoint.__doc__ = "`%checkpoint [NAME]` keeps variables and files; `%rollback [NAME]` returns to them."
    return checkpoint


def _config(shell):
    """`%config`, as IPython has it, and for figures, which a backend of our own draws.

    The options of figures come with matplotlib: a session that draws nothing should not have to import it."""
    from IPython.core.magics.config import ConfigMagics

    def config(line):
        if not line.strip() or "InlineBackend" in line:
            from matplotlib_inline.config import InlineBackend

            backend = InlineBackend.instance(parent=shell)
            if all(known is not backend for known in shell.configurables):
                shell.configurables.append(backend)
        return ConfigMagics(shell).magics["line"]["config"](line)

    config.__doc__ = ConfigMagics.config.__doc__
    return config


def _call_pip(arguments):
    try:
        return brumate_shell.call("pip", arguments, Streams(io.BytesIO(), sys.stdout, sys.stderr))
    except Refused as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"ERROR: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 1


def _split(line):
    from shlex import split

    try:
        return split(line)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _pip(line):
    """pip install|uninstall|list|show|freeze|check: installs packages, and says which there are."""
    _call_pip(_split(line))


def _uv(line):
    """uv pip ...: like %pip."""
    words = _split(line)
    if words[:1] == ["pip"]:
        _call_pip(words[1:])
    else:
        _conda(line)


def _conda(line):
    """Not available: %pip install installs packages."""
    _split(line)
    print("ERROR: not available: this sandbox has pip (%pip install, %pip list)", file=sys.stderr)


def _less(line):
    """Shows a file."""
    if not line.strip():
        raise UsageError("Missing filename.")
    with open(line.strip(), encoding="utf-8", errors="replace") as file:
        page.page(file.read())


def _man(line):
    """Describes a shell command of this sandbox."""
    try:
        print(brumate_shell.describe(line.strip()))
    except Refused as error:
        raise UsageError(str(error)) from None


def _nothing(line):
    """There is no screen to clear."""


def _no_debugger(name):
    def refuse(line):
        """Not available: nobody can talk to a debugger here."""
        raise UsageError(
            f"%{name}: nobody can talk to a debugger here; print what you want to see, or use %tb and %whos"
        )

    return refuse


def _notebook(shell):
    def notebook(line):
        """%notebook FILE: writes the session's cells to a notebook, without their outputs."""
        words = [word for word in _split(line) if word not in ("-e", "--export")]
        if len(words) != 1:
            raise UsageError("%notebook needs the name of one file, such as %notebook cells.ipynb")
        cells = [
            {"cell_type": "code", "execution_count": None, "id": f"cell-{number}", "metadata": {}, "outputs": [],
             "source": text.splitlines(keepends=True)}
            for number, text in enumerate(shell.history_manager.input_hist_raw[1:-1], 1)
        ]  # fmt: skip
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        with open(words[0], "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
        print(f"{len(cells)} cells are in {words[0]}")

    return notebook


def _script(shell, name):
    def script(line, cell):
        options, words = _script_options(line)
        program = name
        if name == "script":
            if not words:
                raise UsageError("%%script needs the name of a program")
            program = words[0].rpartition("/")[2]
            words = words[1:]
            if program == "env" and words:
                program, words = words[0], words[1:]
        out = io.StringIO() if "out" in options else sys.stdout
        err = io.StringIO() if "err" in options else sys.stderr
        if program in _SHELLS:
            status = brumate_shell.run(cell, Streams(io.BytesIO(), out, err))
        elif program in _PYTHONS or program.startswith("python3."):
            status = _python(cell, words, out, err)
        else:
            raise UsageError(
                f"%%{name}: {program} is not available: this sandbox runs Python, and shell lines with a few commands"
            )
        for key, stream in (("out", out), ("err", err)):
            if key in options:
                shell.user_ns[options[key]] = stream.getvalue()
        if status and "no-raise-error" not in options:
            from subprocess import CalledProcessError

            raise CalledProcessError(status, cell)

    script.__name__ = name
    script.__doc__ = f"%%{name}: runs the cell's text. Options: --out NAME, --err NAME, --no-raise-error."
    return script


def _script_options(line):
    words, options = _split(line), {}
    while words and words[0][:2] == "--":
        name, equals, value = words.pop(0)[2:].partition("=")
        if name in ("out", "err", "proc"):
            if not equals:
                if not words:
                    raise UsageError(f"--{name} needs a name")
                value = words.pop(0)
            options[name] = value
        elif name in ("no-raise-error", "raise-error"):
            options[name] = ""
        else:
            raise UsageError(f"--{name} is not supported here")
    return options, words


def _python(cell, words, out, err):
    try:
        return brumate_shell.call(
            "python", ["-", *words], Streams(io.BytesIO(cell.encode("utf-8", "surrogateescape")), out, err)
        )
    except Refused as error:
        err.write(f"{error}\n")
        return 1
