"""Bytes in other forms: checksums, `base64`, `od`, `xxd`, `hexdump`."""

import re

from brumate_shell import options
from brumate_shell.lines import each, lines_of, opened
from brumate_shell.streams import Refused, decode


def _read(path, streams):
    with opened(path, streams) as file:
        return file.read()


def _sums(name, arguments, streams):
    import hashlib

    found, paths = options.parse(
        arguments,
        flags="cbtwz",
        long={"check": "c", "quiet": "q", "status": "S", "binary": "b", "tag": "T", "text": "t"},
    )
    if "c" in found:
        return _checked(name, paths or ["-"], found, streams)

    def show(path):
        digest = hashlib.new(name, _read(path, streams)).hexdigest()
        streams.out.write(f"{name.upper()} ({path}) = {digest}\n" if "T" in found else f"{digest}  {path}\n")

    return each(paths or ["-"], streams, show, name + "sum")


def _checked(name, paths, found, streams):
    import hashlib

    failed = missing = 0
    for path in paths:
        for line in lines_of(path, streams):
            match = re.fullmatch(r"\\?([0-9a-fA-F]+) [ *](.*)", line)
            if match is None:
                continue
            try:
                good = hashlib.new(name, _read(match.group(2), streams)).hexdigest() == match.group(1).lower()
            except OSError as error:
                missing += 1
                streams.err.write(f"{name}sum: {match.group(2)}: {error.strerror}\n")
                streams.out.write(f"{match.group(2)}: FAILED open or read\n")
                continue
            failed += not good
            if "S" not in found and not (good and "q" in found):
                streams.out.write(f"{match.group(2)}: {'OK' if good else 'FAILED'}\n")
    if failed:
        streams.err.write(f"{name}sum: WARNING: {failed} computed checksum did NOT match\n")
    return int(bool(failed or missing))


def md5sum(arguments, streams):
    """md5sum [-c] [file...]: checksums, or whether they are right"""
    return _sums("md5", arguments, streams)


def sha1sum(arguments, streams):
    """sha1sum [-c] [file...]: checksums, or whether they are right"""
    return _sums("sha1", arguments, streams)


def sha256sum(arguments, streams):
    """sha256sum [-c] [file...]: checksums, or whether they are right"""
    return _sums("sha256", arguments, streams)


def sha512sum(arguments, streams):
    """sha512sum [-c] [file...]: checksums, or whether they are right"""
    return _sums("sha512", arguments, streams)


def cksum(arguments, streams):
    """cksum: refused"""
    raise Refused("not supported here: use md5sum, sha1sum or sha256sum")


def base64(arguments, streams):
    """base64 [-d] [-w WIDTH] [file]: bytes as text, and back"""
    import base64 as codec
    import binascii

    found, paths = options.parse(
        arguments, flags="diD", values="w", long={"decode": "d", "wrap": "w", "ignore-garbage": "i"}
    )
    data = _read((paths or ["-"])[0], streams)
    if "d" in found or "D" in found:
        data = re.sub(rb"[^A-Za-z0-9+/=]" if "i" in found else rb"\s", b"", data)
        try:
            streams.out.write(decode(codec.b64decode(data, validate=True)))
        except binascii.Error:
            raise Refused("invalid input") from None
        return
    text, width = codec.b64encode(data).decode(), options.number(found.get("w", "76"))
    if not width:
        streams.out.write(text)
    else:
        streams.out.write("".join([text[at : at + width] + "\n" for at in range(0, len(text), width)]))


def _limited(data, found, skip="s", count="n"):
    start = _number(found.get(skip, "0"))
    data = data[start:]
    return start, data[: _number(found[count])] if count in found else data


def _number(text):
    try:
        return int(text, 0)
    except ValueError:
        raise Refused(f"invalid number: {text}", 1) from None


