"""Values of `$name` and `${name...}`."""

import re

from brumate_shell import patterns
from brumate_shell.streams import Refused

from .arithmetic import calculate
from .nodes import Word
from .state import Array, Fatal

# The part of a pattern that stands for itself in a replacement.
_MATCHED = "\0"


class Several(list):
    """Values that stay apart between double quotes: those of `$@` and `${a[@]}`. `joined`: of `$*` and `${a[*]}`."""

    joined = False


def value(part, shell, expand):
    """What a [`Parameter`] stands for: a text or [`Several`]. `expand` is the expansion of words."""
    found = _plain(part, shell, expand)
    operator = part.operator
    if not operator:
        if found is None:
            _check_bound(part, shell)
        return "" if found is None else found
    if operator == "length":
        if isinstance(found, Several):
            return str(len(found))
        if found is None:
            _check_bound(part, shell)
        return str(len(found or ""))
    if operator == "keys":
        return _keys(part, shell)
    if operator == "indirect":
        return _indirect(found, part, shell, expand)
    if operator[-1] in "-=+?" and operator[0] in ":-=+?":
        return _defaulted(found, part, shell, expand)
    if found is None:
        _check_bound(part, shell)
        found = ""
    change = _change(part, shell, expand)
    if isinstance(found, Several):
        result = Several(_part_of_list(found, part, shell, expand) if operator == ":" else map(change, found))
        result.joined = found.joined
        return result
    return change(found)


def _check_bound(part, shell):
    if "nounset" in shell.state.options and part.name not in "@*":
        raise Fatal(f"{part.name}: unbound variable")


def _plain(part, shell, expand):
    name, state = part.name, shell.state
    if part.index is not None:
        return _element(name, part.index, shell, expand)
    if name in "@*":
        found = Several(state.arguments)
        found.joined = name == "*"
        return found
    if name.isdigit():
        number = int(name)
        if not number:
            return state.name
        return state.arguments[number - 1] if number <= len(state.arguments) else None
    if name == "?":
        return str(state.status)
    if name == "#":
        return str(len(state.arguments))
    if name == "$":
        return "1"
    if name == "-":
        return "".join(
            [
                letter
                for letter, option in (("e", "errexit"), ("u", "nounset"), ("x", "xtrace"))
                if option in state.options
            ]
        )
    if name == "!":
        raise Refused("$! is not supported: there are no background jobs", 2)
    return state.text(name)


def _element(name, index, shell, expand):
    array = shell.state.get(name)
    if isinstance(index, str):
        found = Several(array.values_in_order() if isinstance(array, Array) else [] if array is None else [array])
        found.joined = index == "*"
        return found
    text = expand(index)
    if isinstance(array, Array):
        return array.get(shell.state.key(array, text))
    return array if array is not None and calculate(text, shell.state) in (0, -1) else None


def _keys(part, shell):
    array = shell.state.get(part.name)
    found = Several(map(str, array.keys_in_order()) if isinstance(array, Array) else [] if array is None else ["0"])
    found.joined = part.index == "*"
    return found


def _indirect(found, part, shell, expand):
    from .nodes import Parameter

    target = re.fullmatch(r"([A-Za-z_]\w*)(?:\[(.*)\])?|\d+|[@*#?]", found or "")
    if target is None:
        raise Refused(f"{found or part.name}: invalid indirect expansion")
    if target.group(1) is None:
        return value(Parameter(target.group(), None, "", None, part.quoted), shell, expand)
    index = target.group(2)
    if index is not None and index not in ("@", "*"):
        from .nodes import Text

        index = Word([Text(index, True)])
    return value(Parameter(target.group(1), index, "", None, part.quoted), shell, expand)


