"""How much room files take: `du` and `df`."""

import os
import shutil
import stat

from brumate_shell import options

from .files import attempt


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
    status = attempt(paths or ["."], streams, "du", lambda path: total.append(measure(path, 0)))
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
