"""The functions that `awk` has."""

import functools
import math
import re
import time

from brumate_shell.streams import Refused

from .records import separated
from .values import NOTHING, Array, Input, compared, formatted, number, text


class Random:
    """`rand` and `srand`: the same numbers in every run, as in other implementations."""

    def __init__(self):
        import random

        self.seed = 0.0
        self.source = random.Random(0)

    def start(self, seed):
        import random

        before, self.seed = self.seed, seed
        self.source = random.Random(seed)
        return before


def made(program, name, nodes):
    """The function for one call of `name`."""
    maker = _SPECIAL.get(name)
    if maker is not None:
        return maker(program, nodes)
    fewest, most, function = _PLAIN[name]
    if not fewest <= len(nodes) <= most:
        raise Refused(f"{name}: wrong number of arguments", 2)
    arguments = [program.value(node) for node in nodes]
    return lambda: function(*[argument() for argument in arguments])


def _form(program):
    return program.variables["CONVFMT"]


def _of_number(function):
    def run(value):
        try:
            return float(function(number(value)))
        except (ValueError, OverflowError):
            return math.inf if function is math.exp else math.nan

    return run


def _log(value):
    return -math.inf if value == 0 else math.log(value)


def _substr(given, start, length=None):
    said = str(text(given))
    # A start before the text is its beginning.
    first = max(_rounded(number(start)), 1.0)
    last = math.inf if length is None else first + _rounded(number(length))
    if math.isnan(first) or math.isnan(last):
        return ""
    last = min(last, len(said) + 1)
    return said[int(first) - 1 : int(last) - 1] if last > first else ""


def _rounded(value):
    return value if math.isinf(value) or math.isnan(value) else float(round(value))


def _whole(value):
    value = number(value)
    return value if math.isinf(value) or math.isnan(value) else float(math.trunc(value))


def _bits(function):
    return lambda *values: float(functools.reduce(function, [int(number(value)) for value in values]))


def _strtonum(value):
    if type(value) is float:
        return value
    found = re.match(r"\s*[-+]?(0[xX][0-9a-fA-F]+|0[0-7]+(?![\d.]))", value)
    if found is None:
        return number(value)
    digits = found.group(1)
    return float(int(digits, 16 if digits[1] in "xX" else 8)) * (-1 if "-" in found.group() else 1)


def _strftime(form="%a %b %e %H:%M:%S %Z %Y", when=None, utc=None):
    seconds = time.time() if when is None else number(when)
    shown = time.gmtime(seconds) if utc is not None and number(utc) else time.localtime(seconds)
    return time.strftime(str(text(form)).replace("%s", str(int(seconds))), shown)


def _mktime(value):
    parts = [int(part) for part in re.findall(r"-?\d+", str(text(value)))]
    if len(parts) < 6:
        return -1.0
    return float(time.mktime((*parts[:6], 0, 0, parts[6] if len(parts) > 6 else -1)))


_PLAIN = {
    "atan2": (2, 2, lambda y, x: math.atan2(number(y), number(x))),
    "cos": (1, 1, _of_number(math.cos)),
    "sin": (1, 1, _of_number(math.sin)),
    "exp": (1, 1, _of_number(math.exp)),
    "log": (1, 1, _of_number(_log)),
    "sqrt": (1, 1, _of_number(math.sqrt)),
    "int": (1, 1, _whole),
    "index": (2, 2, lambda said, part: float(str(text(said)).find(str(text(part))) + 1)),
    "substr": (2, 3, _substr),
    "tolower": (1, 1, lambda said: str(text(said)).lower()),
    "toupper": (1, 1, lambda said: str(text(said)).upper()),
    "systime": (0, 0, lambda: float(int(time.time()))),
    "strftime": (0, 3, _strftime),
    "mktime": (1, 2, lambda value, utc=None: _mktime(value)),
    "strtonum": (1, 1, _strtonum),
    "and": (2, 9, _bits(lambda a, b: a & b)),
    "or": (2, 9, _bits(lambda a, b: a | b)),
    "xor": (2, 9, _bits(lambda a, b: a ^ b)),
    "compl": (1, 1, lambda value: float(~int(number(value)) & ((1 << 53) - 1))),
    "lshift": (2, 2, lambda value, count: float(int(number(value)) << min(int(number(count)), 64))),
    "rshift": (2, 2, lambda value, count: float(int(number(value)) >> int(number(count)))),
}


# Functions that need more than their values.


def _length(program, nodes):
    if not nodes:
        return lambda: float(len(program.record.get(0)))
    node = nodes[0]
    if node[0] in ("name", "local") and node[1] != "NF":
        argument = program.argument(node)

        def of_variable():
            value = argument()
            if type(value) is Array:
                return float(len(value))
            return float(len(text(value, _form(program)))) if type(value) in (str, float, Input) else 0.0

        return of_variable
    get = program.value(node)
    return lambda: float(len(text(get(), _form(program))))


def _split(program, nodes):
    if not 2 <= len(nodes) <= 4 or nodes[1][0] not in ("name", "local"):
        raise Refused("split: a text and an array are needed", 2)
    get, of = program.value(nodes[0]), program.array(nodes[1])
    separator = (lambda: str(text(program.variables["FS"]))) if len(nodes) < 3 else _separator(program, nodes[2])

    def run():
        pieces = separated(str(text(get(), _form(program))), separator())
        return _refilled(of(), pieces)

    return run


def _refilled(array, values):
    """Gives an array these values, numbered from 1; returns their number."""
    array.clear()
    for place, value in enumerate(values, 1):
        array[str(place)] = value
    return float(len(values))


