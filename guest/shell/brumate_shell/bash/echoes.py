"""`echo`, `printf` and `yes`."""

import re

from brumate_shell.streams import Refused

# Lines that `yes` writes in one piece.
_BLOCK = 500

_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b",
    '"': '"', "'": "'",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|0?[0-7]{1,3}|[ntr\\abfveEc\"'])")
_ECHO_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|0[0-7]{0,3}|[ntr\\abfveEc])")
_DIRECTIVE = re.compile(r"%(?:(%)|([-+ 0#']*)(\*|\d+)?(?:\.(\*|\d+)?)?(?:\(([^)]*)\)T|([a-zA-Z])))|\\c")
_HAS_PRECISION = re.compile(r"\.")


def _unescaped(found):
    """The character of an escape; None stands for the end of all output."""
    code = found.group(1)
    if code[0] in "xuU":
        number = int(code[1:], 16)
        return bytes([number]).decode("utf-8", "surrogateescape") if code[0] == "x" else chr(number)
    if code[0].isdigit():
        return bytes([int(code, 8) & 0xFF]).decode("utf-8", "surrogateescape")
    return _ESCAPES.get(code, "\\" + code)


def unescape(text, pattern=_ESCAPE):
    """Backslash escapes of `printf` (and, with another pattern, of `echo -e`)."""
    if "\\" not in text:
        return text
    text = pattern.sub(_unescaped, text)
    # Bytes that were written one by one may be one character.
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def echo(arguments, streams):
    """echo [-neE] text...: its arguments"""
    flags = []
    while arguments and arguments[0][:1] == "-" and arguments[0][1:] and not set(arguments[0][1:]) - set("neE"):
        flags += arguments[0][1:]
        arguments = arguments[1:]
    text = " ".join(arguments)
    escapes = [flag for flag in flags if flag in "eE"][-1:] == ["e"]
    end = "" if "n" in flags else "\n"
    if escapes:
        head, stop, _ = re.sub(r"(\\\\)|\\c", lambda found: found.group(1) or "\0", text).partition("\0")
        text, end = unescape(head, _ECHO_ESCAPE), "" if stop else end
    streams.out.write(text + end)


def yes(arguments, streams):
    """yes [text]: a line again and again, in front of head"""
    line = (" ".join(arguments) or "y") + "\n"
    while True:
        if streams.shell is not None:
            streams.shell.check_time()
        streams.out.write(line * _BLOCK)


class _End(Exception):
    """`\\c`: nothing more is written."""


def printf(arguments, streams):
    """printf [-v NAME] format [value...]: formatted text"""
    name = None
    if arguments[:1] == ["-v"] and len(arguments) > 1:
        name, arguments = arguments[1], arguments[2:]
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if not arguments:
        raise Refused("a format is missing", 2)
    writer = _Printf(list(arguments[1:]), streams)
    text = writer.all(arguments[0])
    if name is None:
        streams.out.write(text)
    elif streams.shell is None:
        raise Refused("-v works in shell lines only", 2)
    else:
        element = re.fullmatch(r"(\w+)\[(.+)\]", name)
        if element:
            streams.shell.state.set_element(element.group(1), element.group(2), text)
        else:
            streams.shell.state.set(name, text)
    return writer.status


class _Printf:
    def __init__(self, values, streams):
        self.values = values
        self.streams = streams
        self.status = 0

    def all(self, form):
        out = []
        try:
            while True:
                before = len(self.values)
                self.pieces(form, out)
                if not self.values or len(self.values) == before:
                    break
        except _End:
            pass
        return "".join(out)

    def pieces(self, form, out):
        at = 0
        for found in _DIRECTIVE.finditer(form):
            out.append(unescape(form[at : found.start()]))
            at = found.end()
            if found.group() == "\\c":
                raise _End
            out.append("%" if found.group(1) else self.directive(found, out))
        rest = form[at:]
        out.append(unescape(rest))

    def next(self):
        return self.values.pop(0) if self.values else None

    def directive(self, found, out):
        _, flags, width, precision, date, code = found.groups()
        flags = flags.replace("'", "")
        if width == "*":
            width = self.next() or "0"
            if width.startswith("-"):
                flags, width = flags + "-", width[1:]
        if precision == "*":
            precision = self.next() or "0"
        elif precision is None and "." in found.group():
            precision = "0"
        text = self.next()
        head = f"%{flags}{width or ''}"
        if date is not None:
            import time

            seconds = time.time() if text in (None, "-1", "-2") else self.number(text)
            return f"{head}s" % time.strftime(date or "%H:%M:%S", time.localtime(seconds))
        if code in "sbqc":
            text = text or ""
            if code == "b":
                head_text, stop, _ = text.partition("\\c")
                text = unescape(head_text)
                if stop:
                    out.append(text)
                    raise _End
            elif code == "q":
                text = _for_shell(text)
            elif code == "c":
                text = text[:1]
            head = head.replace("0", "", 1) if flags.startswith("0") else head
            return f"{head}{'' if precision is None else '.' + precision}s" % text
        if code in "diuxXo":
            value = self.number(text)
            if code == "u" or (code in "xXo" and value < 0):
                value &= (1 << 64) - 1
            if precision is not None:
                head += "." + precision
            if code == "o" and "#" in flags:
                shown = f"0{value:o}" if value else "0"
                return f"{head.replace('#', '')}s" % shown
            return f"{head}{'d' if code in 'iu' else code}" % value
        if code in "fFeEgGaA":
            if code in "aA":
                raise Refused(f"%{code} is not supported", 1)
            return f"{head}{'' if precision is None else '.' + precision}{code}" % self.real(text)
        raise Refused(f"%{code}: invalid directive")

    def complain(self, text):
        self.streams.err.write(f"printf: {text}: invalid number\n")
        self.status = 1

    def number(self, text):
        text = (text or "").strip()
        if text[:1] in ("'", '"'):
            return ord(text[1:2] or "\0")
        found = re.match(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[0-7]*(?![0-9])|\d+)", text)
        if found is None or found.end() < len(text):
            if text:
                self.complain(text)
            if found is None:
                return 0
        digits = found.group()
        sign = -1 if digits[0] == "-" else 1
        digits = digits.lstrip("+-")
        return sign * int(digits, 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10)

    def real(self, text):
        text = (text or "0").strip()
        if text[:1] in ("'", '"'):
            return float(ord(text[1:2] or "\0"))
        try:
            return float(text)
        except ValueError:
            pass
        found = re.match(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", text)
        if text[:2].lower() == "0x":
            return float(self.number(text))
        self.complain(text)
        return float(found.group()) if found else 0.0


def _for_shell(text):
    """`%q`: a text that a shell reads as itself."""
    if not text:
        return "''"
    if any([char in "\n\t\r\x1b" for char in text]):
        return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t") + "'"
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", text)
