"""`gzip`, `bzip2`, `xz` and what unpacks them."""

import os

from brumate_shell import options
from brumate_shell.lines import opened
from brumate_shell.streams import Refused, decode

from .files import attempt

# Bytes that a file may have once it is unpacked.
MAX_UNPACKED = 1 << 30
_BLOCK = 1 << 20
_ENDS = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz"}


def _codec(name):
    if name == "gzip":
        import gzip as module
    elif name == "bzip2":
        import bz2 as module
    else:
        import lzma as module
    return module


def unpacked(name, file, limit=MAX_UNPACKED):
    """All that a compressed file has, up to a limit."""
    import zlib

    parts, size = [], 0
    errors = (
        (OSError, EOFError, zlib.error, ValueError) if name != "xz" else (OSError, EOFError, _codec("xz").LZMAError)
    )
    try:
        with _codec(name).open(file, "rb") as source:
            while block := source.read(_BLOCK):
                parts.append(block)
                size += len(block)
                if size > limit:
                    raise Refused("what is packed is too large", 1)
    except errors as error:
        raise Refused(f"not in {name} format: {error}", 1) from None
    return b"".join(parts)


def _packed(name, data, level):
    module = _codec(name)
    if name == "gzip":
        return module.compress(data, level, mtime=0)
    return module.compress(data, level) if name == "bzip2" else module.compress(data, preset=level)


def _run(name, arguments, streams, unpack=False, to_output=False):
    found, paths = options.parse(
        arguments, flags="cdfknqtvlr123456789", values="S",
        long={"stdout": "c", "to-stdout": "c", "decompress": "d", "uncompress": "d", "force": "f", "keep": "k",
              "fast": "1", "best": "9", "test": "t"},
    )  # fmt: skip
    if "l" in found or "r" in found:
        raise Refused("-l and -r are not supported here", 1)
    unpack = unpack or "d" in found or "t" in found
    level = next((int(digit) for digit in "123456789" if digit in found), 6)
    end = _ENDS[name]

    def one(path):
        if path == "-" or "c" in found or to_output or "t" in found:
            with opened(path, streams) as file:
                data = unpacked(name, file) if unpack else _packed(name, file.read(), level)
            if "t" not in found:
                streams.out.write(decode(data))
            return
        if os.path.isdir(path):
            raise IsADirectoryError(21, "is a directory -- ignored", path)
        if unpack:
            target = path.removesuffix(end)
            if path.endswith(".tgz"):
                target = path[:-4] + ".tar"
            if target == path:
                raise Refused(f"{path}: unknown suffix -- ignored", 2)
        else:
            if path.endswith(end) and "f" not in found:
                raise Refused(f"{path} already has {end} suffix -- unchanged", 2)
            target = path + end
        if os.path.exists(target) and "f" not in found:
            raise Refused(f"{target} already exists; not overwritten (use -f)", 2)
        with open(path, "rb") as file:
            data = unpacked(name, file) if unpack else _packed(name, file.read(), level)
        with open(target, "wb") as file:
            file.write(data)
        if "k" not in found:
            os.remove(path)

    return attempt(paths or ["-"], streams, name, one)


def gzip(arguments, streams):
    """gzip [-cdfkt1..9] [file...]: packs files, with -d unpacks them"""
    return _run("gzip", arguments, streams)


def gunzip(arguments, streams):
    """gunzip [-cfk] [file...]: unpacks .gz files"""
    return _run("gzip", arguments, streams, unpack=True)


def zcat(arguments, streams):
    """zcat [file...]: what is in .gz files"""
    return _run("gzip", arguments, streams, unpack=True, to_output=True)


def bzip2(arguments, streams):
    """bzip2 [-cdfk1..9] [file...]: packs files, with -d unpacks them"""
    return _run("bzip2", arguments, streams)


def bunzip2(arguments, streams):
    """bunzip2 [-cfk] [file...]: unpacks .bz2 files"""
    return _run("bzip2", arguments, streams, unpack=True)


def xz(arguments, streams):
    """xz [-cdfk1..9] [file...]: packs files, with -d unpacks them"""
    return _run("xz", arguments, streams)


def unxz(arguments, streams):
    """unxz [-cfk] [file...]: unpacks .xz files"""
    return _run("xz", arguments, streams, unpack=True)


def zgrep(arguments, streams):
    """zgrep: refused"""
    raise Refused("not supported here: zcat FILE | grep PATTERN")
