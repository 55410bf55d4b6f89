"""Commands about files and directories."""

import os
import shutil
import stat
import time

from brumate_shell import options
from brumate_shell.streams import Refused


def attempt(paths, streams, name, function):
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
    names |= {"time-style": "T", "sort": "z", "directory": "d", "full-time": "", "classify": "F"}
    found, paths = options.parse(arguments, flags="aAlhRtSrdo1FGgnikspCvXUL", values="Tz", long=names)
    if "z" in found:
        found[{"time": "t", "size": "S"}.get(found["z"], "z")] = 1
    files, directories = [], []
    status = 0
    for path in sorted(paths) or ["."]:
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
            style = found.get("T", "")
            form = style[1:] if style[:1] == "+" else _STYLES.get(style, "%b %e %H:%M")
            when = time.strftime(form, time.localtime(information.st_mtime))
            if stat.S_ISLNK(information.st_mode):
                shown += f" -> {os.readlink(os.path.join(directory, name))}"
            mode, links = stat.filemode(information.st_mode), information.st_nlink
            shown = f"{mode} {links} user user {_size(information, found):>{widths}} {when} {shown}"
        streams.out.write(shown + "\n")


_STYLES = {"long-iso": "%Y-%m-%d %H:%M", "full-iso": "%Y-%m-%d %H:%M:%S %z", "iso": "%m-%d %H:%M"}


def _size(information, found):
    return options.size(information.st_size) if "h" in found else str(information.st_size)


def _mark(information):
    mode = information.st_mode
    return "/" if stat.S_ISDIR(mode) else "@" if stat.S_ISLNK(mode) else "*" if mode & 0o111 else ""


def pwd(arguments, streams):
    """pwd: the working directory"""
    streams.out.write(os.getcwd() + "\n")


def mkdir(arguments, streams):
    """mkdir [-p] directory...: new directories"""
    found, paths = options.parse(arguments, flags="pv", values="m", long={"parents": "p"})
    if not paths:
        raise Refused("say which directory", 2)
    return attempt(
        paths, streams, "mkdir", lambda path: os.makedirs(path, exist_ok=True) if "p" in found else os.mkdir(path)
    )


def rmdir(arguments, streams):
    """rmdir directory...: removes empty directories"""
    _, paths = options.parse(arguments, flags="pv")
    return attempt(paths, streams, "rmdir", os.rmdir)


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

    return attempt(paths, streams, "rm", remove)


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

    return attempt(places, streams, "cp", copy)


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

    return attempt(places, streams, "mv", move)


def touch(arguments, streams):
    """touch [-acm] [-d TEXT] [-t TIME] [-r FILE] file...: makes files, or makes them look changed"""
    found, paths = options.parse(
        arguments, flags="acmh", values="dtr", long={"date": "d", "reference": "r", "no-create": "c"}
    )
    times = None
    if "r" in found:
        information = os.stat(found["r"])
        times = (information.st_atime_ns, information.st_mtime_ns)
    elif "d" in found or "t" in found:
        when = _touched(found)
        times = (when, when)

    def one(path):
        if not os.path.exists(path):
            if "c" in found:
                return
            open(path, "ab").close()
        os.utime(path, ns=times) if times else os.utime(path)

    return attempt(paths, streams, "touch", one)


def _touched(found):
    """The time that `-d` or `-t` says, in nanoseconds."""
    import datetime

    from .dates import parsed

    now = datetime.datetime.now().astimezone()
    if "d" in found:
        return int(parsed(found["d"], now, None).timestamp() * 10**9)
    digits = found["t"].replace(".", "")
    digits = digits if len(found["t"].partition(".")[0]) == 12 else f"{now.year}" + digits
    try:
        form = "%Y%m%d%H%M%S" if len(digits) == 14 else "%Y%m%d%H%M"
        return int(datetime.datetime.strptime(digits, form).astimezone().timestamp() * 10**9)
    except ValueError:
        raise Refused(f"invalid date format '{found['t']}'") from None


def basename(arguments, streams):
    """basename path [suffix], basename -a [-s SUFFIX] path...: the last part of a path"""
    found, paths = options.parse(arguments, flags="az", values="s", long={"multiple": "a", "suffix": "s"})
    if not paths:
        raise Refused("a path is missing", 1)
    suffix = found.get("s", "")
    if "a" not in found and "s" not in found:
        suffix = paths[1] if len(paths) > 1 else ""
        paths = paths[:1]
    for path in paths:
        name = os.path.basename(path.rstrip("/")) or "/"
        streams.out.write((name.removesuffix(suffix) if suffix and name != suffix else name) + "\n")


def dirname(arguments, streams):
    """dirname path...: paths without their last part"""
    _, paths = options.parse(arguments, flags="z")
    if not paths:
        raise Refused("a path is missing", 1)
    for path in paths:
        streams.out.write((os.path.dirname(path.rstrip("/")) or ("/" if path[:1] == "/" else ".")) + "\n")
