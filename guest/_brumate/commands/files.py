"""Commands about files and directories."""

from ..pristine import __builtins__

import fnmatch
import os
import shutil
import stat
import time

from . import options
from .interpreter import Refused


def _try(paths, streams, name, function):
    """Calls `function(path)` for each; one that fails is reported and the rest goes on."""
    status = 0
    for path in paths:
        try:
            function(path)
        except OSError as error:
            streams.err.write(f"{name}: {error.filename or path}: {error.strerror or error}\n")
            status = 1
    return status


def ls(arguments, streams):
    """ls [-aAlhRtSrd1F] [path...]: what a directory holds"""
    names = {
        "all": "a",
        "almost-all": "A",
        "human-readable": "h",
        "recursive": "R",
        "reverse": "r",
        "color": "",
        "group-directories-first": "",
    }
    found, paths = options.parse(arguments, flags="aAlhRtSrdo1FGgnikspC", long=names)
    files, directories = [], []
    status = 0
    for path in paths or ["."]:
        try:
            information = os.stat(path) if "d" not in found else os.lstat(path)
        except OSError as error:
            streams.err.write(f"ls: cannot access '{path}': {error.strerror}\n")
            status = 2
            continue
        (directories if stat.S_ISDIR(information.st_mode) and "d" not in found else files).append(path)
    _list(files, "", found, streams)
    titled = len(paths) > 1 or "R" in found
    while directories:
        path = directories.pop(0)
        if titled:
            streams.out.write(("\n" if files else "") + f"{path}:\n")
        try:
            entries = [name for name in os.listdir(path) if "a" in found or "A" in found or name[:1] != "."]
        except OSError as error:
            streams.err.write(f"ls: cannot open directory '{path}': {error.strerror}\n")
            status = 2
            continue
        shown = entries + [".", ".."] if "a" in found else entries
        _list(shown, path, found, streams, total=True)
        if "R" in found:
            inner = [os.path.join(path, name) for name in sorted(entries)]
            directories = [one for one in inner if os.path.isdir(one) and not os.path.islink(one)] + directories
        files = [path]
    return status


def _list(names, directory, found, streams, total=False):
    entries = []
    for name in names:
        try:
            entries.append((name, os.lstat(os.path.join(directory, name))))
        except OSError:
            pass  # it went away
    key = (
        (lambda e: (-e[1].st_mtime_ns, e[0]))
        if "t" in found
        else (lambda e: (-e[1].st_size, e[0]))
        if "S" in found
        else None
    )
    entries.sort(key=key or (lambda e: e[0]), reverse="r" in found)
    long = any(letter in found for letter in "lgon")
    if long and total:
        streams.out.write(f"total {sum(-(-e.st_size // 1024) for _, e in entries)}\n")
    widths = max([len(_size(e, found)) for _, e in entries], default=1)
    for name, information in entries:
        shown = name + (_mark(information) if "F" in found or "p" in found else "")
        if long:
            when = time.strftime("%b %e %H:%M", time.localtime(information.st_mtime))
            if stat.S_ISLNK(information.st_mode):
                shown += f" -> {os.readlink(os.path.join(directory, name))}"
            mode, links = stat.filemode(information.st_mode), information.st_nlink
            shown = f"{mode} {links} user user {_size(information, found):>{widths}} {when} {shown}"
        streams.out.write(shown + "\n")


def _size(information, found):
    return options.size(information.st_size) if "h" in found else str(information.st_size)


def _mark(information):
    mode = information.st_mode
    return "/" if stat.S_ISDIR(mode) else "@" if stat.S_ISLNK(mode) else "*" if mode & 0o111 else ""


def pwd(arguments, streams):
    """pwd: the working directory"""
    streams.out.write(os.getcwd() + "\n")


def cd(arguments, streams):
    """cd [directory]: for the rest of this line or cell; %cd changes it for good"""
    os.chdir(arguments[0] if arguments else os.environ.get("HOME", "/"))


def mkdir(arguments, streams):
    """mkdir [-p] directory...: new directories"""
    found, paths = options.parse(arguments, flags="pv", values="m", long={"parents": "p"})
    if not paths:
        raise Refused("say which directory", 2)
    return _try(
        paths, streams, "mkdir", lambda path: os.makedirs(path, exist_ok=True) if "p" in found else os.mkdir(path)
    )


