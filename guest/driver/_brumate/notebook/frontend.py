"""Requests of a Jupyter frontend, and messages to it.

Source of all contents: the Jupyter messaging specification, 5.4. The host has the sockets, the headers and the order
of requests. It passes a request as `{"type", "content", "parent", "metadata", "buffers", "comms"}`; the answer is the
content of the reply. Output of a cell goes to the host as messages (`channel.send`), with the content as the frontend
gets it.
"""

from ..pristine import __builtins__

import base64
import binascii
import json
import numbers
import sys

from .. import channel, figure_formats, import_hooks, pictures, saved_figures, streams
from ..display import JsonText
from ..text import parse, well_formed

# Colors of tracebacks and of inspection, as ipykernel has them.
COLORS = "neutral"
# Matches of one completion.
MAX_MATCHES = 10_000
# Cells of one answer to a history request.
MAX_HISTORY = 10_000

_TYPES = "_jupyter_types_experimental"

# Formats that are pixels.
_RASTER = {"png", *figure_formats.TWICE, "jpeg", "jpg"}
# Columns of a table in a notebook; pandas, imported before there is one, takes a terminal's.
_MAX_COLUMNS = 20


class _State:
    # The request that is served: its header and content. None while no frontend listens.
    parent = None
    # Whether comms reach the frontends: without them there are no widgets.
    comms = False


def parent():
    """The request that is served, as `{"header", "content", "metadata"}`; empty without one."""
    return _State.parent or {}


def is_listening():
    """Whether the request that runs is a frontend's."""
    return _State.parent is not None


def has_comms():
    """Whether the request that runs is that of a frontend that shows widgets."""
    return is_listening() and _State.comms


class Kernel:
    """The value of `get_ipython().kernel`, for widgets. It knows the request that is served."""

    def __init__(self, shell):
        self.shell = shell

    @property
    def comm_manager(self):
        """The manager of comms, of the package `comm`."""
        import comm

        return comm.get_comm_manager()

    def get_parent(self, channel=None):
        """The request that is served, as `{"header", "content", ...}`."""
        return parent()


# Messages.


def send(kind, content, metadata=None, buffers=()):
    """Sends a message to the frontends. Says on stderr that one was left out when it is too large."""
    if not channel.send(kind, encoded(content), encoded(metadata or {}), [_base64(buffer) for buffer in buffers or ()]):
        streams.write_error(
            f"[a message of the kind {kind} was left out: it is too large, or the cell sent too many]\n"
        )


def encoded(value):
    """A value as JSON text: bytes as base64, other values that are no JSON as text."""
    try:
        return well_formed(json.dumps(value, default=_default, ensure_ascii=False, allow_nan=False))
    except (ValueError, TypeError):
        return well_formed(json.dumps(_cleaned(value, 0), default=_default, ensure_ascii=False, allow_nan=False))


