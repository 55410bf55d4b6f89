"""Files as lines, for commands that read them."""

import contextlib

from .streams import decode


def opened(path, streams):
    """A file to be used by `with`; `-` is the command's input, which stays open."""
    return contextlib.nullcontext(streams.input) if path in ("-", "/dev/stdin") else open(path, "rb")


def text_of(path, streams):
    """All of a file as a text."""
    with opened(path, streams) as file:
        return decode(file.read())


def raw_lines(path, streams):
    """The lines of a file, as texts with their ends, one by one."""
    with opened(path, streams) as file:
        for line in file:
            yield decode(line)


def lines_of(path, streams, end="\n"):
    """The lines of a file without their ends, as a list."""
    lines = text_of(path, streams).split(end)
    if not lines[-1]:
        lines.pop()
    return lines


def each(paths, streams, function, name):
    """Calls `function(path)` for each; a file that cannot be read is reported and the rest goes on."""
    status = 0
    for path in paths:
        try:
            function(path)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
            streams.err.write(f"{name}: {path}: {error.strerror}\n")
            status = 1
    return status
