"""`awk`: rules for lines and their fields."""

from brumate_shell.lines import text_of
from brumate_shell.streams import Refused


def awk(arguments, streams):
    """awk [-F SEPARATOR] [-v NAME=value] [-f FILE] [program] [file...]: rules for lines and their fields"""
    separator, assigned, programs = " ", [], []
    queue = list(arguments)
    while queue and queue[0][:1] == "-" and len(queue[0]) > 1:
        word = queue.pop(0)
        if word == "--":
            break
        if word == "--version":
            streams.out.write("awk of this sandbox\n")
            return 0
        name, equals, value = word.partition("=")
        if name in ("--field-separator", "--assign", "--file") and equals:
            word = {"--field-separator": "-F", "--assign": "-v", "--file": "-f"}[name] + value
        letter, value = word[1], word[2:]
        if letter not in "Fvfe" or word[:2] == "--":
            raise Refused(f"the option {word} is not supported here", 2)
        if not value:
            if not queue:
                raise Refused(f"the option {word} needs a value", 2)
            value = queue.pop(0)
        if letter == "F":
            separator = _separator(value)
        elif letter == "v":
            name, equals, text = value.partition("=")
            if not equals or not name.isidentifier():
                raise Refused(f"-v {value}: NAME=value is needed", 2)
            assigned.append((name, text))
        elif letter == "e":
            programs.append(value)
        else:
            programs.append(text_of(value, streams))
    if not programs:
        if not queue:
            raise Refused("a program is missing", 2)
        programs.append(queue.pop(0))
    from . import parser, run

    tree = parser.parse("\n".join(programs))
    return run.Program(tree, streams, separator, assigned, queue).run()


def _separator(value):
    from .lexer import unescaped

    if value == "t":
        return "\t"
    return unescaped(value)
