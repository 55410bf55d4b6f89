"""The interface of kaleido, without a browser: pictures of plotly's figures are drawn by the sandbox.

The interface is that of kaleido 1.5. `write_fig_from_object` takes figures one after the other.
"""

from pathlib import Path

from . import errors

__version__ = "1.5.0"
__all__ = [
    "Kaleido", "calc_fig", "calc_fig_sync", "get_chrome", "get_chrome_sync", "start_sync_server", "stop_sync_server",
    "write_fig", "write_fig_from_object", "write_fig_from_object_sync", "write_fig_sync",
]  # fmt: skip


def _options(opts):
    opts = opts if isinstance(opts, dict) else vars(opts) if opts is not None else {}
    return {name: opts[name] for name in ("format", "width", "height", "scale") if opts.get(name) is not None}


def calc_fig_sync(fig, opts=None, **_options_of_browsers):
    """Returns the picture of a figure as bytes."""
    from _brumate.plotly_figures import image

    return image(fig, **_options(opts))


def write_fig_sync(fig, path=None, opts=None, **_options_of_browsers):
    """Writes the picture of a figure, or of each figure of an iterable, to a file, or to a new file of a directory."""
    if isinstance(fig, dict) or hasattr(fig, "to_dict"):
        figures = [fig]
    else:
        figures = list(fig)
    for one in figures:
        _write(one, path, opts)


def _write(fig, path, opts):
    options = _options(opts)
    path = Path(path) if path is not None else Path()
    if path.is_dir():
        layout = fig.get("layout") if isinstance(fig, dict) else fig.to_dict().get("layout")
        title = (layout or {}).get("title")
        title = title.get("text") if isinstance(title, dict) else title
        stem = "".join(char if char.isalnum() else "_" for char in title or "").strip("_") or "fig"
        ending, number, directory = options.get("format", "png"), 1, path
        path = directory / f"{stem}.{ending}"
        while path.exists():
            number += 1
            path = directory / f"{stem}-{number}.{ending}"
    elif path.suffix:
        options.setdefault("format", path.suffix[1:])
    path.write_bytes(calc_fig_sync(fig, options))


def write_fig_from_object_sync(fig_dicts, **_options_of_browsers):
    """Writes pictures; each entry has `fig`, and may have `path` and `opts`."""
    for entry in [fig_dicts] if isinstance(fig_dicts, dict) else fig_dicts:
        _write(entry["fig"], entry.get("path"), entry.get("opts"))


async def calc_fig(fig, opts=None, **options):
    """Returns the picture of a figure as bytes."""
    return calc_fig_sync(fig, opts, **options)


async def write_fig(fig, path=None, opts=None, **options):
    """Writes the picture of a figure to a file."""
    write_fig_sync(fig, path, opts, **options)


async def write_fig_from_object(fig_dicts, **options):
    """Writes pictures; each entry has `fig`, and may have `path` and `opts`."""
    if hasattr(fig_dicts, "__aiter__"):
        fig_dicts = [entry async for entry in fig_dicts]
    write_fig_from_object_sync(fig_dicts, **options)


class Kaleido:
    """Draws pictures; there is no browser to start or to close."""

    def __init__(self, *_arguments, **_options):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_error):
        pass

    async def open(self):
        """Starts nothing."""

    async def close(self):
        """Closes nothing."""

    calc_fig = staticmethod(calc_fig)
    write_fig = staticmethod(write_fig)
    write_fig_from_object = staticmethod(write_fig_from_object)


def start_sync_server(*_arguments, **_options):
    """Starts nothing: there is no browser."""


def stop_sync_server(*_arguments, **_options):
    """Stops nothing."""


def get_chrome_sync(*_arguments, **_options):
    """Refuses: a browser cannot run here, and none is needed."""
    raise errors.ChromeNotFoundError("no browser can run in this sandbox, and none is needed: it draws figures itself")


async def get_chrome(*arguments, **options):
    """Refuses: a browser cannot run here, and none is needed."""
    get_chrome_sync(*arguments, **options)
