"""`find -printf` and `stat -c`: facts about a file, by letters after a percent sign."""

import os
import re
import stat
import time

from brumate_shell.bash.echoes import unescape
from brumate_shell.streams import Refused

_FIND = re.compile(r"%(-?\d*)(?:([ACT])(.)|(.))")
_STAT = re.compile(r"%([-0]?\d*)(.)")


def owner(number):
    """The name of a user, or the number."""
    return os.environ.get("USER", "user") if number in (0, getattr(os, "getuid", int)()) else str(number)


def _kind(mode):
    for letter, test in (("f", stat.S_ISREG), ("d", stat.S_ISDIR), ("l", stat.S_ISLNK), ("p", stat.S_ISFIFO),
                         ("s", stat.S_ISSOCK), ("b", stat.S_ISBLK), ("c", stat.S_ISCHR)):  # fmt: skip
        if test(mode):
            return letter
    return "U"


def formatted(form, entry):
    """What `-printf` writes for one file."""
    information, path = entry.information, entry.path

    def one(found):
        width, clock, detail, letter = found.groups()
        if clock:
            seconds = {"A": information.st_atime, "C": information.st_ctime, "T": information.st_mtime}[clock]
            text = _time(seconds, detail)
        else:
            text = _fact(letter, path, information, entry)
        return f"%{width}s" % text

    # Escapes and directives do not mix: a percent sign is never part of an escape.
    pieces, at = [], 0
    for found in _FIND.finditer(form):
        pieces += [unescape(form[at : found.start()]), one(found)]
        at = found.end()
    return "".join(pieces) + unescape(form[at:])


def _time(seconds, detail):
    if detail == "@":
        return f"{seconds:.10f}"
    if detail == "+":
        return time.strftime("%Y-%m-%d+%H:%M:%S", time.localtime(seconds)) + f"{seconds % 1:.10f}"[1:]
    if detail == "S":
        return time.strftime("%S", time.localtime(seconds)) + f"{seconds % 1:.10f}"[1:]
    if detail == "T":
        return time.strftime("%H:%M:%S", time.localtime(seconds)) + f"{seconds % 1:.10f}"[1:]
    return time.strftime("%" + detail, time.localtime(seconds))


def _fact(letter, path, information, entry):
    if letter == "%":
        return "%"
    if letter == "p":
        return path
    if letter == "f":
        return os.path.basename(path.rstrip("/")) or "/"
    if letter == "h":
        return os.path.dirname(path) or "."
    if letter == "P":
        return path[len(entry.top) :].lstrip("/")
    if letter == "H":
        return entry.top
    if letter == "d":
        return str(entry.level)
    if letter == "l":
        return os.readlink(path) if stat.S_ISLNK(information.st_mode) else ""
    if letter in "yY":
        return _kind(information.st_mode)
    facts = {
        "s": lambda: information.st_size, "k": lambda: -(-getattr(information, "st_blocks", 0) // 2),
        "b": lambda: getattr(information, "st_blocks", 0), "m": lambda: f"{stat.S_IMODE(information.st_mode):o}",
        "M": lambda: stat.filemode(information.st_mode), "n": lambda: information.st_nlink,
        "i": lambda: information.st_ino, "u": lambda: owner(information.st_uid), "g": lambda: owner(information.st_gid),
        "U": lambda: information.st_uid, "G": lambda: information.st_gid,
        "t": lambda: time.ctime(information.st_mtime), "a": lambda: time.ctime(information.st_atime),
    }  # fmt: skip
    if letter not in facts:
        raise Refused(f"-printf %{letter} is not supported here", 1)
    return str(facts[letter]())


def stat_formatted(form, path, information):
    """What `stat -c` writes for one file."""
    mode = information.st_mode

    def name():
        return "symbolic link" if stat.S_ISLNK(mode) else "directory" if stat.S_ISDIR(mode) else (
            "regular empty file" if stat.S_ISREG(mode) and not information.st_size else "regular file"
        )  # fmt: skip

    def quoted():
        arrow = f" -> '{os.readlink(path)}'" if stat.S_ISLNK(mode) else ""
        return f"'{path}'{arrow}"

    facts = {
        "%": lambda: "%", "n": lambda: path, "N": quoted, "s": lambda: information.st_size,
        "a": lambda: f"{stat.S_IMODE(mode):o}", "A": lambda: stat.filemode(mode), "f": lambda: f"{mode:x}",
        "F": name, "h": lambda: information.st_nlink, "i": lambda: information.st_ino,
        "u": lambda: information.st_uid, "g": lambda: information.st_gid, "U": lambda: owner(information.st_uid),
        "G": lambda: owner(information.st_gid), "b": lambda: getattr(information, "st_blocks", 0), "B": lambda: 512,
        "Y": lambda: int(information.st_mtime), "X": lambda: int(information.st_atime),
        "Z": lambda: int(information.st_ctime), "y": lambda: long_time(information.st_mtime_ns),
        "x": lambda: long_time(information.st_atime_ns), "z": lambda: long_time(information.st_ctime_ns),
        "d": lambda: information.st_dev, "o": lambda: 4096,
    }  # fmt: skip

    def one(found):
        width, letter = found.groups()
        if letter not in facts:
            raise Refused(f"%{letter} is not supported here", 1)
        return f"%{width}s" % str(facts[letter]())

    return _STAT.sub(one, form)


def long_time(nanoseconds):
    seconds, rest = divmod(nanoseconds, 10**9)
    when = time.localtime(seconds)
    return time.strftime("%Y-%m-%d %H:%M:%S", when) + f".{rest:09d} " + time.strftime("%z", when)
