"""plotly figures as events: a picture, their JSON, and a page that needs nothing else. There is no browser to draw
them: `brumate_plotly` does."""

from .pristine import __builtins__

import binascii
import copy
import sys
import warnings
import zlib

import brumate_plotly

from . import channel, import_hooks, pictures, streams
from .text import well_formed

JSON = "application/vnd.plotly.v1+json"
# Characters of a figure's JSON; what is longer is left out. Its page has plotly.js as well, 2 MiB of it.
MAX_JSON_CHARS = 3 << 20
# The same for a Jupyter frontend, which draws from the JSON alone. A message has at most 16 MiB, with its picture.
_MAX_MESSAGE_CHARS = 12 << 20
# Names of traces in a figure's text.
_MAX_NAMED = 6
_RENDERER = "brumate"


def is_figure(kind):
    """Whether a type is one of plotly's figures."""
    module = sys.modules.get("plotly.basedatatypes")
    return module is not None and issubclass(kind, module.BaseFigure)


def bundle(figure):
    """The mime bundle of a figure (a dictionary)."""
    from .display import JsonText
    from .notebook import frontend
    from plotly.io._json import to_json_plotly

    picture, left_out = brumate_plotly.draw(figure)
    notes = []
    if not picture:
        notes.append("no picture: nothing of it can be drawn without a browser")
    if left_out:
        notes.append(f"not in the picture: {', '.join(left_out)}")
    data = {}
    if picture:
        data[pictures.PNG] = binascii.b2a_base64(picture, newline=False).decode()
        pictures.fit(data)
    json = to_json_plotly(figure)
    is_drawn_from_json = frontend.is_listening()
    if len(json) <= (_MAX_MESSAGE_CHARS if is_drawn_from_json else MAX_JSON_CHARS):
        data[JSON] = JsonText(well_formed(json))
        if not is_drawn_from_json:
            data["text/html"] = well_formed(_page(json))
    if JSON not in data:
        notes.append("too large for a page: plot fewer points, or use fig.write_html(...)")
    data["text/plain"] = _describe(figure) + (f" ({'; '.join(notes)})" if notes else "")
    return data


# A page that needs neither a network nor another file. plotly.js is in it as the browser unpacks it: a third of its
# size.
_PAGE = """<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><style>html, body, #figure {{ height: 100%; margin: 0 }}</style></head>
<body>
<div id="figure"></div>
<script type="application/json" id="data">{figure}</script>
<script type="text/plain" id="plotly.js-deflate-base64">{library}</script>
<script>
(async () => {{
  const text = (id) => document.getElementById(id).textContent;
  const packed = Uint8Array.from(atob(text("plotly.js-deflate-base64")), (character) => character.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const library = document.createElement("script");
  library.textContent = await new Response(unpacked).text();
  document.head.append(library);
  const figure = JSON.parse(text("data"));
  await Plotly.newPlot("figure", figure.data, figure.layout, {{ responsive: true, ...figure.config }});
  if (figure.frames) Plotly.addFrames("figure", figure.frames);
}})();
</script>
</body>
</html>
"""


class _Library:
    packed = None


def _page(json):
    """The page of a figure. Nothing in its JSON ends the element that it stands in."""
    if _Library.packed is None:
        from plotly.offline import get_plotlyjs

        _Library.packed = binascii.b2a_base64(zlib.compress(get_plotlyjs().encode(), 9), newline=False).decode()
    return _PAGE.format(figure=json.replace("<", "\\u003c"), library=_Library.packed)


def _describe(figure):
    traces = figure.get("data") or ()
    kinds = list(dict.fromkeys(str(trace.get("type", "scatter")) for trace in traces))
    shown = ", ".join(kinds[:_MAX_NAMED]) + (", ..." if len(kinds) > _MAX_NAMED else "")
    title = ((figure.get("layout") or {}).get("title") or {}).get("text")
    count = f"{len(traces)} trace{'' if len(traces) == 1 else 's'}"
    return well_formed(f"plotly Figure{f' {title!r}' if title else ''} with {count}{f': {shown}' if shown else ''}")


def emit(figure):
    """Shows a figure (a dictionary)."""
    from . import figures, saved_figures

    if figures.is_unseen():
        saved_figures.note_unseen_page()
        return
    data = bundle(figure)
    content = data.get(JSON, data["text/plain"])
    if not figures.is_new_content(content.encode()) or not figures.take_one():
        return
    if not figures.publish(data):
        streams.flush()
        channel.emit("DisplayData", data)


# Renderers of frontends that draw a figure from its JSON, and of browsers.
_FROM_JSON = frozenset(
    ("plotly_mimetype", "jupyterlab", "nteract", "vscode", "browser", "firefox", "chrome", "chromium")
)


def _take_over(module):
    """Every renderer becomes ours: browsers, notebooks of other kinds and static pictures are not there. In a frontend
    that lets outputs run, a renderer that the code chooses does its own."""
    from .notebook import frontend

    renderers = module.renderers

    class Renderer(module.ExternalRenderer):
        """Shows figures through the sandbox's host."""

        def render(self, fig_dict):
            emit(fig_dict)

    class Chosen(Renderer):
        """Shows figures as another renderer does, to a frontend that can show that."""

        def __init__(self, other):
            # Options of `show()` are set on a copy of this.
            vars(self).update(vars(other))
            self._other, self._is_active = other, []

        def render(self, fig_dict):
            if not frontend.has_comms():
                return super().render(fig_dict)
            from IPython.display import display

            other = copy.copy(self._other)
            vars(other).update({name: getattr(self, name) for name in vars(other)})
            if not self._is_active:
                self._is_active.append(True)
                other.activate()
            display(other.to_mimebundle(fig_dict), raw=True)

    ours = Renderer()
    for name in list(renderers):
        other = renderers[name]
        is_other = name not in _FROM_JSON and isinstance(other, module.MimetypeRenderer)
        renderers[name] = Chosen(other) if is_other else ours
    if frontend.is_listening():
        renderers.default = "plotly_mimetype"
    else:
        renderers[_RENDERER] = ours
        renderers.default = _RENDERER


def image(figure, format="png", width=None, height=None, scale=1):
    """A figure's picture as bytes, as `figure.to_image()` returns it; warns of what is not in it.

    Raises ValueError for a format or a size that cannot be, and for a figure of which nothing can be drawn.
    """
    kind = str(format).lower().lstrip(".")
    if kind not in brumate_plotly.FORMATS:
        raise ValueError(
            f"this sandbox draws plotly's figures as {', '.join(brumate_plotly.FORMATS)}, not as {format!r}; "
            "fig.write_html(...) writes a page"
        )
    figure = dict(figure if isinstance(figure, dict) else figure.to_dict())
    layout = figure["layout"] = dict(figure.get("layout") or {})
    layout.update({side: size for side, size in (("width", width), ("height", height)) if size is not None})
    picture, left_out = brumate_plotly.draw(figure, kind, float(scale or 1))
    names = ", ".join(left_out)
    if not picture:
        raise ValueError(
            f"nothing of this figure can be drawn without a browser{f' ({names})' if names else ''}; "
            "fig.write_html(...) writes a page that shows it"
        )
    if left_out:
        warnings.warn(f"not in the picture of the plotly figure: {names}", stacklevel=4)
    return picture


def _draw_without_browser(module):
    import kaleido

    # The stand-in has no metadata of a package.
    module.kaleido, module._KALEIDO_AVAILABLE = kaleido, True


def install():
    """Done once, at boot."""
    import_hooks.after_import("plotly.io._renderers", _take_over)
    import_hooks.after_import("plotly.io._kaleido", _draw_without_browser)
