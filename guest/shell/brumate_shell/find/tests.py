"""The tests and actions of `find`: each becomes a function from a file to a truth."""

import os
import stat

from brumate_shell import options, patterns
from brumate_shell.streams import Refused

_KINDS = {
    "f": stat.S_ISREG, "d": stat.S_ISDIR, "l": stat.S_ISLNK, "p": stat.S_ISFIFO, "s": stat.S_ISSOCK, "b": stat.S_ISBLK,
    "c": stat.S_ISCHR,
}  # fmt: skip
_UNITS = {"c": 1, "w": 2, "b": 512, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Tests:
    """The words of `find`'s expression. The search is the subclass."""

    def test_maxdepth(self):
        self.depth[1] = options.number(self.value())
        return lambda entry: True

    def test_mindepth(self):
        self.depth[0] = options.number(self.value())
        return lambda entry: True

    def test_depth(self):
        self.from_below = True
        return lambda entry: True

    def test_true(self):
        return lambda entry: True

    def test_false(self):
        return lambda entry: False

    test_noleaf = test_mount = test_xdev = test_true

    def _named(self, of, ignore_case):
        pattern = self.value()
        return lambda entry: patterns.matches(of(entry), pattern, ignore_case)

    def test_name(self, ignore_case=False):
        return self._named(lambda entry: os.path.basename(entry.path.rstrip("/")) or "/", ignore_case)

    def test_iname(self):
        return self.test_name(ignore_case=True)

    def test_path(self):
        return self._named(lambda entry: entry.path, False)

    test_wholename = test_path

    def test_ipath(self):
        return self._named(lambda entry: entry.path, True)

    def test_regex(self, flags=0):
        from brumate_shell.regexes import Pattern

        pattern = Pattern(self.value(), getattr(self, "extended", False), flags)

        def fits(entry):
            found = pattern.match(entry.path)
            return found is not None and found.end() == len(entry.path)

        return fits

    def test_iregex(self):
        import re

        return self.test_regex(re.IGNORECASE)

    def test_regextype(self):
        self.extended = "extended" in self.value() or "egrep" in self.words[self.at - 1]
        return lambda entry: True

    def test_type(self):
        kinds = self.value().split(",")
        for kind in kinds:
            if kind not in _KINDS:
                raise Refused(f"-type {kind} is not supported", 1)
        return lambda entry: any([_KINDS[kind](entry.information.st_mode) for kind in kinds])

    def test_empty(self):
        def is_empty(entry):
            mode = entry.information.st_mode
            if stat.S_ISDIR(mode):
                return not os.listdir(entry.path)
            return stat.S_ISREG(mode) and not entry.information.st_size

        return is_empty

    def _compared(self, text, of):
        sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
        count = options.number(digits)
        if sign == "+":
            return lambda entry: of(entry) > count
        if sign == "-":
            return lambda entry: of(entry) < count
        return lambda entry: of(entry) == count

    def test_size(self):
        text = self.value()
        unit = _UNITS.get(text[-1:], 512)
        text = text[:-1] if text[-1:] in _UNITS else text
        return self._compared(text, lambda entry: -(-entry.information.st_size // unit))

    def _aged(self, seconds, field):
        def age(entry):
            return int((self.now - getattr(entry.information, field)) // seconds)

        return self._compared(self.value(), age)

    def test_mtime(self):
        return self._aged(86400, "st_mtime")

    def test_mmin(self):
        text = self.value()
        return self._compared(text, lambda entry: -int(-(self.now - entry.information.st_mtime) // 60))

    def test_atime(self):
        return self._aged(86400, "st_atime")

    def test_ctime(self):
        return self._aged(86400, "st_ctime")

    def test_newer(self):
        other = os.stat(self.value()).st_mtime_ns
        return lambda entry: entry.information.st_mtime_ns > other

    def test_perm(self):
        text = self.value()
        sign, digits = (text[:1], text[1:]) if text[:1] in ("-", "/") else ("", text)
        try:
            wanted = int(digits, 8)
        except ValueError:
            raise Refused(f"-perm {text} is not supported here; give it as a number", 1) from None
        if sign == "-":
            return lambda entry: entry.information.st_mode & wanted == wanted
        if sign == "/":
            return lambda entry: not wanted or entry.information.st_mode & wanted != 0
        return lambda entry: stat.S_IMODE(entry.information.st_mode) == wanted

    def test_readable(self):
        return lambda entry: os.access(entry.path, os.R_OK)

    def test_writable(self):
        return lambda entry: os.access(entry.path, os.W_OK)

    def test_executable(self):
        return lambda entry: os.access(entry.path, os.X_OK)

    # Actions.

    def test_print(self):
        self.acts = True
        return self.print

    def test_print0(self):
        self.acts = True
        return lambda entry: self.print(entry, "\0")

    def test_printf(self):
        from .formats import formatted

        self.acts = True
        form = self.value()

        def write(entry):
            self.streams.out.write(formatted(form, entry))
            return True

        return write

    def test_ls(self):
        from .formats import formatted

        self.acts = True

        def write(entry):
            self.streams.out.write(formatted("%9i %6k %M %3n %u %g %8s %Tb %Td %TH:%TM %p\\n", entry))
            return True

        return write

    def test_prune(self):
        def prune(entry):
            self.pruned = True
            return True

        return prune

    def test_quit(self):
        self.acts = True

        def end(entry):
            self.ends = True
            return True

        return end

    def test_delete(self):
        self.acts = self.from_below = True

        def delete(entry):
            if entry.path in (".", ".."):
                return True
            try:
                is_directory = stat.S_ISDIR(entry.information.st_mode)
                (os.rmdir if is_directory else os.remove)(entry.path)
            except OSError as error:
                self.streams.err.write(f"find: cannot delete '{entry.path}': {error.strerror}\n")
                self.status = 1
                return False
            return True

        return delete

    def test_exec(self, inside=False):
        self.acts = True
        command = []
        while True:
            word = self.value() if self.at < len(self.words) else None
            if word is None:
                raise Refused("-exec: a ; (written \\;) or + is missing at its end", 1)
            if word == ";" or (word == "+" and command[-1:] == ["{}"]):
                break
            command.append(word)
        if not command:
            raise Refused("-exec: a command is missing", 1)
        return self._batch(command[:-1], inside) if word == "+" else self._each(command, inside)

    def test_execdir(self):
        return self.test_exec(inside=True)

    def test_ok(self):
        raise Refused("-ok: nobody can be asked here", 1)

    def _each(self, command, inside):
        def run(entry):
            from brumate_shell.bash.runners import run

            path = "./" + os.path.basename(entry.path) if inside else entry.path
            words = [word.replace("{}", path) for word in command]
            if not inside:
                return run(words, self.streams) == 0
            before = os.getcwd()
            os.chdir(os.path.dirname(entry.path) or ".")
            try:
                return run(words, self.streams) == 0
            finally:
                os.chdir(before)

        return run