def rmdir(arguments, streams):
    """rmdir directory...: removes empty directories"""
    _, paths = options.parse(arguments, flags="pv")
    return _try(paths, streams, "rmdir", os.rmdir)


def rm(arguments, streams):
    """rm [-rf] path...: removes files, with -r directories"""
    found, paths = options.parse(arguments, flags="rRfvi", long={"recursive": "r", "force": "f"})
    if not paths and "f" not in found:
        raise Refused("say which file", 2)

    def remove(path):
        if os.path.isdir(path) and not os.path.islink(path):
            if "r" not in found and "R" not in found:
                raise IsADirectoryError(21, "Is a directory", path)
            shutil.rmtree(path)
        elif "f" not in found or os.path.lexists(path):
            os.remove(path)

    return _try(paths, streams, "rm", remove)


def _targets(arguments, name, **accepted):
    found, paths = options.parse(arguments, **accepted)
    if len(paths) < 2:
        raise Refused("a source and a target are needed", 2)
    *sources, target = paths
    into = os.path.isdir(target)
    if len(sources) > 1 and not into:
        raise Refused(f"target '{target}' is not a directory")
    return found, [
        (source, os.path.join(target, os.path.basename(source.rstrip("/"))) if into else target) for source in sources
    ]


def cp(arguments, streams):
    """cp [-r] source... target: copies"""
    found, pairs = _targets(arguments, "cp", flags="rRafpvnu", long={"recursive": "r"})
    places = dict(pairs)

    def copy(source):
        target = places[source]
        if "n" in found and os.path.exists(target):
            return
        if os.path.isdir(source):
            if not any(letter in found for letter in "rRa"):
                raise IsADirectoryError(21, "Is a directory (use -r)", source)
            shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
        elif os.path.exists(target) and os.path.samefile(source, target):
            raise OSError(22, "source and target are the same file", source)
        else:
            (shutil.copy2 if "p" in found or "a" in found else shutil.copy)(source, target)

    return _try(places, streams, "cp", copy)


def mv(arguments, streams):
    """mv source... target: moves, renames"""
    found, pairs = _targets(arguments, "mv", flags="fvnu")
    places = dict(pairs)

    def move(source):
        target = places[source]
        if "n" in found and os.path.exists(target):
            return
        if os.path.isdir(target) and not os.path.isdir(source):
            raise IsADirectoryError(21, "Is a directory", target)
        try:
            os.replace(source, target)
        except OSError as error:
            if error.errno != 18:  # another file system
                raise
            shutil.move(source, target)

    return _try(places, streams, "mv", move)


def touch(arguments, streams):
    """touch file...: makes files, or makes them look changed"""
    found, paths = options.parse(arguments, flags="acm")

    def one(path):
        if os.path.exists(path):
            os.utime(path)
        elif "c" not in found:
            open(path, "ab").close()

    return _try(paths, streams, "touch", one)


def find(arguments, streams):
    """find [path...] [test...] [-delete]: files below

    Tests: -name, -iname, -path PATTERN; -type f|d|l; -maxdepth N; -mindepth N; -size N; -empty; ! before one.
    """
    tops = []
    while arguments and arguments[0][:1] not in ("-", "!", "("):
        tops.append(arguments[0])
        arguments = arguments[1:]
    tests, depth, delete = [], [0, 1 << 30], False
    queue = list(arguments)
    negate = False
    while queue:
        word = queue.pop(0)
        if word in ("!", "-not"):
            negate = True
            continue
        if word in ("-print", "-a", "-and"):
            continue
        if word == "-delete":
            delete = True
        elif word == "-empty":
            tests.append((negate, lambda p, i: not (os.listdir(p) if stat.S_ISDIR(i.st_mode) else i.st_size)))
        elif word in ("-name", "-iname", "-path", "-type", "-maxdepth", "-mindepth", "-size"):
            if not queue:
                raise Refused(f"{word} needs a value", 2)
            value = queue.pop(0)
            if word in ("-maxdepth", "-mindepth"):
                depth[word == "-maxdepth"] = options.number(value)
            else:
                tests.append((negate, _test(word, value)))
        else:
            raise Refused(f"{word} is not supported here; use pathlib or os.walk", 2)
        negate = False
    status = 0
    for top in tops or ["."]:
        if not os.path.lexists(top):
            streams.err.write(f"find: '{top}': No such file or directory\n")
            status = 1
            continue
        found = [
            path
            for path, information, level in _walk(top, 0, depth[1])
            if level >= depth[0] and all(bool(test(path, information)) != no for no, test in tests)
        ]
        for path in reversed(found) if delete else found:
            if not delete:
                streams.out.write(path + "\n")
            elif os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.remove(path)
    return status


