"""Runs a `sed` script over lines."""

from brumate_shell.streams import Refused, decode, encode

# Commands that are run for one line.
MAX_STEPS = 10_000_000


class Editor:
    """Runs a script's commands over lines."""

    def __init__(self, commands, quiet, end, streams):
        self.commands = commands
        self.quiet = quiet
        self.end = end
        self.streams = streams
        self.hold = ""
        self.files = {}
        self.sources = {}
        self.status = 0
        self.quits = False
        self.last = None  # the regex used last

    def close(self):
        for file in self.files.values():
            file.close()

    def run(self, lines, out):
        self.lines, self.out, self.number = lines, out, 0
        for command in self.commands:
            command.active = False
        self.missing_end = False
        restarts = False
        while not self.quits:
            if not restarts:
                if not self.next_line():
                    break
            self.added = []
            restarts = self.cycle()
        if self.lines.failed:
            self.status = 2

    def next_line(self):
        line = self.lines.take()
        if line is None:
            return False
        self.space, self.ended = line
        self.number += 1
        return True

    def put(self, text, ended=True):
        if self.missing_end:
            self.out.write(self.end)
        self.missing_end = not ended
        self.out.write(text + self.end if ended else text)

    def end_cycle(self):
        if not self.quiet:
            self.put(self.space, self.ended)
        self.put_added()

    def put_added(self):
        for kind, text in self.added:
            if kind == "text":
                self.put(text.removesuffix("\n"))
            elif kind == "file":
                self.put_file(text)
            else:
                source = self.sources.get(text)
                if source is None:
                    try:
                        with open(text, "rb") as file:
                            source = iter(file.read().splitlines())
                    except OSError:
                        source = iter(())
                    self.sources[text] = source
                for line in source:
                    self.put(decode(line))
                    break
        self.added = []

    def put_file(self, path):
        try:
            if path == "/dev/stdin":
                data = self.streams.input.read()
            else:
                with open(path, "rb") as file:
                    data = file.read()
        except OSError:
            return
        if data:
            text = decode(data)
            self.put(text.removesuffix(self.end), text.endswith(self.end))

    def write_file(self, path, text):
        if path in ("/dev/stdout", "/dev/stderr"):
            self.put(text) if path == "/dev/stdout" else self.streams.err.write(text + "\n")
            return
        file = self.files.get(path)
        if file is None:
            file = self.files[path] = open(path, "wb", buffering=0)
        file.write(encode(text + self.end))

    # Addresses.

    def fits(self, address):
        kind = address.kind
        if kind == "line":
            return self.number == address.value
        if kind == "last":
            return self.lines.is_last()
        if kind == "step":
            if address.step <= 0:
                return self.number == address.value
            return self.number >= address.value and (self.number - address.value) % address.step == 0
        return self.regex(address.value).search(self.space) is not None

    def regex(self, pattern):
        if pattern is not None:
            self.last = pattern
        elif self.last is None:
            raise Refused("no previous regular expression", 1)
        return self.last

    def selects(self, command):
        first, second = command.first, command.second
        if first is None:
            return True
        if second is None:
            return self.fits(first)
        if not command.active:
            zero = first.kind == "line" and not first.value
            if zero and self.number == 1 and second.kind == "regex":
                if not self.fits(second):
                    command.active, command.until = True, None
                return True
            if not self.fits(first):
                return False
            until = {"plus": lambda: self.number + second.value, "line": lambda: second.value}.get(second.kind)
            if second.kind == "multiple":
                step = second.value or 1
                command.until = -(-self.number // step) * step
            else:
                command.until = until() if until else None
            command.active = command.until is None or command.until > self.number
            return True
        if command.until is not None:
            if self.number >= command.until:
                command.active = False
            return self.number <= command.until
        if self.fits(second):
            command.active = False
        return True

    # One line.

    def cycle(self):
        """Runs the script for the pattern space. Returns whether the next cycle begins without a new line."""
        at, steps, replaced = 0, 0, False
        commands = self.commands
        while at < len(commands):
            steps += 1
            if steps > MAX_STEPS:
                raise Refused(f"more than {MAX_STEPS:,} commands for one line")
            command = commands[at]
            at += 1
            name = command.name
            if self.selects(command) == command.negated:
                if name == "{":
                    at = command.end
                continue
            if name == "s":
                if self.substitute(command.argument):
                    replaced = True
            elif name == "p":
                self.put(self.space)
            elif name == "d":
                self.put_added()
                return False
            elif name == "b":
                at = command.end
            elif name in "tT":
                if replaced == (name == "t"):
                    at = command.end
                replaced = False
            elif name in "nN":
                if self.lines.is_last():
                    # GNU sed prints the pattern space when there is no next line.
                    self.quits = True
                    self.end_cycle()
                    return False
                before = self.space
                if name == "n":
                    self.end_cycle()
                    self.next_line()
                else:
                    self.put_added()
                    self.next_line()
                    self.space = before + self.end + self.space
            elif name == "D":
                head, newline, tail = self.space.partition("\n")
                self.put_added()
                if not newline:
                    return False
                self.space = tail
                return True
            elif name in "qQ":
                self.status, self.quits = command.argument, True
                if name == "q":
                    self.end_cycle()
                return False
            elif name == "c":
                if command.second is None or command.negated or not command.active:
                    self.put(command.argument.removesuffix("\n"))
                self.put_added()
                return False
            else:
                self.simple(name, command.argument)
        self.end_cycle()
        return False

    def simple(self, name, argument):
        if name == "a":
            self.added.append(("text", argument))
        elif name == "i":
            self.put(argument.removesuffix("\n"))
        elif name == "=":
            self.put(str(self.number))
        elif name == "y":
            self.space = self.space.translate(argument)
        elif name == "g":
            self.space = self.hold
        elif name == "G":
            self.space += self.end + self.hold
        elif name == "h":
            self.hold = self.space
        elif name == "H":
            self.hold += self.end + self.space
        elif name == "x":
            self.space, self.hold = self.hold, self.space
        elif name == "P":
            self.put(self.space.partition("\n")[0])
        elif name == "z":
            self.space = ""
        elif name == "F":
            self.put(self.lines.path)
        elif name == "l":
            self.put(_shown(self.space))
        elif name == "r":
            self.added.append(("file", argument))
        elif name == "R":
            self.added.append(("line", argument))
        elif name in "wW":
            self.write_file(argument, self.space if name == "w" else self.space.partition("\n")[0])

    def substitute(self, command):
        pattern = self.regex(command.pattern)
        out, at, count, changed = [], 0, 0, False
        space = self.space
        for found in pattern.finditer(space):
            # An empty match right behind another one is none.
            if found.start() == found.end() == at and count and at:
                continue
            count += 1
            if count < command.number:
                if found.end() > found.start():
                    out.append(space[at : found.end()])
                    at = found.end()
                continue
            out.append(space[at : found.start()])
            out.append(_replacement(command.replacement, found))
            at, changed = found.end(), True
            if not command.all:
                break
        if not changed:
            return False
        self.space = "".join(out) + space[at:]
        if command.prints:
            self.put(self.space)
        if command.file:
            self.write_file(command.file, self.space)
        return True


def _replacement(pieces, found):
    out, case, once = [], "", ""
    for piece in pieces:
        if type(piece) is tuple:
            letter = piece[1]
            if letter in "ul":
                once = letter
            else:
                case = "" if letter == "E" else letter
            continue
        text = (found.group(piece) or "") if type(piece) is int else piece
        text = text.upper() if case == "U" else text.lower() if case == "L" else text
        if once and text:
            text = (text[0].upper() if once == "u" else text[0].lower()) + text[1:]
            once = ""
        out.append(text)
    return "".join(out)


def _shown(text):
    """What `l` shows: special characters as escapes, a dollar sign at the end, in lines of 69 characters."""
    names = {"\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
    units = []
    for char in text:
        if char in names:
            units.append(names[char])
        elif char.isprintable() and char.isascii():
            units.append(char)
        else:
            units += [f"\\{byte:03o}" for byte in encode(char)]
    out, width = [], 0
    for unit in units:
        if width + len(unit) > 69:
            out.append("\\\n")
            width = 0
        out.append(unit)
        width += len(unit)
    return "".join(out) + "$"
