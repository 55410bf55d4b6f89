"""`find`: files below directories, by tests."""

import os
import stat
import time

from brumate_shell.streams import Refused

from .tests import Tests

# Tests and actions of one call, and parentheses inside each other.
MAX_WORDS = 10_000
# Paths that one call of `-exec ... +` gets.
_MAX_BATCH = 5000


class _Entry:
    """One file: its path, what it is, how deep it is, and where the search began."""

    __slots__ = ("path", "information", "level", "top")

    def __init__(self, path, information, level, top):
        self.path = path
        self.information = information
        self.level = level
        self.top = top


def find(arguments, streams):
    """find [path...] [test...] [action]: files below

    Tests: -name -iname -path -ipath -regex -type -size -empty -mtime -mmin -newer -perm -maxdepth -mindepth -not ! -o
    -a ( ). Actions: -print -print0 -printf -ls -delete -prune -quit -exec command ; or +.
    """
    tops, queue = [], [word for word in arguments]
    follow = False
    while queue and queue[0] in ("-L", "-H", "-P"):
        follow = queue.pop(0) == "-L"
    while queue and queue[0] not in ("!", "(", ")") and (queue[0][:1] != "-" or queue[0] == "-"):
        tops.append(queue.pop(0))
    if len(queue) > MAX_WORDS:
        raise Refused("too many tests", 1)
    search = _Search(queue, streams)
    search.follow = follow
    search.parse()
    for top in tops or ["."]:
        if not os.path.lexists(top):
            streams.err.write(f"find: '{top}': No such file or directory\n")
            search.status = 1
            continue
        search.walk(top)
        if search.ends:
            break
    search.finish()
    return search.status


class _Search(Tests):
    def __init__(self, words, streams):
        self.words = words
        self.at = 0
        self.streams = streams
        self.status = 0
        self.depth = [0, 1 << 30]
        self.from_below = False
        self.acts = False
        self.batches = []
        self.ends = False
        self.pruned = False
        self.now = time.time()

    # The expression: functions from an entry to a truth.

    def parse(self):
        self.test = self.either() if self.words else lambda entry: True
        if self.at < len(self.words):
            raise Refused(f"{self.words[self.at]} is in a wrong place", 1)
        if not self.acts:
            test = self.test
            self.test = lambda entry: test(entry) and self.print(entry)

    def print(self, entry, end="\n"):
        self.streams.out.write(entry.path + end)
        return True

    def peek(self):
        return self.words[self.at] if self.at < len(self.words) else None

    def either(self):
        found = self.both()
        while self.peek() in ("-o", "-or", ","):
            comma = self.words[self.at] == ","
            self.at += 1
            found = _joined(found, self.both(), comma)
        return found

    def both(self):
        found = self.single()
        while self.peek() not in (None, ")", "-o", "-or", ","):
            if self.peek() in ("-a", "-and"):
                self.at += 1
            found = _both(found, self.single())
        return found

    def single(self):
        word = self.peek()
        if word is None:
            raise Refused("a test is missing", 1)
        self.at += 1
        if word in ("!", "-not"):
            inner = self.single()
            return lambda entry: not inner(entry)
        if word == "(":
            inner = self.either()
            if self.peek() != ")":
                raise Refused("a ) is missing", 1)
            self.at += 1
            return inner
        method = getattr(self, "test_" + word[1:].replace("-", "_"), None) if word[:1] == "-" else None
        if method is None:
            raise Refused(f"{word} is not supported here; use pathlib or os.walk", 1)
        return method()

    def value(self):
        if self.at >= len(self.words):
            raise Refused(f"{self.words[self.at - 1]} needs a value", 1)
        self.at += 1
        return self.words[self.at - 1]

    def _batch(self, command, inside):
        if inside:
            raise Refused("-execdir with + is not supported here; end it with \\;", 1)
        paths = []
        self.batches.append((command, paths))

        def take(entry):
            paths.append(entry.path)
            if len(paths) >= _MAX_BATCH:
                self._run_batch(command, paths)
            return True

        return take

    def _run_batch(self, command, paths):
        from brumate_shell.bash.runners import run

        if paths and run([*command, *paths], self.streams):
            self.status = 1
        paths.clear()

    def finish(self):
        for command, paths in self.batches:
            self._run_batch(command, paths)

    # The walk.

    def walk(self, top):
        self._visit(top, 0, top)

    def _visit(self, path, level, top):
        try:
            information = os.stat(path) if self.follow else os.lstat(path)
        except OSError:
            return
        entry = _Entry(path, information, level, top)
        if self.streams.shell is not None:
            self.streams.shell.check_time()
        self.pruned = False
        shown = level >= self.depth[0]
        if shown and not self.from_below:
            self.test(entry)
        if self.ends:
            return
        if stat.S_ISDIR(information.st_mode) and level < self.depth[1] and not (self.pruned and not self.from_below):
            try:
                names = sorted(os.listdir(path))
            except OSError as error:
                self.streams.err.write(f"find: '{path}': {error.strerror}\n")
                self.status = 1
                names = []
            for name in names:
                self._visit(os.path.join(path, name), level + 1, top)
                if self.ends:
                    return
        if shown and self.from_below:
            self.test(entry)


def _both(first, second):
    return lambda entry: first(entry) and second(entry)


def _joined(first, second, comma):
    if comma:
        return lambda entry: (first(entry), second(entry))[1]
    return lambda entry: first(entry) or second(entry)
