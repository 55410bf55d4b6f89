"""`tar`. Members stay below the directory they are unpacked into."""

import io
import os
import time

from brumate_shell import options, patterns
from brumate_shell.streams import Refused, decode

# Members of one archive.
MAX_MEMBERS = 200_000


_TAR_LONG = {
    "create": "c", "extract": "x", "get": "x", "list": "t", "gzip": "z", "bzip2": "j", "xz": "J", "verbose": "v",
    "file": "f", "directory": "C", "exclude": "X", "strip-components": "S", "to-stdout": "O", "append": "r",
    "auto-compress": "a", "keep-old-files": "k", "dereference": "h", "zstd": "Z", "no-same-owner": "", "overwrite": "",
    "preserve-permissions": "p", "same-permissions": "p", "numeric-owner": "", "wildcards": "", "no-recursion": "N",
    "files-from": "T", "transform": "Y",
}  # fmt: skip


def tar(arguments, streams):
    """tar c|x|t|r [zjJavkOh] f archive [-C directory] [--exclude=PATTERN] [--strip-components=N] [path...]"""
    import tarfile

    if arguments and arguments[0][:1] != "-":
        # `tar xzf archive`: values come behind all letters, in turn.
        letters, rest = arguments[0], list(arguments[1:])
        words = (
            ["-" + "".join([letter for letter in letters if letter not in "fCXT"])]
            if set(letters) - set("fCXT")
            else []
        )
        for letter in letters:
            if letter in "fCXT" and rest:
                words += ["-" + letter, rest.pop(0)]
        arguments = words + rest
    excluded, words = [], []
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        if word == "--exclude" and queue:
            excluded.append(queue.pop(0))
        elif word.startswith("--exclude="):
            excluded.append(word.partition("=")[2])
        else:
            words.append(word)
    words, steps = _with_directories(words)
    found, operands = options.parse(words, flags="cxtzjJvprakOhZN", values="fSTY", long=_TAR_LONG)
    for letter in "TY":
        if letter in found:
            raise Refused("--files-from and --transform are not supported here", 2)
    modes = [letter for letter in "cxtr" if letter in found]
    if len(modes) != 1:
        raise Refused("one of c, x, t and r is needed", 2)
    job = _Tar(found, excluded, steps, streams)
    try:
        if modes[0] in "cr":
            return job.create(operands, modes[0] == "r")
        return job.read(operands, modes[0] == "x")
    except tarfile.CompressionError as error:
        raise Refused(f"this Python has no such compression: {error}", 2) from None
    except (tarfile.TarError, KeyError, ValueError, EOFError) as error:
        raise Refused(str(error), 2) from None
    except OSError as error:
        raise Refused(f"{error.filename or job.name}: {error.strerror or error}", 2) from None


def _with_directories(words):
    """Words without `-C directory`; and for each operand the directory that it is in."""
    out, steps, place, queue = [], [], "", list(words)
    while queue:
        word = queue.pop(0)
        if word in ("-C", "--directory") and queue:
            place = os.path.join(place, queue.pop(0))
        elif word.startswith("--directory="):
            place = os.path.join(place, word.partition("=")[2])
        elif word[:2] == "-C":
            place = os.path.join(place, word[2:])
        else:
            out.append(word)
            if word in ("-f", "--file") or (
                word[:1] == "-" and word[1:2] != "-" and word.endswith("f") and len(word) > 1
            ):
                out += queue[:1]
                queue = queue[1:]
            elif word[:1] != "-":
                steps.append(place)
    return out, (steps, place)