def _defaulted(found, part, shell, expand):
    operator = part.operator
    if isinstance(found, Several):
        is_missing = not found or (operator[0] == ":" and not any(found))
    else:
        is_missing = found is None or (operator[0] == ":" and not found)
    sign = operator[-1]
    if sign == "+":
        return "" if is_missing else expand.default(part.argument)
    if not is_missing:
        return found
    if sign == "-":
        return expand.default(part.argument)
    other = expand(part.argument)
    if sign == "?":
        raise Fatal(f"{part.name}: {other or 'parameter null or not set'}")
    if part.index is not None and not isinstance(part.index, str):
        shell.state.set_element(part.name, expand(part.index), other)
    elif not part.name.isidentifier():
        raise Refused(f"${part.name}: cannot assign in this way")
    else:
        shell.state.set(part.name, other)
    return other


def _change(part, shell, expand):
    """The function that an operator applies to one text."""
    operator, argument = part.operator, part.argument
    if operator in ("#", "##", "%", "%%"):
        pattern = expand.pattern(argument)
        strip = patterns.without_prefix if operator[0] == "#" else patterns.without_suffix
        return lambda text: strip(text, pattern, len(operator) == 2)
    if operator in ("/", "//"):
        anchor, word, other = argument
        return _replacing(operator, anchor, expand.pattern(word), _replacement(other, shell, expand))
    if operator == ":":
        return lambda text: _part_of_text(text, part, shell, expand)
    if operator[0] in "^,":
        return _casing(operator, expand.pattern(argument))
    letter = expand(argument)
    if letter == "Q":
        from .conditions import quoted

        return quoted
    plain = {"U": str.upper, "L": str.lower, "u": lambda text: text[:1].upper() + text[1:]}.get(letter)
    if plain is None:
        raise Refused(f"${{{part.name}@{letter}}} is not supported", 2)
    return plain


def _replacement(word, shell, expand):
    """What is put in, with a mark for each `&` that is not quoted."""
    pieces = []
    for part in word.parts:
        text = expand(Word([part]))
        if not getattr(part, "quoted", False):
            text = text.replace("&", _MATCHED)
        pieces.append(text)
    return "".join(pieces)


def _replacing(operator, anchor, pattern, other):
    def replace(found):
        return other.replace(_MATCHED, found.group())

    if not pattern:
        return lambda text: other + text if anchor == "#" else text + other if anchor == "%" else text
    expression = patterns.translated(pattern)
    if anchor:
        expression = rf"\A(?:{expression})" if anchor == "#" else rf"(?:{expression})\Z"
    compiled = re.compile(expression, re.DOTALL)
    count = 0 if operator == "//" else 1

    def change(text):
        if anchor != "%":
            # An empty match replaces nothing.
            return compiled.sub(lambda found: replace(found) if found.group() or not text else "", text, count=count)
        return compiled.sub(replace, text, count=1)

    return change


def _casing(operator, pattern):
    turn = str.upper if operator[0] == "^" else str.lower
    fits = patterns.compiled(pattern or "?").fullmatch

    def change(text):
        if len(operator) == 2:
            return "".join([turn(char) if fits(char) else char for char in text])
        return (turn(text[0]) if fits(text[:1]) else text[0]) + text[1:] if text else text

    return change


def _bounds(part, shell, expand):
    first, length = part.argument
    return calculate(expand(first), shell.state), None if length is None else calculate(expand(length), shell.state)


def _part_of_text(text, part, shell, expand):
    start, length = _bounds(part, shell, expand)
    if start < 0:
        start += len(text)
        if start < 0:
            return ""
    if length is None:
        return text[start:]
    end = start + length if length >= 0 else len(text) + length
    if end < start and length < 0:
        raise Refused(f"{length}: substring expression < 0")
    return text[start:end]


def _part_of_list(values, part, shell, expand):
    start, length = _bounds(part, shell, expand)
    values = list(values)
    if part.index is None:  # of $@, whose first has number 1
        values.insert(0, shell.state.name)
    start = start + len(values) if start < 0 else start
    if start < 0:
        return []
    if length is not None and length < 0:
        raise Refused(f"{length}: substring expression < 0")
    if part.index is None and start == 0 and length is None:
        return values
    return values[start:] if length is None else values[start : start + length]
