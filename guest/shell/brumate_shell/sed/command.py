"""`sed`: edits lines by a script."""

import os

from brumate_shell import options
from brumate_shell.streams import Refused, decode, encode

from . import parser
from .lines import Lines
from .run import Editor

_LONG = {
    "quiet": "n", "silent": "n", "regexp-extended": "E", "expression": "e", "file": "f", "in-place": "i",
    "separate": "s", "null-data": "z", "posix": "", "unbuffered": "u",
}  # fmt: skip


def sed(arguments, streams):
    """sed [-nErsz] [-i[SUFFIX]] [-e SCRIPT] [-f FILE] [script] [file...]: edits lines"""
    scripts, flags, suffix, paths = _options(arguments)
    if not scripts:
        if not paths:
            raise Refused("a script is missing", 1)
        scripts.append(paths.pop(0))
    commands, is_quiet = parser.parse("\n".join(scripts), bool(flags & set("Er")))
    quiet = "n" in flags or is_quiet
    end = "\0" if "z" in flags else "\n"
    editor = Editor(commands, quiet, end, streams)
    try:
        if suffix is None and "s" not in flags:
            editor.run(Lines(paths or ["-"], streams, end), streams.out)
        else:
            for path in paths or ["-"]:
                if suffix is None:
                    editor.run(Lines([path], streams, end), streams.out)
                else:
                    _in_place(editor, path, suffix, streams, end)
                if editor.quits:
                    break
    finally:
        editor.close()
    return editor.status


def _options(arguments):
    scripts, flags, suffix, rest = [], set(), None, []
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        if word == "--":
            rest += queue
            break
        if word[:2] == "--":
            name, equals, value = word[2:].partition("=")
            letter = _LONG.get(name)
            if letter is None:
                raise Refused(f"the option {word} is not supported here", 1)
            word = "-" + letter
            if letter in ("e", "f"):
                value = value if equals else queue.pop(0) if queue else ""
                scripts.append(value if letter == "e" else _script_file(value))
                continue
            if letter == "i":
                word += value
            elif not letter:
                continue
        if word[:1] != "-" or word == "-":
            rest.append(word)
            continue
        at = 1
        while at < len(word):
            letter = word[at]
            at += 1
            if letter in "ef":
                value = word[at:] or (queue.pop(0) if queue else None)
                if value is None:
                    raise Refused(f"the option -{letter} needs a value", 1)
                scripts.append(value if letter == "e" else _script_file(value))
                break
            if letter == "i":
                suffix = word[at:]
                break
            if letter not in "nErsuz":
                raise Refused(f"the option -{letter} is not supported here", 1)
            flags.add(letter)
    return scripts, flags, suffix, rest


def _script_file(path):
    with open(path, "rb") as file:
        return decode(file.read()).removesuffix("\n")


class _Text:
    """Takes what is written into a file that is edited in place."""

    def __init__(self):
        self.parts = []

    def write(self, text):
        self.parts.append(text)


def _in_place(editor, path, suffix, streams, end):
    if not os.path.isfile(path):
        problem = "No such file or directory" if not os.path.exists(path) else "couldn't edit: not a regular file"
        streams.err.write(f"sed: can't read {path}: {problem}\n")
        editor.status = 4 if os.path.exists(path) else 2
        return
    with open(path, "rb") as file:
        before = file.read()
    out = _Text()
    lines = Lines([path], streams, end)
    editor.run(lines, out)
    if editor.quits:
        out.parts += [text + (end if ended else "") for text, ended in lines.rest()]
    if suffix:
        place = suffix.replace("*", os.path.basename(path)) if "*" in suffix else os.path.basename(path) + suffix
        with open(place if "/" in place else os.path.join(os.path.dirname(path), place), "wb") as file:
            file.write(before)
    with open(path, "wb") as file:
        file.write(encode("".join(out.parts)))
