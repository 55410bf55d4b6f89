"""What watchfiles offers, by looking at the files again and again: the sandbox has no notifications and no processes.

The interface is that of watchfiles 1.3.
"""

import asyncio
import enum
import os
import re
import time

VERSION = __version__ = "1.3.0"

# Milliseconds between two looks, unless the caller says so.
POLL_DELAY = 300
# Most files that are looked at. Changes of further ones are not seen.
MAX_FILES = 100_000


class Change(enum.IntEnum):
    """What has happened to a file."""

    added = 1
    modified = 2
    deleted = 3

    def raw_str(self):
        """Returns the name."""
        return self.name


class BaseFilter:
    """Decides which changes are reported. Subclasses set the attributes."""

    # Names of directories, regular expressions for the last part of a path, and beginnings of paths.
    ignore_dirs = ()
    ignore_entity_patterns = ()
    ignore_paths = ()

    def __init__(self):
        self._names = frozenset(self.ignore_dirs)
        self._patterns = [re.compile(pattern) for pattern in self.ignore_entity_patterns]
        self._beginnings = tuple([os.fspath(path) for path in self.ignore_paths])

    def __call__(self, change, path):
        """Returns whether a change is reported."""
        parts = path.split(os.sep)
        if not self._names.isdisjoint(parts) or path.startswith(self._beginnings):
            return False
        return not any(pattern.search(parts[-1]) for pattern in self._patterns)

    def __repr__(self):
        return f"{type(self).__name__}()"


class DefaultFilter(BaseFilter):
    """Leaves out what tools and editors write beside the files that are meant."""

    ignore_dirs = (
        ".git", ".hg", ".hypothesis", ".idea", ".mypy_cache", ".pytest_cache", ".svn", ".tox", ".venv", "__pycache__",
        "node_modules",
    )  # fmt: skip
    # Bytecode; files of editors; folders' views.
    ignore_entity_patterns = (r"\.py[cdo]$", r"^\.#|^flycheck_|~$|\.sw[a-z]$", r"^\.DS_Store$")

    def __init__(self, *, ignore_dirs=None, ignore_entity_patterns=None, ignore_paths=None):
        given = {
            "ignore_dirs": ignore_dirs,
            "ignore_entity_patterns": ignore_entity_patterns,
            "ignore_paths": ignore_paths,
        }
        vars(self).update({name: value for name, value in given.items() if value is not None})
        super().__init__()


class PythonFilter(DefaultFilter):
    """Reports changes of Python files alone."""

    def __init__(self, *, ignore_paths=None, extra_extensions=()):
        self.extensions = (".py", ".pyx", ".pyd", *extra_extensions)
        super().__init__(ignore_paths=ignore_paths)

    def __call__(self, change, path):
        return path.endswith(self.extensions) and super().__call__(change, path)


# The filter of callers that name none.
_DEFAULT = DefaultFilter()


class _Files:
    """The files below some paths, as they were looked at last."""

    def __init__(self, paths, recursive, watch_filter):
        self._paths = [os.path.abspath(path) for path in paths]
        for path in self._paths:
            if not os.path.exists(path):
                raise FileNotFoundError(2, "No such file or directory", path)
        self._recursive = recursive
        self._filter = watch_filter
        self._seen = self._look()

    def changes(self):
        """Returns the changes since the last call that the filter lets through."""
        before, self._seen = self._seen, self._look()
        found = set()
        for path, stamp in self._seen.items():
            if path not in before:
                found.add((Change.added, path))
            elif before[path] != stamp:
                found.add((Change.modified, path))
        found.update((Change.deleted, path) for path in before if path not in self._seen)
        return {change for change in found if self._filter is None or self._filter(*change)}

    def _look(self):
        found, waiting = {}, list(self._paths)
        while waiting and len(found) < MAX_FILES:
            path = waiting.pop()
            try:
                status = os.stat(path)
            except OSError:
                continue  # it is gone
            if not os.path.isdir(path):
                found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
                continue
            if path not in self._paths:
                found[path] = None
                if not self._recursive:
                    continue
            try:
                waiting += [os.path.join(path, name) for name in os.listdir(path)]
            except OSError:
                pass  # it is gone, or cannot be read
        return found


class _Watch:
    """One call of `watch` or `awatch`: when to look, and when to stop."""

    def __init__(self, paths, watch_filter, stop_event, recursive, delay, timeout, yield_on_timeout):
        self.files = _Files(paths, recursive, watch_filter)
        self.seconds = max(delay, 1) / 1000
        self._stop = stop_event
        self._timeout = timeout / 1000 if timeout else None
        self._yield_on_timeout = yield_on_timeout
        self._since = time.monotonic()

    def stopped(self):
        return self._stop is not None and self._stop.is_set()

    def look(self):
        """Returns what is to be reported now, or None."""
        changes = self.files.changes()
        timed_out = self._timeout is not None and time.monotonic() - self._since >= self._timeout
        if changes or timed_out:
            self._since = time.monotonic()
        return changes if changes or (timed_out and self._yield_on_timeout) else None


def watch(
    *paths,
    watch_filter=_DEFAULT,
    debounce=1_600,
    step=50,
    stop_event=None,
    rust_timeout=5_000,
    yield_on_timeout=False,
    debug=None,
    raise_interrupt=True,
    force_polling=None,
    poll_delay_ms=POLL_DELAY,
    recursive=True,
    ignore_permission_denied=None,
):
    """Yields sets of (change, path), as often as there are some."""
    looking = _Watch(paths, watch_filter, stop_event, recursive, poll_delay_ms, rust_timeout, yield_on_timeout)
    try:
        while not looking.stopped():
            time.sleep(looking.seconds)
            changes = looking.look()
            if changes is not None:
                yield changes
    except KeyboardInterrupt:
        if raise_interrupt:
            raise


async def awatch(
    *paths,
    watch_filter=_DEFAULT,
    debounce=1_600,
    step=50,
    stop_event=None,
    rust_timeout=None,
    yield_on_timeout=False,
    debug=None,
    raise_interrupt=None,
    force_polling=None,
    poll_delay_ms=POLL_DELAY,
    recursive=True,
    ignore_permission_denied=None,
):
    """Yields what `watch` yields; other tasks run in between."""
    looking = _Watch(paths, watch_filter, stop_event, recursive, poll_delay_ms, rust_timeout, yield_on_timeout)
    while not looking.stopped():
        await asyncio.sleep(looking.seconds)
        changes = looking.look()
        if changes is not None:
            yield changes


def run_process(*paths, target, **options):
    """Would run a function in a process, and again after each change."""
    raise OSError(38, f"run_process: this sandbox has no processes to run {target!r} in; use watch()")


async def arun_process(*paths, target, **options):
    """Would run a function in a process, and again after each change."""
    raise OSError(38, f"arun_process: this sandbox has no processes to run {target!r} in; use awatch()")


__all__ = [
    "BaseFilter",
    "Change",
    "DefaultFilter",
    "PythonFilter",
    "VERSION",
    "arun_process",
    "awatch",
    "run_process",
    "watch",
]