def _separator(program, node):
    if node[0] == "regex":
        # A single character would be taken as it is.
        form = node[1] if len(node[1]) != 1 else f"({node[1]})"
        return lambda: form
    get = program.value(node)
    return lambda: str(text(get()))


def _match(program, nodes):
    if not 2 <= len(nodes) <= 3:
        raise Refused("match: a text and a pattern are needed", 2)
    get, form = program.value(nodes[0]), program.pattern(nodes[1])
    of = program.array(nodes[2]) if len(nodes) > 2 else None
    variables = program.variables

    def run():
        found = form().search(text(get(), _form(program)))
        variables["RSTART"] = float(found.start() + 1) if found else 0.0
        variables["RLENGTH"] = float(found.end() - found.start()) if found else -1.0
        if of is not None:
            array = of()
            array.clear()
            if found:
                for place in range(len(found.groups()) + 1):
                    if found.group(place) is not None:
                        array[str(place)] = Input(found.group(place))
                        array[f"{place}{variables['SUBSEP']}start"] = float(found.start(place) + 1)
                        array[f"{place}{variables['SUBSEP']}length"] = float(len(found.group(place)))
        return variables["RSTART"]

    return run


def _replacement(said, groups):
    """A replacement as texts, and numbers of groups: 0 for `&`."""
    pieces, at, bare = [], 0, []
    while at < len(said):
        char = said[at]
        at += 1
        following = said[at : at + 1]
        if char == "\\" and following and (following in "&\\" or (groups and following.isdigit())):
            at += 1
            if following.isdigit():
                pieces += ["".join(bare), int(following)]
                bare = []
            else:
                bare.append(following)
        elif char == "&":
            pieces += ["".join(bare), 0]
            bare = []
        else:
            bare.append(char)
    return [*pieces, "".join(bare)]


def substituted(expression, said, pieces, which):
    """A text with matches replaced: all of them (`which` is 0), or that with a number; and how many were."""
    out, at, count, changed = [], 0, 0, 0
    for found in expression.finditer(said):
        if found.start() == found.end() == at and count and at:
            continue
        count += 1
        if which and count < which:
            continue
        out.append(said[at : found.start()])
        groups = (found.group(), *found.groups(""))
        # A group that is not there is an empty text.
        out += [piece if type(piece) is str else "".join(groups[piece : piece + 1]) for piece in pieces]
        at = found.end()
        changed += 1
        if which:
            break
    return "".join(out) + said[at:], changed


def _sub(program, nodes, which):
    if not 2 <= len(nodes) <= 3:
        raise Refused("sub: a pattern and a replacement are needed", 2)
    form, other = program.pattern(nodes[0]), program.value(nodes[1])
    target = nodes[2] if len(nodes) > 2 else ("field", ("number", 0.0))
    while target[0] == "group":
        target = target[1]
    get = program.value(target)
    put = program.setter(target) if target[0] in ("name", "local", "element", "field") else None

    def run():
        expression = form()
        pieces = _replacement(str(text(other(), _form(program))), False)
        said, changed = substituted(expression, str(text(get(), _form(program))), pieces, which)
        if changed and put is not None:
            put(said)
        return float(changed)

    return run


def _gensub(program, nodes):
    if not 3 <= len(nodes) <= 4:
        raise Refused("gensub: a pattern, a replacement and which one are needed", 2)
    form, other, how = program.pattern(nodes[0]), program.value(nodes[1]), program.value(nodes[2])
    get = program.value(nodes[3]) if len(nodes) > 3 else lambda: program.record.get(0)

    def run():
        chosen = how()
        which = 0 if str(text(chosen))[:1] in ("g", "G") else max(int(number(chosen)), 1)
        pieces = _replacement(str(text(other(), _form(program))), True)
        return substituted(form(), str(text(get(), _form(program))), pieces, which)[0]

    return run


def _sprintf(program, nodes):
    if not nodes:
        raise Refused("sprintf: a format is missing", 2)
    arguments = [program.value(node) for node in nodes]

    def run():
        form, *values = [argument() for argument in arguments]
        return formatted(str(text(form)), values, _form(program))

    return run


def _rand(program, nodes):
    return lambda: program.random.source.random()


def _srand(program, nodes):
    get = program.value(nodes[0]) if nodes else lambda: float(int(time.time()))
    return lambda: program.random.start(number(get()))


def _close(program, nodes):
    get = program.value(nodes[0])
    return lambda: program.files.close(str(text(get())))


def _fflush(program, nodes):
    return lambda: 0.0


def _asort(program, nodes, by_key=False):
    of = program.array(nodes[0])
    into = program.array(nodes[1]) if len(nodes) > 1 else of
    if len(nodes) > 2:
        raise Refused("asort: an order by name is not supported here", 2)

    def before(a, b):
        return -1 if compared("<", a, b, "%.6g") else 1 if compared(">", a, b, "%.6g") else 0

    def run():
        source = of()
        values = sorted(source) if by_key else sorted(source.values(), key=functools.cmp_to_key(before))
        return _refilled(into(), values)

    return run


_SPECIAL = {
    "length": _length,
    "split": _split,
    "match": _match,
    "sub": lambda program, nodes: _sub(program, nodes, 1),
    "gsub": lambda program, nodes: _sub(program, nodes, 0),
    "gensub": _gensub,
    "sprintf": _sprintf,
    "rand": _rand,
    "srand": _srand,
    "close": _close,
    "fflush": _fflush,
    "asort": _asort,
    "asorti": lambda program, nodes: _asort(program, nodes, by_key=True),
}
__all__ = ["NOTHING", "Random", "made", "substituted"]
