"""`zip` and `unzip`. Members stay below the directory they are unpacked into."""

import os
import time

from brumate_shell import options, patterns
from brumate_shell.streams import Refused, decode

from .archives import MAX_MEMBERS


def unzip(arguments, streams):
    """unzip [-lqonpj] archive [member...] [-x member...] [-d directory]: unpacks a zip archive, or lists it"""
    import zipfile

    words, excluded = list(arguments), []
    if "-x" in words:
        at = words.index("-x")
        rest = words[at + 1 :]
        end = next((number for number, word in enumerate(rest) if word == "-d"), len(rest))
        excluded, words = rest[:end], words[:at] + rest[end:]
    found, operands = options.parse(words, flags="lqonvpjtZ1", values="dP")
    if not operands:
        raise Refused("say which archive", 10)
    if "P" in found:
        raise Refused("-P: passwords are not supported here", 5)
    name = operands[0]
    if not os.path.exists(name) and os.path.exists(name + ".zip"):
        name += ".zip"
    if not os.path.exists(name):
        raise Refused(f"cannot find or open {operands[0]}", 9)
    try:
        with zipfile.ZipFile(name) as archive:
            return _Unzip(archive, found, operands[1:], excluded, name, streams).run()
    except (zipfile.BadZipFile, KeyError, RuntimeError, NotImplementedError) as error:
        raise Refused(str(error), 3 if not isinstance(error, KeyError) else 11) from None


class _Unzip:
    def __init__(self, archive, found, wanted, excluded, name, streams):
        self.archive = archive
        self.found = found
        self.wanted = wanted
        self.excluded = excluded
        self.name = name
        self.streams = streams
        self.place = found.get("d", "")

    def members(self):
        for member in self.archive.infolist():
            if self.wanted and not any([patterns.matches(member.filename, one) for one in self.wanted]):
                continue
            if not any([patterns.matches(member.filename, one) for one in self.excluded]):
                yield member

    def run(self):
        found, members = self.found, list(self.members())
        if len(members) > MAX_MEMBERS:
            raise Refused("the archive has too many members", 3)
        if self.wanted and not members:
            self.streams.err.write(f"caution: filename not matched:  {self.wanted[0]}\n")
            return 11
        if "l" in found or "v" in found:
            return self.list(members)
        if "Z" in found or "1" in found:
            self.streams.out.write("".join([member.filename + "\n" for member in members]))
            return 0
        if "q" not in found and "p" not in found:
            self.streams.out.write(f"Archive:  {self.name}\n")
        for member in members:
            if "t" in found or "p" in found:
                data = self.archive.read(member)
                if "p" in found:
                    self.streams.out.write(decode(data))
            else:
                self.extract(member)
        return 0

    def list(self, members):
        write = self.streams.out.write
        write(f"Archive:  {self.name}\n  Length      Date    Time    Name\n---------  ---------- -----   ----\n")
        for member in members:
            year, month, day, hour, minute, _ = member.date_time
            write(f"{member.file_size:9}  {year}-{month:02}-{day:02} {hour:02}:{minute:02}   {member.filename}\n")
        total = sum([member.file_size for member in members])
        files = f"{len(members)} file{'' if len(members) == 1 else 's'}"
        write(f"---------                     -------\n{total:9}                     {files}\n")
        return 0

    def extract(self, member):
        inside = member.filename
        if "j" in self.found:
            if member.is_dir():
                return
            inside = os.path.basename(inside)
        parts = [part for part in inside.split("/") if part not in ("", ".")]
        if ".." in parts or inside.startswith("/"):
            raise Refused(f"{member.filename}: it is outside of the directory", 2)
        target = os.path.join(self.place, *parts) if parts else self.place
        if member.is_dir():
            if not os.path.isdir(target):
                os.makedirs(target, exist_ok=True)
                if "q" not in self.found:
                    self.streams.out.write(f"   creating: {target}/\n")
            return
        if os.path.realpath(target) != os.path.join(os.path.realpath(self.place or "."), *parts):
            raise Refused(f"{member.filename}: it is outside of the directory", 2)
        if os.path.lexists(target) and "o" not in self.found:
            if "n" in self.found:
                return
            raise Refused(f"{target} is there already; use -o to replace it, or -n to keep it", 1)
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        data = self.archive.read(member)
        with open(target, "wb") as file:
            file.write(data)
        mode = member.external_attr >> 16 & 0o777
        if mode:
            os.chmod(target, mode)
        when = time.mktime((*member.date_time, 0, 0, -1))
        os.utime(target, (when, when))
        if "q" not in self.found:
            verb = "extracting" if member.compress_type == 0 else "inflating"
            self.streams.out.write(f"{verb:>11}: {target}  \n")


def zip_(arguments, streams):
    """zip [-rqj0..9] archive path... [-x pattern...]: packs into a zip archive"""
    import zipfile

    words, excluded = list(arguments), []
    if "-x" in words:
        at = words.index("-x")
        words, excluded = words[:at], words[at + 1 :]
    found, operands = options.parse(words, flags="rqjum0123456789", long={"recurse-paths": "r", "quiet": "q"})
    if len(operands) < 2:
        raise Refused("an archive and files are needed", 12)
    name = operands[0]
    if name != "-" and not os.path.splitext(name)[1]:
        name += ".zip"
    paths, status = [], 0
    for path in operands[1:]:
        if not os.path.lexists(path):
            streams.err.write(f"zip warning: name not matched: {path}\n")
            status = 12
            continue
        path = path.removeprefix("./") if path not in (".", "./") else path
        paths.append(path)
        if "r" in found and os.path.isdir(path):
            for base, directories, files in os.walk(path):
                directories.sort()
                base = base.removeprefix("./") if base != "." else ""
                paths += [os.path.join(base, one) for one in sorted([*directories, *files])]
    level = next((int(digit) for digit in "0123456789" if digit in found), 6)
    packed = 0
    with zipfile.ZipFile(
        name,
        "a" if os.path.exists(name) else "w",
        zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED,
        compresslevel=level,
    ) as archive:
        there = set(archive.namelist())
        for path in dict.fromkeys(paths):
            is_directory = os.path.isdir(path)
            inside = os.path.basename(path) if "j" in found else path.lstrip("/")
            inside += "/" if is_directory and not inside.endswith("/") else ""
            if (is_directory and ("j" in found or path in (".", "./"))) or os.path.realpath(path) == os.path.realpath(
                name
            ):
                continue
            if any([patterns.matches(inside, one) for one in excluded]):
                continue
            if inside in there:
                raise Refused(
                    f"{inside} is in {name} already: members are not replaced here; remove the archive first", 1
                )
            archive.write(path, inside)
            packed += 1
            if "q" not in found:
                information = archive.infolist()[-1]
                saved = 100 - 100 * information.compress_size // information.file_size if information.file_size else 0
                how = f"(deflated {saved}%)" if information.file_size and saved > 0 else "(stored 0%)"
                streams.out.write(f"  adding: {inside} {how}\n")
    if not packed and not there:
        os.remove(name)
        raise Refused("Nothing to do!", 12)
    return 0 if packed else status
