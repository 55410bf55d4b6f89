"""Options of a command, in the style of getopt."""

from .streams import Refused


def parse(arguments, flags="", values="", long=()):
    """`(options, operands)`: letters of `flags` → number of times, letters of `values` → text.

    `long` maps long names to letters: `{"recursive": "r"}`. An unknown option is refused.
    """
    long = dict(long)
    found, operands = {}, []
    queue = list(arguments)
    while queue:
        argument = queue.pop(0)
        if argument == "--":
            operands += queue
            break
        if argument[:2] == "--":
            name, equals, value = argument[2:].partition("=")
            letter = long.get(name)
            if letter is None:
                raise Refused(f"the option --{name} is not supported here", 2)
            if letter and letter in values:
                found[letter] = value if equals else _value(queue, argument)
            elif letter:
                found[letter] = found.get(letter, 0) + 1
        elif argument[:1] == "-" and len(argument) > 1:
            rest = argument[1:]
            if rest.isdigit() and "n" in values and rest[0] not in flags:  # `head -5`
                found["n"] = rest
                continue
            while rest:
                letter, rest = rest[0], rest[1:]
                if letter in values:
                    found[letter] = rest or _value(queue, "-" + letter)
                    rest = ""
                elif letter in flags:
                    found[letter] = found.get(letter, 0) + 1
                else:
                    raise Refused(f"the option -{letter} is not supported here", 2)
        else:
            operands.append(argument)
    return found, operands


def _value(queue, option):
    if not queue:
        raise Refused(f"the option {option} needs a value", 2)
    return queue.pop(0)


def number(text, what="number"):
    """A whole number, maybe with a sign."""
    try:
        return int(text)
    except ValueError:
        raise Refused(f"invalid {what}: {text}", 2) from None


def size(count):
    """A size as `ls -h` shows it."""
    units = iter("KMGTP")
    if count < 1024:
        return str(count)
    value = float(count)
    unit = ""
    while value >= 1024:
        value /= 1024
        unit = next(units, "E")
    return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
