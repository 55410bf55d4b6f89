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

from canonical import canonical

#: Modification time of every archive member: the zip format has no time zone and starts in 1980.
EPOCH = (1980, 1, 1, 0, 0, 0)

#: Where the engine puts what wheels contain.
SITE_PACKAGES = "/lib/python3.14/site-packages"


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