def _default(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _base64(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if number - number == 0 else repr(number)
    if isinstance(value, (set, frozenset)):
        return list(value)
    if getattr(value, "tzinfo", False) is None and hasattr(value, "date"):
        # Jupyter's messages have times with their zones.
        value = value.astimezone()
    isoformat = getattr(value, "isoformat", None)
    return isoformat().replace("+00:00", "Z") if callable(isoformat) else str(value)


# Deepest nesting of a value that has parts which are no JSON.
_MAX_DEPTH = 100


def _cleaned(value, depth):
    """The value with text in the place of numbers that are no JSON, and of names that are no text."""
    if depth > _MAX_DEPTH:
        return "..."
    if isinstance(value, dict):
        return {str(name): _cleaned(item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(item, depth + 1) for item in value]
    if isinstance(value, float) and value - value != 0:
        return repr(float(value))
    return value


def _base64(value):
    return binascii.b2a_base64(bytes(value), newline=False).decode()


def bundle(data):
    """A mime bundle without the types of Brumate's own clients. The picture is as it was drawn."""
    original = data.get(pictures.ORIGINAL)
    own = (pictures.ORIGINAL, saved_figures.SAVED)
    data = {
        mime: parse(payload) if type(payload) is JsonText else payload
        for mime, payload in data.items()
        if mime not in own
    }
    if original is not None:
        data[pictures.PNG] = original
    return data


def figure(data):
    """A figure's mime bundle in the formats that are asked for, and its metadata: the size at which it is shown."""
    formats = figure_formats.Options().formats
    data = bundle(data)
    if not formats & _RASTER:
        data = {mime: payload for mime, payload in data.items() if mime not in (pictures.PNG, figure_formats.JPEG)}
    metadata = {}
    if formats & figure_formats.TWICE and pictures.PNG in data:
        size = pictures.encoded_size(data[pictures.PNG])
        if size is not None:
            metadata[pictures.PNG] = {"width": size[0] // 2, "height": size[1] // 2}
    return data, metadata


def display(data, metadata, transient, update):
    """Sends `display_data`, or `update_display_data`."""
    kind = "update_display_data" if update else "display_data"
    send(kind, {"data": bundle(data), "metadata": metadata or {}, "transient": transient or {}})


def execute_result(data, metadata, count):
    """Sends `execute_result`."""
    send("execute_result", {"data": bundle(data), "metadata": metadata or {}, "execution_count": count})


# Comms: widgets on both sides.


def _connect_comms(module):
    class Comm(module.base_comm.BaseComm):
        """A comm whose messages go to the frontends."""

        def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
            if has_comms():
                streams.flush()
                send(msg_type, {"data": data or {}, "comm_id": self.comm_id, **keys}, metadata, buffers)

    without = module.create_comm

    def create_comm(*arguments, **options):
        """A comm to the frontends; one that goes nowhere while none shows widgets."""
        return Comm(*arguments, **options) if has_comms() else without(*arguments, **options)

    module.create_comm = create_comm


def install():
    """Done once, when the shell is made."""
    import_hooks.after_import("comm", _connect_comms)


def _comm_manager():
    module = sys.modules.get("comm")
    return None if module is None else module.get_comm_manager()


def _comm_message(name):
    def serve(shell, content, request):
        manager = _comm_manager()
        message = {**_State.parent, "buffers": [memoryview(base64.b64decode(text)) for text in request["buffers"]]}
        if manager is None:
            # The answer that the specification wants for a target that is not there.
            if name == "comm_open":
                send("comm_close", {"comm_id": content.get("comm_id", ""), "data": {}})
            return {}
        try:
            getattr(manager, name)(None, None, message)
        except BaseException:
            shell.showtraceback()
        # Shows the figures that the code has drawn.
        shell.events.trigger("post_execute")
        return {}

    return serve


def _comm_info(shell, content, request):
    manager = _comm_manager()
    wanted = content.get("target_name")
    comms = {} if manager is None else dict(manager.comms)
    return {
        "status": "ok",
        "comms": {
            identity: {"target_name": comm.target_name}
            for identity, comm in comms.items()
            if wanted is None or comm.target_name == wanted
        },
    }


# Requests.


def _execute(shell, content, request):
    silent = content.get("silent") is True
    store = content.get("store_history", not silent) is True and not silent
    code = content.get("code", "")
    if not silent:
        send("execute_input", {"code": code, "execution_count": shell.execution_count})
    shell.payload_manager.clear_payload()
    errors = shell.errors
    errors.start_cell()
    result = shell.run_cell(code, store_history=store, silent=silent)
    shell.mend()
    error = None if result is None else result.error_before_exec or result.error_in_exec
    left, shell.leaving = shell.is_leaving(error), None
    traceback, is_unsent = errors.traceback, errors.is_unsent
    described = errors.end_cell(None if left else error)
    if left:
        error = None
    if described is not None:
        name, message, text = described
        if is_unsent and traceback is None:
            traceback = text.rstrip("\n").split("\n")
        reply = {"status": "error", "ename": name, "evalue": message, "traceback": traceback or []}
    else:
        reply = {"status": "ok"}
    wanted = content.get("user_expressions") or {}
    reply["user_expressions"] = shell.user_expressions(wanted) if described is None else {}
    reply["execution_count"] = shell.execution_count - 1
    reply["payload"] = shell.payload_manager.read_payload()
    shell.payload_manager.clear_payload()
    if described is not None and is_unsent:
        send("error", {name: reply[name] for name in ("ename", "evalue", "traceback")})
    if error is not None:
        from .. import reports

        reports.release_memory(error)
    return reply


def _complete(shell, content, request):
    from IPython.core.completer import provisionalcompleter, rectify_completions

    shell.set_completer_frame()
    code, position = content.get("code", ""), content.get("cursor_pos")
    position = len(code) if position is None else position
    with provisionalcompleter():
        found = []
        for completion in rectify_completions(code, shell.Completer.completions(code, position)):
            found.append(completion)
            if len(found) == MAX_MATCHES:
                break
    types = [
        {"start": one.start, "end": one.end, "text": one.text, "type": one.type, "signature": one.signature}
        for one in found
    ]
    start, end = (found[0].start, found[0].end) if found else (position, position)
    return {
        "status": "ok",
        "matches": [one.text for one in found],
        "cursor_start": start,
        "cursor_end": end,
        "metadata": {_TYPES: types},
    }


def _inspect(shell, content, request):
    from IPython.utils.tokenutil import token_at_cursor

    code = content.get("code", "")
    name = token_at_cursor(code, content.get("cursor_pos", len(code)))
    try:
        data = shell.object_inspect_mime(
            name, detail_level=content.get("detail_level", 0), omit_sections=content.get("omit_sections", ())
        )
    except KeyError:
        return {"status": "ok", "found": False, "data": {}, "metadata": {}}
    data.pop("text/html", None)
    return {"status": "ok", "found": True, "data": data, "metadata": {}}


def _is_complete(shell, content, request):
    status, indent = shell.input_transformer_manager.check_complete(content.get("code", ""))
    reply = {"status": status}
    if status == "incomplete":
        reply["indent"] = " " * (indent or 0)
    return reply


def _history(shell, content, request):
    manager, kind = shell.history_manager, content.get("hist_access_type")
    options = {"raw": content.get("raw", True), "output": content.get("output", False)}
    if kind == "tail":
        found = manager.get_tail(content.get("n"), include_latest=True, **options)
    elif kind == "range":
        found = manager.get_range(content.get("session", 0), content.get("start", 1), content.get("stop"), **options)
    elif kind == "search":
        found = manager.search(
            content.get("pattern") or "*", n=content.get("n"), unique=content.get("unique", False), **options
        )
    else:
        found = []
    return {"status": "ok", "history": [list(entry) for entry in found][-MAX_HISTORY:]}


_SERVED = {
    "execute_request": _execute,
    "complete_request": _complete,
    "inspect_request": _inspect,
    "is_complete_request": _is_complete,
    "history_request": _history,
    "comm_info_request": _comm_info,
    "comm_open": _comm_message("comm_open"),
    "comm_msg": _comm_message("comm_msg"),
    "comm_close": _comm_message("comm_close"),
}


def serve(shell, text):
    """Serves one request (JSON text); returns the content of its reply as JSON text."""
    request = parse(text)
    content = request["content"]
    header = request["parent"]["header"]
    _State.parent = {
        **request["parent"],
        "msg_id": header.get("msg_id"),
        "msg_type": header.get("msg_type"),
        "parent_header": {},
        "content": content,
        "metadata": request["metadata"],
    }
    _State.comms = request["comms"]
    before, shell.kernel = shell.kernel, shell.kernel or Kernel(shell)
    if shell.colors != COLORS:
        shell.colors = COLORS
    _look_like_a_kernel(shell)
    try:
        return encoded(_SERVED[request["type"]](shell, content, request))
    finally:
        _State.parent = None
        shell.kernel = before
        streams.flush()


def _look_like_a_kernel(shell):
    """Sets the marks by which libraries recognise a frontend, once in a session."""
    config = shell.config
    if "IPKernelApp" in config:
        return
    config.IPKernelApp = type(config)()
    pandas = sys.modules.get("pandas")
    if pandas is not None and pandas.get_option("display.max_columns") == 0:
        pandas.set_option("display.max_columns", _MAX_COLUMNS)
