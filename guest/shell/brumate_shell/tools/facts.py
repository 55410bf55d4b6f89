"""What files are: `stat`, `file`, `readlink`, `realpath`, `ln`, `chmod`, `mktemp`, `tree`."""

import os
import re
import stat as modes

from brumate_shell import options
from brumate_shell.streams import Refused, decode

from .files import attempt

# Lines of one `tree`.
MAX_ENTRIES = 100_000


def stat(arguments, streams):
    """stat [-L] [-c FORMAT] file...: facts about files"""
    from brumate_shell.find.formats import stat_formatted

    words = ["-c" + word.partition("=")[2] if word.startswith("--format=") else word for word in arguments]
    found, paths = options.parse(
        words, flags="Lt", values="cp", long={"dereference": "L", "format": "c", "printf": "p"}
    )
    if not paths:
        raise Refused("say which file", 1)
    if "p" in found:
        from brumate_shell.bash.echoes import unescape

        form, end = unescape(found["p"]), ""
    else:
        form, end = found.get("c"), "\n"
    if form is None:
        form = (
            "  File: %N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: 0,0\tInode: %-11i Links: %h\n"
            "Access: (%4a/%A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\nAccess: %x\nModify: %y\nChange: %z\n Birth: -"
        )

    def show(path):
        information = os.stat(path) if "L" in found else os.lstat(path)
        streams.out.write(stat_formatted(form, path, information) + end)

    status = 0
    for path in paths:
        try:
            show(path)
        except OSError as error:
            streams.err.write(f"stat: cannot statx '{path}': {error.strerror}\n")
            status = 1
    return status