def xxd(arguments, streams):
    """xxd [-p] [-r] [-u] [-c COLUMNS] [-g GROUP] [-l LENGTH] [-s START] [file]: bytes in hexadecimal"""
    words = ["-p" if word in ("-ps", "-plain") else "-l" if word == "-len" else word for word in arguments]
    found, paths = options.parse(words, flags="pruia", values="cgls")
    if "i" in found:
        raise Refused("-i is not supported here", 1)
    data = _read((paths or ["-"])[0], streams)
    if "r" in found:
        return _from_hexadecimal(data, found, streams)
    start, data = _limited(data, found, count="l")
    columns = options.number(found.get("c", "30" if "p" in found else "16"))
    if "p" in found:
        for at in range(0, len(data), columns):
            text = data[at : at + columns].hex()
            streams.out.write((text.upper() if "u" in found else text) + "\n")
        return 0
    group = options.number(found.get("g", "2")) or columns
    width = columns * 2 + -(-columns // group)
    for at in range(0, len(data), columns):
        line = data[at : at + columns]
        text = " ".join([line[index : index + group].hex() for index in range(0, len(line), group)])
        text = text.upper() if "u" in found else text
        streams.out.write(f"{start + at:08x}: {text:<{width}} {_printable(line)}\n")
    return 0


def _from_hexadecimal(data, found, streams):
    out = []
    for line in data.decode("ascii", "replace").splitlines():
        if "p" not in found:
            line = re.sub(r"  .*$", "", line.partition(":")[2])
        out.append(bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", line)))
    streams.out.write(decode(b"".join(out)))
    return 0


def _printable(data):
    return "".join([chr(byte) if 32 <= byte < 127 else "." for byte in data])


def _rows(data, streams, whole):
    """Yields places and rows of 16 bytes. Unless `whole`, rows that repeat the one before are written as one `*`."""
    before, starred = None, False
    for at in range(0, len(data), 16):
        line = data[at : at + 16]
        if line == before and not whole and len(line) == 16:
            if not starred:
                streams.out.write("*\n")
            starred = True
            continue
        before, starred = line, False
        yield at, line


def hexdump(arguments, streams):
    """hexdump [-C] [-v] [-n LENGTH] [-s START] [file...]: bytes in hexadecimal"""
    found, paths = options.parse(arguments, flags="Cvx", values="ns")
    data = b"".join([_read(path, streams) for path in paths or ["-"]])
    start, data = _limited(data, found)
    for at, line in _rows(data, streams, whole="v" in found):
        if "C" in found:
            halves = [" ".join([f"{byte:02x}" for byte in half]) for half in (line[:8], line[8:])]
            streams.out.write(f"{start + at:08x}  {halves[0]:<23}  {halves[1]:<23}  |{_printable(line)}|\n")
        else:
            words = [f"{int.from_bytes(line[index : index + 2], 'little'):04x}" for index in range(0, len(line), 2)]
            streams.out.write(
                f"{start + at:07x} {' '.join(words):<39}".rstrip(" ")
                + " " * (40 - len(" ".join(words)) - 1 if len(words) < 8 else 0)
                + "\n"
            )
    if data:
        streams.out.write(f"{start + len(data):0{8 if 'C' in found else 7}x}\n")
    return 0


_NAMES = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


def od(arguments, streams):
    """od [-A d|o|x|n] [-t x1|o1|d1|u1|c|a...] [-c] [-b] [-x] [-v] [-j SKIP] [-N LENGTH] [file...]: bytes as numbers"""
    found, paths = options.parse(
        arguments,
        flags="cbxdov",
        values="AtjNw",
        long={"address-radix": "A", "format": "t", "skip-bytes": "j", "read-bytes": "N"},
    )
    data = b"".join([_read(path, streams) for path in paths or ["-"]])
    start, data = _limited(data, found, "j", "N")
    kind = found.get("t") or next(
        (form for letter, form in (("c", "c"), ("b", "o1"), ("x", "x2"), ("d", "u2")) if letter in found), "o2"
    )
    match = re.fullmatch(r"([xoduca])(\d?)", kind)
    if match is None:
        raise Refused(f"-t {kind} is not supported here", 1)
    letter, size = match.group(1), int(match.group(2) or (1 if match.group(1) in "ca" else 4))
    if size not in (1, 2, 4, 8) or letter == "a":
        raise Refused(f"-t {kind} is not supported here", 1)
    width = {("x", 1): 2, ("x", 2): 4, ("x", 4): 8, ("x", 8): 16, ("o", 1): 3, ("o", 2): 6, ("o", 4): 11, ("u", 1): 3,
             ("u", 2): 5, ("u", 4): 10, ("d", 1): 4, ("d", 2): 6, ("d", 4): 11,
             ("c", 1): 3}.get((letter, size), 22)  # fmt: skip
    radix = found.get("A", "o")
    if radix not in "doxn":
        raise Refused(f"invalid output address radix '{radix}'", 1)

    def address(at):
        return "" if radix == "n" else f"{start + at:0{6 if radix == 'x' else 7}{radix}}"

    def shown(piece):
        value = int.from_bytes(piece, "little", signed=letter == "d")
        if letter == "c":
            return _NAMES.get(value, chr(value) if 32 <= value < 127 else f"{value:03o}")
        return f"{value:0{width}x}" if letter == "x" else f"{value:0{width}o}" if letter == "o" else str(value)

    for at, line in _rows(data, streams, whole="v" in found):
        cells = [
            f" {shown(line[index : index + size].ljust(size, bytes(1))):>{width}}"
            for index in range(0, len(line), size)
        ]
        streams.out.write(address(at) + "".join(cells) + "\n")
    if radix != "n":
        streams.out.write(address(len(data)) + "\n")
    return 0