def _walk(path, level, deepest):
    information = os.lstat(path)
    yield path, information, level
    if stat.S_ISDIR(information.st_mode) and level < deepest:
        for name in sorted(os.listdir(path)):
            yield from _walk(os.path.join(path, name), level + 1, deepest)


_KINDS = {"f": stat.S_ISREG, "d": stat.S_ISDIR, "l": stat.S_ISLNK}
_UNITS = {"c": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "b": 512}


def _test(word, value):
    if word == "-name":
        return lambda path, _: fnmatch.fnmatchcase(os.path.basename(path.rstrip("/")), value)
    if word == "-iname":
        return lambda path, _: fnmatch.fnmatchcase(os.path.basename(path).lower(), value.lower())
    if word == "-path":
        return lambda path, _: fnmatch.fnmatchcase(path, value)
    if word == "-type":
        if value not in _KINDS:
            raise Refused(f"-type {value} is not supported", 2)
        return lambda _, information: _KINDS[value](information.st_mode)
    unit = _UNITS.get(value[-1:])
    count = options.number(value.strip("+-").rstrip("ckMGb"))
    unit = unit or 512
    if value[:1] == "+":
        return lambda _, information: -(-information.st_size // unit) > count
    if value[:1] == "-":
        return lambda _, information: -(-information.st_size // unit) < count
    return lambda _, information: -(-information.st_size // unit) == count


def du(arguments, streams):
    """du [-shac] [path...]: how much room files take"""
    found, paths = options.parse(
        arguments, flags="shacbkm", values="d", long={"summarize": "s", "human-readable": "h", "max-depth": "d"}
    )
    deepest = 0 if "s" in found else options.number(found["d"]) if "d" in found else 1 << 30

    def say(count, path):
        size = (
            options.size(count)
            if "h" in found
            else count
            if "b" in found
            else -(-count // (1 << 20 if "m" in found else 1024))
        )
        streams.out.write(f"{size}\t{path}\n")

    def measure(path, level):
        information = os.lstat(path)
        total = information.st_size if not stat.S_ISDIR(information.st_mode) else 0
        if stat.S_ISDIR(information.st_mode):
            total = sum([measure(os.path.join(path, name), level + 1) for name in sorted(os.listdir(path))])
            if level <= deepest:
                say(total, path)
        elif not level or ("a" in found and level <= deepest):
            say(total, path)
        return total

    total = []
    status = _try(paths or ["."], streams, "du", lambda path: total.append(measure(path, 0)))
    if "c" in found:
        say(sum(total), "total")
    return status


def df(arguments, streams):
    """df [-h]: room in the sandbox's file system"""
    found, paths = options.parse(arguments, flags="hkTiam", long={"human-readable": "h"})
    say = options.size if "h" in found else lambda count: str(-(-count // 1024))
    streams.out.write(
        f"{'Filesystem':<12} {'Size' if 'h' in found else '1K-blocks':>10} {'Used':>10} {'Avail':>10} Use% Mounted on\n"
    )
    for path in paths or ["/"]:
        usage = shutil.disk_usage(path)
        percent = -(-100 * usage.used // usage.total) if usage.total else 0
        streams.out.write(
            f"{'sandbox':<12} {say(usage.total):>10} {say(usage.used):>10} {say(usage.free):>10} {percent:>3}% {path}\n"
        )


def basename(arguments, streams):
    """basename path [suffix]: the last part of a path"""
    if not arguments:
        raise Refused("a path is missing", 2)
    name = os.path.basename(arguments[0].rstrip("/")) or "/"
    streams.out.write((name.removesuffix(arguments[1]) if len(arguments) > 1 and name != arguments[1] else name) + "\n")


def dirname(arguments, streams):
    """dirname path: a path without its last part"""
    if not arguments:
        raise Refused("a path is missing", 2)
    streams.out.write((os.path.dirname(arguments[0].rstrip("/")) or ("/" if arguments[0][:1] == "/" else ".")) + "\n")