class _Tar:
    def __init__(self, found, excluded, steps, streams):
        self.found = found
        self.excluded = excluded
        self.steps, self.place = steps
        self.streams = streams
        self.name = found.get("f", "-")

    def compression(self):
        for letter, kind in (("z", "gz"), ("j", "bz2"), ("J", "xz"), ("Z", "zst")):
            if letter in self.found:
                return kind
        if "a" in self.found:
            for end, kind in (("gz", "gz"), ("tgz", "gz"), ("bz2", "bz2"), ("xz", "xz"), ("zst", "zst")):
                if self.name.endswith("." + end):
                    return kind
        return ""

    def is_excluded(self, path):
        parts = path.split("/")
        for pattern in self.excluded:
            if patterns.matches(path, pattern) or any(
                [patterns.matches("/".join(parts[at:]), pattern) for at in range(len(parts))]
            ):
                return True
            if any([patterns.matches("/".join(parts[:at]), pattern.rstrip("/")) for at in range(1, len(parts) + 1)]):
                return True
        return False

    def create(self, paths, appends):
        import tarfile

        if not paths:
            raise Refused("Cowardly refusing to create an empty archive", 2)
        status = 0
        buffer = io.BytesIO() if self.name == "-" else None
        mode = "a:" if appends else f"w:{self.compression()}"
        with tarfile.open(
            self.name if buffer is None else None, mode, fileobj=buffer, format=tarfile.GNU_FORMAT
        ) as archive:
            for path, place in zip(paths, self.steps, strict=False):
                full = os.path.join(place, path)
                if not os.path.lexists(full):
                    self.streams.err.write(f"tar: {path}: Cannot stat: No such file or directory\n")
                    status = 2
                    continue
                self.add(archive, full, path)
        if buffer is not None:
            self.streams.out.write(decode(buffer.getvalue()))
        return status

    def add(self, archive, full, path):
        if self.is_excluded(path):
            return
        if os.path.exists(self.name) and os.path.realpath(full) == os.path.realpath(self.name):
            return
        archive.dereference = "h" in self.found
        information = archive.gettarinfo(full, path.lstrip("/"))
        if information is None:
            return
        # The name that is given may end in a slash, or begin with `./`.
        information.name = path.lstrip("/").rstrip("/") or "."
        if "v" in self.found:
            target = self.streams.err if self.name == "-" else self.streams.out
            target.write(information.name + ("/" if information.isdir() else "") + "\n")
        if information.isreg():
            with open(full, "rb") as file:
                archive.addfile(information, file)
        else:
            archive.addfile(information)
        if information.isdir() and "N" not in self.found:
            for name in sorted(os.listdir(full)):
                self.add(archive, os.path.join(full, name), f"{path.rstrip('/')}/{name}")

    def read(self, wanted, extracts):
        import tarfile

        source = io.BytesIO(self.streams.input.read()) if self.name == "-" else None
        wanted = [one.rstrip("/") for one in wanted]
        missing = set(wanted)
        strip = options.number(self.found.get("S", "0"))
        with tarfile.open(self.name if source is None else None, "r:*", fileobj=source) as archive:
            members = []
            for member in archive:
                if len(members) > MAX_MEMBERS:
                    raise Refused("the archive has too many members", 2)
                hits = [
                    one
                    for one in wanted
                    if member.name == one or member.name.startswith(one + "/") or patterns.matches(member.name, one)
                ]
                missing.difference_update(hits)
                if (wanted and not hits) or self.is_excluded(member.name):
                    continue
                members.append(member)
                self.one(archive, member, extracts, strip)
        for one in sorted(missing):
            self.streams.err.write(f"tar: {one}: Not found in archive\n")
        return 2 if missing else 0

    def one(self, archive, member, extracts, strip):
        shown = member.name + ("/" if member.isdir() else "")
        if not extracts:
            self.streams.out.write(_long(member, shown) if "v" in self.found else shown + "\n")
            return
        if "O" in self.found:
            file = archive.extractfile(member)
            if file is not None:
                self.streams.out.write(decode(file.read()))
            return
        if strip:
            rest = member.name.split("/")[strip:]
            if not rest or not any(rest):
                return
            member = member.replace(name="/".join(rest), deep=False)
        place = self.place or "."
        if "k" in self.found and os.path.lexists(os.path.join(place, member.name)) and not member.isdir():
            raise Refused(f"{member.name}: Cannot open: File exists", 2)
        archive.extract(member, place, filter="data")
        if "v" in self.found:
            self.streams.out.write(shown + "\n")


def _long(member, shown):
    import stat

    letter = "d" if member.isdir() else "l" if member.issym() else "-"
    mode = letter + stat.filemode(member.mode)[1:]
    owner = f"{member.uname or member.uid}/{member.gname or member.gid}"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(member.mtime))
    size = f"{member.size:>{max(19 - len(owner) - 1, len(str(member.size)))}}"
    return f"{mode} {owner} {size} {when} {shown}{f' -> {member.linkname}' if member.issym() else ''}\n"