_MAGIC = [
    (b"\x89PNG\r\n\x1a\n", "PNG image data", "image/png"), (b"\xff\xd8\xff", "JPEG image data", "image/jpeg"),
    (b"GIF8", "GIF image data", "image/gif"), (b"%PDF-", "PDF document", "application/pdf"),
    (b"PK\x03\x04", "Zip archive data", "application/zip"), (b"\x1f\x8b", "gzip compressed data", "application/gzip"),
    (b"BZh", "bzip2 compressed data", "application/x-bzip2"), (b"\xfd7zXZ\0", "XZ compressed data", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard compressed data", "application/zstd"),
    (b"SQLite format 3\0", "SQLite 3.x database", "application/vnd.sqlite3"),
    (b"\0asm", "WebAssembly (wasm) binary module", "application/wasm"), (b"\x7fELF", "ELF", "application/x-executable"),
    (b"PAR1", "Apache Parquet", "application/vnd.apache.parquet"), (b"RIFF", "RIFF data", "application/octet-stream"),
]  # fmt: skip


def file(arguments, streams):
    """file [-b] [--mime-type] file...: a guess at what files are, by their first bytes"""
    found, paths = options.parse(arguments, flags="biL", long={"brief": "b", "mime-type": "m", "mime": "i"})
    if not paths:
        raise Refused("say which file", 1)
    width = max([len(path) for path in paths]) + 1
    for path in paths:
        said = _guess(path, "m" in found or "i" in found)
        streams.out.write(said + "\n" if "b" in found else f"{path + ':':<{width}} {said}\n")


def _guess(path, mime):
    try:
        information = os.lstat(path)
        mode = information.st_mode
        if modes.S_ISLNK(mode):
            return "inode/symlink" if mime else f"symbolic link to {os.readlink(path)}"
        if modes.S_ISDIR(mode):
            return "inode/directory" if mime else "directory"
        with open(path, "rb") as opened:
            data = opened.read(1 << 16)
    except OSError as error:
        return f"cannot open `{path}' ({error.strerror})"
    if not data:
        return "inode/x-empty" if mime else "empty"
    for magic, said, kind in _MAGIC:
        if data.startswith(magic):
            return kind if mime else said
    if data[257:262] == b"ustar":
        return "application/x-tar" if mime else "POSIX tar archive"
    if b"\0" in data:
        return "application/octet-stream" if mime else "data"
    return _guess_text(data, mime)


def _guess_text(data, mime):
    try:
        text = data.decode()
        coding = "ASCII" if text.isascii() else "Unicode text, UTF-8"
    except UnicodeDecodeError:
        text, coding = decode(data), "ISO-8859"
    ends = ", with CRLF line terminators" if "\r\n" in text else "" if "\n" in text else ", with no line terminators"
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        script = (
            "Python"
            if "python" in first
            else "Bourne-Again shell"
            if "bash" in first
            else "POSIX shell"
            if first.endswith("sh")
            else None
        )
        if script:
            return (
                f"text/x-{'script.python' if script == 'Python' else 'shellscript'}"
                if mime
                else f"{script} script, {coding} text executable"
            )
    if re.match(r"\s*[{\[]", text):
        import json

        try:
            json.loads(text)
            return "application/json" if mime else "JSON text data"
        except ValueError:
            pass
    if re.match(r"\s*<\?xml", text):
        return "text/xml" if mime else f"XML 1.0 document, {coding} text{ends}"
    if re.match(r"\s*<(!doctype html|html)", text, re.IGNORECASE):
        return "text/html" if mime else f"HTML document, {coding} text{ends}"
    rows = [line.count(",") for line in text.splitlines()[:10]]
    if len(rows) > 1 and rows[0] and len(set(rows)) == 1:
        return "text/csv" if mime else f"CSV {coding} text{ends}" if coding != "ASCII" else f"CSV text{ends}"
    return "text/plain" if mime else f"{coding} text{ends}"


def readlink(arguments, streams):
    """readlink [-femn] path...: where links lead"""
    found, paths = options.parse(arguments, flags="femnqsvz", long={"canonicalize": "f"})
    status = 0
    for path in paths:
        if set(found) & set("fem"):
            real = os.path.realpath(path)
            missing = real if "e" in found else os.path.dirname(real) if "f" in found else "/"
            if not os.path.exists(missing):
                status = 1
                continue
        elif os.path.islink(path):
            real = os.readlink(path)
        else:
            status = 1
            continue
        streams.out.write(real + ("" if "n" in found else "\n"))
    return status


def realpath(arguments, streams):
    """realpath [-ems] [--relative-to=DIRECTORY] path...: whole paths, without links"""
    found, paths = options.parse(
        arguments, flags="emsqz", values="R",
        long={"relative-to": "R", "no-symlinks": "s", "strip": "s", "canonicalize-existing": "e",
              "canonicalize-missing": "m"},
    )  # fmt: skip
    status = 0
    for path in paths:
        real = os.path.abspath(path) if "s" in found else os.path.realpath(path)
        needed = real if "e" in found else os.path.dirname(real)
        if "m" not in found and not os.path.exists(needed):
            streams.err.write(f"realpath: {path}: No such file or directory\n")
            status = 1
            continue
        streams.out.write((os.path.relpath(real, os.path.realpath(found["R"])) if "R" in found else real) + "\n")
    return status


def ln(arguments, streams):
    """ln [-sfnrv] target [name]: links"""
    found, paths = options.parse(
        arguments, flags="sfnrvT", values="t", long={"symbolic": "s", "force": "f", "relative": "r"}
    )
    if not paths:
        raise Refused("say which file", 1)
    if len(paths) == 1 and "t" not in found:
        paths.append(".")
    *targets, place = [*paths, found["t"]] if "t" in found else paths
    into = os.path.isdir(place) and not ("n" in found and os.path.islink(place)) and "T" not in found

    def make(target):
        name = os.path.join(place, os.path.basename(target.rstrip("/"))) if into else place
        if "f" in found and os.path.lexists(name):
            os.remove(name)
        if "s" in found:
            os.symlink(os.path.relpath(target, os.path.dirname(name) or ".") if "r" in found else target, name)
        else:
            os.link(target, name)

    return attempt(targets, streams, "ln", make)


_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=][rwxXst]*)+)")
_WHO = {"u": 0o700, "g": 0o070, "o": 0o007}
_BITS = {"r": 0o444, "w": 0o222, "x": 0o111}


def chmod(arguments, streams):
    """chmod [-R] MODE file...: permissions, as a number or as in u+x,go-w"""
    words = [argument for argument in arguments if not re.fullmatch(r"-[rwxXst]+", argument)]
    loose = [argument for argument in arguments if re.fullmatch(r"-[rwxXst]+", argument)]
    found, operands = options.parse(words, flags="Rvfc", long={"recursive": "R"})
    operands = loose + operands
    if len(operands) < 2:
        raise Refused("a mode and a file are needed", 1)
    mode, *paths = operands

    def change(path):
        os.chmod(path, new_mode(mode, os.stat(path).st_mode))
        if "R" in found and os.path.isdir(path):
            for base, directories, names in os.walk(path):
                for name in (*directories, *names):
                    inner = os.path.join(base, name)
                    if not os.path.islink(inner):
                        os.chmod(inner, new_mode(mode, os.stat(inner).st_mode))

    return attempt(paths, streams, "chmod", change)


