"""One cell, from its text to how it ended."""

from ..pristine import __builtins__

import os

from .. import channel, figures, reports, space, stdin, streams
from . import frontend

# Where sessions work, inside the sandbox.
OUTPUT_DIRECTORY = "OUTPUT_DIR"
# Cells of a client that is no frontend are plain text.
NO_COLORS = "nocolor"


class _Current:
    shell = None


def was_made():
    """Whether there is a shell."""
    return _Current.shell is not None


def shell():
    """The shell; imports IPython when there is none yet."""
    if _Current.shell is None:
        from .shell import make

        _Current.shell = make()
    return _Current.shell


def run_cell(request):
    """Runs a cell as the guest. Returns None, or `(name, message, traceback)` of what it ended with."""
    current = _opened(request)
    if current.colors != NO_COLORS:
        current.colors = NO_COLORS
    errors = current.errors
    errors.start_cell()
    with _Served(current, request):
        result = current.run_cell(request["code"], store_history=True)
    error = result.error_before_exec or result.error_in_exec if result is not None else None
    left, current.leaving = current.is_leaving(error), None
    described = errors.end_cell(None if left else error)
    if error is not None:
        reports.release_memory(error)
    return described


def serve_frontend(request):
    """Serves a request of a Jupyter frontend as the guest. Returns the content of its reply as JSON text."""
    current = _opened(request, shows_empty=True)
    with _Served(current, request):
        return frontend.serve(current, request["code"])


def _opened(request, shows_empty=False):
    """The shell, in the namespace of the session. `shows_empty` as `figures.publish_with` has it."""
    home = space.open_space(request, session=True, cell=True)
    current = shell()
    current.attach(home.module)
    _output_directory(request)
    figures.publish_with(current.publish_figure, shows_empty)
    return current


class _Served(stdin.Asking):
    """While a request is served, input is asked for if the host answers; afterwards the shell is whole again."""

    def __init__(self, shell, request):
        self.shell, self.request = shell, request

    def __enter__(self):
        stdin.answer = channel.ask if self.request.get("allow_stdin") is True else None
        super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.shell.mend()
        if left_out := channel.unsent():
            streams.write_error(left_out)


def _output_directory(request):
    """`OUTPUT_DIR` names a directory that exists; it is the working directory when nothing else was said."""
    environment = os.environ
    wanted = environment.get(OUTPUT_DIRECTORY)
    if not wanted:
        environment[OUTPUT_DIRECTORY] = os.getcwd()
    elif wanted != space.WORKSPACE and any(name == OUTPUT_DIRECTORY for name, _ in request.get("env") or ()):
        try:
            if not os.path.isdir(wanted):
                os.makedirs(wanted, exist_ok=True)
        except OSError:
            pass  # whoever writes there will see why


__all__ = ["run_cell", "serve_frontend", "shell", "was_made"]
