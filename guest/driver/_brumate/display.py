"""Rich display: objects to Jupyter mime bundles, and the builtin `display()`."""

from .pristine import __builtins__

import binascii

from . import channel, figures, plotly_figures, streams
from .text import elide, quote, well_formed
from .values import to_json

# Characters of one payload of a bundle, base64 included; larger rich forms are left out, `text/plain` is shortened.
MAX_PAYLOAD_CHARS = 8 << 20
MAX_PLAIN_CHARS = 1 << 20

# Method → MIME type, in Jupyter's naming. Binary payloads travel as base64.
_METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_pdf_", "application/pdf"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
    ("_repr_javascript_", "application/javascript"),
)


class JsonText(str):
    """A payload that is JSON already."""


def display(*objects, **_options):
    """Shows objects in their richest form. Takes, and ignores, the options of IPython's function of the same name."""
    for value in objects:
        data = bundle(value)
        streams.flush()
        channel.emit("DisplayData", data)


display.__module__ = "builtins"


def bundle(value):
    """The mime bundle of `value`: always `text/plain`, and what its `_repr_*_` methods offer. Runs guest code.

    As in IPython, a rich method that fails is passed over; a `repr()` that fails raises.
    """
    data = {}
    kind = type(value)
    if not issubclass(kind, type) and kind not in _PLAIN_ONLY and not _answers_to_anything(value):
        if figures.is_figure(kind):
            data = figures.bundle(value)
        elif plotly_figures.is_figure(kind):
            return plotly_figures.bundle(value.to_dict())
        _add_bundle(data, value)
        for name, mime in _METHODS:
            if mime not in data:
                add(data, mime, _ask(value, name))
    if "text/plain" not in data:
        data["text/plain"] = elide(well_formed(repr(value)), MAX_PLAIN_CHARS)
    return data


_PLAIN_ONLY = frozenset((type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set))


def _answers_to_anything(value):
    """Mock objects and proxies have every attribute; what they answer means nothing."""
    try:
        return hasattr(value, "_ipython_canary_method_should_not_exist_")
    except Exception:
        return True


def _ask(value, name, **arguments):
    try:
        method = getattr(value, name, None)
        return method(**arguments) if callable(method) else None
    except Exception:
        return None


def _add_bundle(data, value):
    answer = _ask(value, "_repr_mimebundle_", include=None, exclude=None)
    if type(answer) is tuple and answer:
        answer = answer[0]  # (data, metadata)
    if isinstance(answer, dict):
        for mime, payload in answer.items():
            if type(mime) is str:
                add(data, mime, payload)


def add(data, mime, payload):
    """Adds one representation, as text: bytes as base64, other values as JSON.

    Too long a `text/plain` is elided; others are left out.
    """
    if type(payload) is tuple and payload:
        payload = payload[0]  # (payload, metadata)
    if payload is None:
        return
    if isinstance(payload, (bytes, bytearray)):
        payload = binascii.b2a_base64(payload, newline=False).decode()
    elif not isinstance(payload, str):
        payload = to_json(payload)
    elif type(payload) is not JsonText and (mime == "application/json" or mime.endswith("+json")):
        payload = quote(payload)
    payload = well_formed(payload)
    if mime == "text/plain":
        data[mime] = elide(payload, MAX_PLAIN_CHARS)
    elif len(payload) <= MAX_PAYLOAD_CHARS:
        data[mime] = payload
