"""What a shell shows, as events: values, `display()`, figures."""

from ..pristine import __builtins__

import builtins
import contextlib
import sys

from IPython.core.displayhook import DisplayHook as _DisplayHook
from IPython.core.displaypub import DisplayPublisher as _DisplayPublisher
from IPython.lib import pretty

from .. import channel, display, figures, pictures, streams
from ..text import quote
from . import frontend
from .attributes import value_of

# In a bundle of this type: `{"display_id": ..., "update": bool}`. Updates repeat all of the bundle.
DISPLAY_ID = "application/vnd.brumate.display+json"


_PLAIN = frozenset((int, float, complex, str, bytes))
# What IPython shows by its `repr`, always on one line, while the printer is its own.
_REPR = frozenset((int, str))
_by_repr = pretty._type_pprinters[int]


def _flush():
    for stream in (sys.stdout, sys.stderr):
        if not streams.is_ours(stream):
            flush = getattr(stream, "flush", None)
            if flush is not None:
                flush()
    streams.flush()


def encoded(data):
    """A mime bundle with texts only: binary data as base64, other values as JSON, pictures made to fit."""
    result = {}
    for mime, payload in data.items():
        if type(mime) is str:
            display.add(result, mime, payload)
    pictures.fit(result)
    return result


def _emit(kind, bundle):
    """Sends a bundle; when it is too long as a whole, its text alone."""
    if not channel.emit(kind, bundle) and len(bundle) > 1 and "text/plain" in bundle:
        channel.emit(kind, {"text/plain": bundle["text/plain"]})


class DisplayPublisher(_DisplayPublisher):
    """Sends `display_data`."""

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **_options):
        self._validate_data(data, metadata)
        _flush()
        if frontend.is_listening():
            frontend.display(data, metadata, transient, update)
            return
        bundle = encoded(data)
        identity = (transient or {}).get("display_id")
        if identity is not None:
            bundle[DISPLAY_ID] = f'{{"display_id":{quote(str(identity))},"update":{"true" if update else "false"}}}'
        _emit("DisplayData", bundle)

    def clear_output(self, wait=False):
        """Output that was sent stays; a frontend clears its own."""
        _flush()
        if frontend.is_listening():
            frontend.send("clear_output", {"wait": bool(wait)})


class DisplayHook(_DisplayHook):
    """Sends `execute_result`."""

    # Not a trait: set twice by every cell.
    exec_result = None

    def write_output_prompt(self):
        pass

    def quiet(self):
        """Whether a semicolon ends the cell; one without any is not tokenized to find out."""
        cells = self.shell.history_manager.input_hist_parsed
        return bool(cells) and ";" in cells[-1] and super().quiet()

    def compute_format_data(self, result):
        """Numbers and texts have one form, unless somebody registered another."""
        kind = type(result)
        formatter = self.shell.display_formatter
        if kind in _PLAIN and not _is_registered(kind, formatter):
            plain = formatter.formatters["text/plain"]
            if (
                kind in _REPR
                and value_of(plain, "type_printers").get(kind) is _by_repr
                and id(result) not in value_of(plain, "singleton_printers")
            ):
                with contextlib.suppress(ValueError):  # an integer of too many digits is IPython's to report
                    return {"text/plain": repr(result)}, {}
            return {"text/plain": plain(result)}, {}
        return formatter.format(result)

    def update_user_ns(self, result):
        """`_`, `__`, `___`, `_1`, ... and `Out`, by IPython's rules: names that somebody else has set are left
        alone."""
        shell = self.shell
        names = shell.user_ns
        outputs = names["_oh"]
        if not self.cache_size or result is outputs:
            return
        if self.do_full_cache and len(outputs) >= self.cache_size:
            self.cull_cache()
        known = shell.user_ns_hidden
        free = True
        for name in ("_", "__", "___"):
            if name in names:
                value = names[name]
                free = free and (known[name] if name in known else getattr(self, name)) is value
        self.___, self.__, self._ = self.__, self._, result
        if free and "_" not in vars(builtins):
            shell.push({"_": result, "__": self.__, "___": self.___}, interactive=False)
        if self.do_full_cache:
            count = self.prompt_count
            shell.push({f"_{count}": result}, interactive=False)
            outputs[count] = result

    def write_format_data(self, format_dict, md_dict=None):
        if any(form is not None for form in format_dict.values()) and not frontend.is_listening():
            # Its forms that failed were reported. In Jupyter the cell fails.
            self.shell.errors.showing_failed = False
        _flush()
        if frontend.is_listening():
            frontend.execute_result(format_dict, md_dict, self.prompt_count)
        else:
            _emit("ExecuteResult", encoded(format_dict))

    def finish_displayhook(self):
        self._is_active = False

    def log_output(self, format_dict):
        """Keeps the text alone: `%history -o` shows it. Pictures would be kept for ever."""
        text = format_dict.get("text/plain")
        if text is None:
            return
        shell = self.shell
        shell.history_manager.output_hist_reprs[self.prompt_count] = text
        if shell._logger is not None and shell._logger.log_output:
            shell._logger.log_write(text, "output")


def _is_registered(kind, formatter):
    """Whether somebody has told how to show this type in other forms than text."""
    forms = formatter.formatters
    for other in (formatter.mimebundle_formatter, formatter.ipython_display_formatter, *forms.values()):
        if kind in value_of(other, "type_printers") and other is not forms["text/plain"]:
            return True
    return False


def register_formatters(formatter):
    """Figures are drawn once, in all their forms."""
    formatter.mimebundle_formatter.for_type_by_name("matplotlib.figure", "Figure", _figure)


def _figure(figure, include=None, exclude=None):
    if not frontend.is_listening():
        return figures.bundle(figure)
    if not figure.axes and not figure.lines:
        return {"text/plain": repr(figure)}
    return frontend.figure(figures.bundle(figure))
