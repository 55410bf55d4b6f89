"""Drawing a matplotlib figure in the formats that `%config InlineBackend` names: PNG, when nothing else is said."""

from .pristine import __builtins__

import binascii
import contextlib
import functools
import io
import sys
import warnings

from . import import_hooks, pictures, streams

JPEG = "image/jpeg"
SVG = "image/svg+xml"
PDF = "application/pdf"
# Pixels of one picture; a larger figure is drawn at a lower resolution.
MAX_PIXELS = 16_000_000
# Bytes of one PNG or JPEG; a larger one is not sent.
MAX_RASTER_BYTES = 6 << 20
# Bytes of one SVG or PDF; drawing ends there, and the form is left out.
MAX_VECTOR_BYTES = 2 << 20

# Formats of screens with small pixels: twice the resolution, shown at half of the size.
TWICE = {"retina", "png2x"}


class Options:
    """What `%config InlineBackend` says: the formats, and arguments of `savefig`."""

    def __init__(self):
        config = sys.modules.get("matplotlib_inline.config")
        self.formats, self.arguments = {"png"}, {"bbox_inches": "tight"}
        if config is not None and config.InlineBackend.initialized():
            backend = config.InlineBackend.instance()
            self.formats, self.arguments = set(backend.figure_formats), dict(backend.print_figure_kwargs)
        if _Set.options is not None:
            self.formats, self.arguments = set(_Set.options[0]), dict(_Set.options[1])

    def is_jpeg(self):
        return bool(self.formats & {"jpeg", "jpg"}) and not self.formats & {"png", *TWICE}


def draw(figure):
    """Draws the raster picture of a figure, which is always made: a model sees no other. Returns `(type, bytes)`."""
    options = Options()
    arguments = dict(options.arguments)
    dpi = arguments.pop("dpi", "figure")
    dpi = (figure.dpi if dpi == "figure" else dpi) * (2 if options.formats & TWICE else 1)
    width, height = figure.get_size_inches()
    pixels = width * height * dpi * dpi
    if pixels > MAX_PIXELS:
        dpi *= (MAX_PIXELS / pixels) ** 0.5
    buffer = io.BytesIO()
    with _warnings_without_our_paths():
        figure.savefig(buffer, **{**arguments, "format": "jpeg" if options.is_jpeg() else "png", "dpi": dpi})
    return (JPEG if options.is_jpeg() else pictures.PNG), buffer.getvalue()


def bundle(figure, kind, raster):
    """The mime bundle of a figure whose raster picture is drawn, with the other formats that are asked for."""
    data = {"text/plain": repr(figure)}
    if len(raster) <= MAX_RASTER_BYTES:
        data[kind] = binascii.b2a_base64(raster, newline=False).decode()
        pictures.fit(data)
    options = Options()
    if "svg" in options.formats:
        drawn = _vector(data, figure, "svg", options, metadata={"Date": None})
        if drawn is not None:
            data[SVG] = drawn.decode()
    if "pdf" in options.formats:
        drawn = _vector(data, figure, "pdf", options)
        if drawn is not None:
            data[PDF] = binascii.b2a_base64(drawn, newline=False).decode()
    return data


class _Set:
    """Formats and arguments of `set_matplotlib_formats`, until `%config InlineBackend` sets others."""

    options = None


def _forget_set(_change):
    _Set.options = None


def _note_formats(module):
    """Lets `set_matplotlib_formats` count: figures are not drawn by the functions that it registers."""
    set_formats = module.set_matplotlib_formats

    @functools.wraps(set_formats)
    def set_matplotlib_formats(*formats, **options):
        set_formats(*formats, **options)
        backend = module.InlineBackend.instance()
        _Set.options = set(formats), {**backend.print_figure_kwargs, **options}
        backend.observe(_forget_set, ["figure_formats", "print_figure_kwargs"])

    module.set_matplotlib_formats = set_matplotlib_formats


def install():
    """Done once, at boot."""
    import_hooks.after_import("matplotlib_inline.backend_inline", _note_formats)


class _TooLarge(Exception):
    pass


class _Bounded(io.BytesIO):
    def write(self, data):
        if self.tell() + len(data) > MAX_VECTOR_BYTES:
            raise _TooLarge
        return super().write(data)


def _vector(data, figure, name, options, **arguments):
    """The bytes of a vector format; None, and a note in the text, when it would be too large."""
    buffer = _Bounded()
    try:
        figure.savefig(buffer, **{**options.arguments, **arguments, "format": name})
    except _TooLarge:
        data["text/plain"] += f"\n(no {name.upper()}: it would be larger than {MAX_VECTOR_BYTES >> 20} MiB)"
        return None
    return buffer.getvalue()


@contextlib.contextmanager
def _warnings_without_our_paths():
    """Prints warnings of drawing as `warnings` does, but without the line of this module."""
    with warnings.catch_warnings(record=True) as caught:
        yield
    for warning in caught:
        if warning.filename == __file__:
            streams.write_error(f"{warning.category.__name__}: {warning.message}\n")
        else:
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
