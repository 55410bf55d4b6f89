"""Deterministic .pyc files (PEP 552, unchecked hash) and deterministic zip archives.

Runs under the interpreter the bytecode is for, see pyodide-run.mjs.
"""

import importlib.util
import io
import marshal
import sys
import warnings
import zipfile
import zlib

#: Modification time of every archive member: the zip format has no time zone and starts in 1980.
EPOCH = (1980, 1, 1, 0, 0, 0)

#: Where the engine puts what wheels contain.
SITE_PACKAGES = "/lib/python3.14/site-packages"

_FLAG_REF = 0x80
_NO_PAYLOAD = frozenset(b"0NFTS.")
_FIXED = {ord("i"): 4, ord("g"): 8, ord("y"): 16}
_SIZED = frozenset(b"sutaA")  # 4-byte length, then that many bytes
_SHORT = frozenset(b"zZ")  # 1-byte length
_SEQUENCES = frozenset(b"([<>")  # 4-byte count, then that many objects


class _Walker:
    """Finds the reference flags and the back references of one marshal stream (format 5)."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pos = 0
        self.flagged: list[int] = []  # position of the type byte, by reference number
        self.references: list[int] = []  # position of the 4-byte number of each back reference

    def _u32(self) -> int:
        value = int.from_bytes(self.data[self.pos : self.pos + 4], "little", signed=True)
        self.pos += 4
        return value

    def _skip(self, count: int) -> None:
        self.pos += count

    def object(self) -> int:
        start = self.pos
        byte = self.data[start]
        self.pos += 1
        kind = byte & ~_FLAG_REF
        if byte & _FLAG_REF:
            self.flagged.append(start)
        if kind in _NO_PAYLOAD:
            pass
        elif kind in _FIXED:
            self.pos += _FIXED[kind]
        elif kind == ord("l"):
            self._skip(2 * abs(self._u32()))
        elif kind in _SIZED:
            self._skip(self._u32())
        elif kind in _SHORT:
            self.pos += 1 + self.data[self.pos]
        elif kind == ord("r"):
            self.references.append(self.pos)
            self.pos += 4
        elif kind == ord(")"):
            count = self.data[self.pos]
            self.pos += 1
            self.objects(count)
        elif kind in _SEQUENCES:
            self.objects(self._u32())
        elif kind == ord("{"):
            while self.object() != ord("0"):
                self.object()
        elif kind == ord(":"):
            self.objects(3)
        elif kind == ord("c"):
            self.pos += 20  # argcount, posonlyargcount, kwonlyargcount, stacksize, flags
            self.objects(8)  # code, consts, names, localsplus names and kinds, file, name, qualname
            self.pos += 4  # firstlineno
            self.objects(2)  # line table, exception table
        else:
            raise ValueError(f"unknown marshal type {kind:#x} at {start}")
        return kind

    def objects(self, count: int) -> None:
        for _ in range(count):
            self.object()


def canonical(data: bytes) -> bytes:
    """The same marshal stream with a reference flag only on what is referred to.

    CPython sets the flag on every object whose reference count is above one while it writes, which
    depends on what else the process holds: the one source of non-determinism in .pyc files.
    """
    walker = _Walker(data)
    walker.object()
    if walker.pos != len(data):
        raise ValueError("trailing bytes after the marshalled object")
    out = bytearray(data)
    numbers = [int.from_bytes(data[pos : pos + 4], "little") for pos in walker.references]
    used = sorted(set(numbers))
    for number in set(range(len(walker.flagged))).difference(used):
        out[walker.flagged[number]] &= ~_FLAG_REF
    renumbered = {old: new for new, old in enumerate(used)}
    for pos, number in zip(walker.references, numbers):
        out[pos : pos + 4] = renumbered[number].to_bytes(4, "little")
    return bytes(out)


def compile_pyc(source: bytes, filename: str) -> bytes:
    """Bytes of the .pyc for `source`, which tracebacks will call `filename`.

    The header's flags (1) mean: hash based, never checked against the source at import.
    Raises SyntaxError as compile() does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(source, filename, "exec", dont_inherit=True, optimize=0)
    body = canonical(marshal.dumps(code))
    if marshal.loads(body) != code:
        raise AssertionError(f"canonical form of {filename} differs")
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")
    return header + importlib.util.source_hash(source) + body


def pyc_name(name: str) -> str:
    """Where PEP 3147 puts the .pyc of the module file `name`."""
    head, _, tail = name.rpartition("/")
    stem = tail.removesuffix(".py")
    return f"{head}{'/' if head else ''}__pycache__/{stem}.{sys.implementation.cache_tag}.pyc"


def modules(names: list[str]) -> list[tuple[str, str]]:
    """The Python files of a wheel, each with its path below site-packages once installed."""
    found = []
    for member in names:
        name = member
        top, _, rest = member.partition("/")
        if top.endswith(".data"):
            scheme, _, name = rest.partition("/")
            if scheme not in ("purelib", "platlib"):
                continue
        if name.endswith(".py") and not top.endswith(".dist-info"):
            found.append((member, name))
    return found


def write_zip(path: str, members: dict[str, bytes], stored_suffix: str | None = None) -> int:
    """Writes `members`, sorted by name, as a zip with fixed times and modes; returns its size.

    A member is deflated when that makes it smaller, unless its name ends in `stored_suffix`.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(members):
            add_member(archive, name, members[name], stored=name.endswith(stored_suffix or "\0"))
    with open(path, "wb") as file:
        file.write(buffer.getvalue())
    return buffer.tell()


def add_member(archive: zipfile.ZipFile, name: str, data: bytes, stored: bool = False) -> None:
    """Appends one member; extension modules get their x bits, as an installer would set them."""
    info = zipfile.ZipInfo(name, EPOCH)
    info.create_system = 3  # Unix: external_attr holds the mode
    info.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
    if not stored and len(zlib.compress(data, 9, wbits=-15)) < len(data):
        info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data, compresslevel=9)