def new_mode(text, before):
    """What a mode makes of the permissions there are."""
    if re.fullmatch(r"[0-7]{1,4}", text):
        return int(text, 8)
    mode = modes.S_IMODE(before)
    for clause in text.split(","):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            raise Refused(f"invalid mode: '{text}'", 1)
        who = match.group(1) or "a"
        mask = 0o777 if "a" in who else sum([_WHO[letter] for letter in set(who)])
        for sign, letters in re.findall(r"([-+=])([rwxXst]*)", match.group(2)):
            bits = 0
            for letter in letters:
                if letter == "X":
                    bits |= 0o111 if modes.S_ISDIR(before) or mode & 0o111 else 0
                else:
                    bits |= _BITS.get(letter, 0)
            bits &= mask
            mode = mode | bits if sign == "+" else mode & ~bits if sign == "-" else (mode & ~mask) | bits
    return mode


def mktemp(arguments, streams):
    """mktemp [-d] [-u] [-p DIRECTORY] [-t] [TEMPLATE]: a new file or directory with a name of its own"""
    import tempfile

    found, templates = options.parse(
        arguments, flags="dutq", values="pS", long={"directory": "d", "dry-run": "u", "tmpdir": "p", "suffix": "S"}
    )
    template = templates[0] if templates else None
    place = found.get("p") or (tempfile.gettempdir() if template is None or "t" in found else "")
    match = re.fullmatch(r"(.*?)(X{3,})([^X]*)", template or "tmp.XXXXXXXXXX", re.DOTALL)
    if match is None:
        raise Refused(f"too few X's in template '{template}'", 1)
    import random

    for _ in range(100):
        letters = "".join(
            random.SystemRandom().choices(
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=len(match.group(2))
            )
        )
        path = os.path.join(place, match.group(1) + letters + match.group(3) + found.get("S", ""))
        if os.path.lexists(path):
            continue
        if "u" not in found:
            if "d" in found:
                os.mkdir(path, 0o700)
            else:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        streams.out.write(path + "\n")
        return 0
    raise Refused("no free name was found")


def tree(arguments, streams):
    """tree [-adf] [-L DEPTH] [-I PATTERN] [-P PATTERN] [--noreport] [directory...]: what is below, as a tree"""
    from brumate_shell.patterns import matches

    found, paths = options.parse(arguments, flags="adfiFnC", values="LIP", long={"noreport": "N", "dirsfirst": "D"})
    deepest = options.number(found["L"]) if "L" in found else 1 << 30
    counts = {"directories": 0, "files": 0}
    shown = 0

    def wanted(path, name):
        is_directory = os.path.isdir(path)
        if (name[:1] == "." and "a" not in found) or ("d" in found and not is_directory):
            return False
        if "I" in found and any([matches(name, one) for one in found["I"].split("|")]):
            return False
        return "P" not in found or is_directory or any([matches(name, one) for one in found["P"].split("|")])

    def below(directory, head, level):
        nonlocal shown
        if level > deepest:
            return
        names = [name for name in sorted(os.listdir(directory)) if wanted(os.path.join(directory, name), name)]
        if "D" in found:
            names.sort(key=lambda name: not os.path.isdir(os.path.join(directory, name)))
        for number, name in enumerate(names):
            path = os.path.join(directory, name)
            is_last, is_link = number == len(names) - 1, os.path.islink(path)
            is_directory = os.path.isdir(path)
            shown += 1
            if shown > MAX_ENTRIES:
                raise Refused(f"more than {MAX_ENTRIES:,} entries; use -L")
            counts["directories" if is_directory else "files"] += 1
            label = path if "f" in found else name
            label += "/" if "F" in found and is_directory else ""
            label += f" -> {os.readlink(path)}" if is_link else ""
            streams.out.write(("" if "i" in found else head + ("└── " if is_last else "├── ")) + label + "\n")
            if is_directory and not is_link:
                below(path, head + ("    " if is_last else "│\xa0\xa0 "), level + 1)

    status = 0
    for path in paths or ["."]:
        if not os.path.isdir(path):
            streams.out.write(f"{path}  [error opening dir]\n")
            status = 2
            continue
        streams.out.write(path + ("/" if "F" in found and path != "." else "") + "\n")
        counts["directories"] += 1
        below(path, "", 1)
    if "N" not in found:
        directories, files = counts["directories"], counts["files"]
        report = f"{directories} director{'y' if directories == 1 else 'ies'}"
        if "d" not in found:
            report += f", {files} file{'' if files == 1 else 's'}"
        streams.out.write(f"\n{report}\n")
    return status
