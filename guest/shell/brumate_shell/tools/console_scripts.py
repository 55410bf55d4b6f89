"""Programs of installed packages (`console_scripts`), as commands."""

from _brumate import programs
from brumate_shell.streams import Stopped

# Directory that an installer puts them into.
_DIRECTORY = "/usr/bin/"


def find(name):
    """The function of the program of this name, or None."""
    from importlib import metadata

    if not name or name[:1] in ".-":
        return None
    for entry in metadata.entry_points(group="console_scripts", name=name):
        try:
            return _command(entry)
        except (AttributeError, ValueError):
            pass  # it names no function
    return None


def _command(entry):
    module, function = entry.module, entry.attr
    if not function:
        raise ValueError("no function")
    # The script that an installer writes.
    code = f"import sys\nfrom {module} import {function.partition('.')[0]}\nsys.exit({function}())\n"
    path = _DIRECTORY + entry.name

    def run(arguments, streams):
        line = ["python", path, *arguments]
        return programs.run(code, path, [path, *arguments], line, streams, stops=(Stopped,))

    run.__doc__ = f"{entry.name}: the program of the package {entry.dist.name}; `{entry.name} --help` is its own"
    run.has_help = True
    return run
