"""Commands about variables: `export`, `local`, `declare`, `unset`, `let`, `read`, `mapfile`."""

import os
import re

from brumate_shell import options
from brumate_shell.streams import Refused, decode

from .nodes import Assignment
from .state import Array

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Bytes that `read` takes at once where there is no end of a line.
_MAX_LINE = 64 << 20


def state_of(streams):
    if streams.shell is None:
        raise Refused("it works in shell lines only", 2)
    return streams.shell.state


def export(arguments, streams):
    """export [-n] NAME[=value]...: for the rest of this line or cell; %env changes it for good"""
    return _declare(arguments, streams, "export")


def local(arguments, streams):
    """local NAME[=value]...: variables of a function"""
    if not state_of(streams).frames:
        raise Refused("can only be used in a function")
    return _declare(arguments, streams, "local")


def readonly(arguments, streams):
    """readonly NAME[=value]...: variables that stay as they are"""
    return _declare(arguments, streams, "readonly")


def declare(arguments, streams):
    """declare [-aAirxp] NAME[=value]...: variables, arrays with -a and -A"""
    return _declare(arguments, streams, "declare")


def _declare(arguments, streams, name):
    state, flags, words = state_of(streams), set(), []
    for argument in arguments:
        if type(argument) is str and argument[:1] == "-" and not words and len(argument) > 1:
            flags |= set(argument[1:])
        else:
            words.append(argument)
    unknown = flags - set("aAirxgpnfF-")
    if unknown or ("n" in flags and name != "export"):
        raise Refused(f"the option -{next(iter(unknown), 'n')} is not supported here", 2)
    if "f" in flags or "F" in flags:
        return int(not all([word in state.functions for word in words]))
    if "p" in flags or not words:
        return _print_declared(words, state, streams, name)
    in_function = state.frames and (name == "local" or (name == "declare" and "g" not in flags))
    for word in words:
        variable, value, adds = word, None, False
        if type(word) is not str:
            variable = word.name
        else:
            head, equals, rest = word.partition("=")
            if equals:
                adds = head.endswith("+")
                variable, value = head.removesuffix("+"), rest
        element = re.fullmatch(r"(\w+)\[(.+)\]", variable)
        if not _NAME.fullmatch(variable) and not element:
            raise Refused(f"`{word}': not a valid identifier")
        if in_function:
            state.make_local(variable)
        if "A" in flags or ("a" in flags and not isinstance(state.own.get(variable), Array)):
            array = Array()
            array.associative = "A" in flags
            if not isinstance(state.own.get(variable), Array):
                state.own[variable] = array
        if "i" in flags:
            state.integers.add(variable)
        if isinstance(word, Assignment):
            streams.shell.assign(word)
        elif element:
            state.set_element(element.group(1), element.group(2), value or "")
        elif value is not None:
            state.set(variable, (state.text(variable) or "") + value if adds else value)
        if name == "export" or "x" in flags:
            if "n" in flags:
                text = state.text(variable)
                os.environ.pop(variable, None)
                state.own[variable] = text or ""
            else:
                state.export(variable)
        if name == "readonly" or "r" in flags:
            state.readonly.add(variable)
    return 0


def _print_declared(words, state, streams, name):
    status = 0
    names = words or (sorted(os.environ) if name == "export" else sorted({*state.own, *os.environ}))
    for variable in names:
        value = state.get(variable)
        if value is None:
            streams.err.write(f"{name}: {variable}: not found\n")
            status = 1
        elif isinstance(value, Array):
            inner = " ".join([f"[{key}]={_in_quotes(value[key])}" for key in value.keys_in_order()])
            streams.out.write(
                f"declare -{'A' if value.associative else 'a'} {variable}=({inner}{' ' if value.associative else ''})\n"
            )
        else:
            streams.out.write(f"declare -{'x' if variable in os.environ else '-'} {variable}={_in_quotes(value)}\n")
    return status


def _in_quotes(text):
    return '"' + re.sub(r'(["\\$`])', r"\\\1", text) + '"'


def unset(arguments, streams):
    """unset [-fv] NAME...: removes variables for the rest of this line or cell"""
    state = state_of(streams)
    found, names = options.parse(arguments, flags="fv")
    for name in names:
        element = re.fullmatch(r"(\w+)\[(.+)\]", name)
        if element:
            array = state.own.get(element.group(1))
            if isinstance(array, Array):
                array.pop(state.key(array, element.group(2)), None)
        elif "f" in found or (state.get(name) is None and name in state.functions):
            state.functions.pop(name, None)
        else:
            state.unset(name)


def let(arguments, streams):
    """let EXPRESSION...: calculates"""
    from .arithmetic import calculate

    value = 0
    for argument in arguments:
        value = calculate(argument, state_of(streams))
    return int(not value)


def read(arguments, streams):
    """read [-r] [-a ARRAY] [-d CHARACTER] [-n COUNT] [NAME...]: a line of the input into variables"""
    state = state_of(streams)
    found, names = options.parse(arguments, flags="rse", values="adnNptu")
    if "u" in found and found["u"] != "0":
        raise Refused("-u: there is no input but 0", 2)
    end = found.get("d", "\n")[:1].encode() or b"\0"
    limit = options.number(found.get("n", found.get("N", "-1")))
    data, ended = _read_line(streams.input, end, limit, "r" in found)
    separators = state.text("IFS")
    separators = " \t\n" if separators is None else separators
    if "a" in found:
        state.unset(found["a"])
        state.own[found["a"]] = Array(enumerate(_split(data, separators, None)))
    elif not names:
        state.set("REPLY", "".join([char for char, _ in data]))
    else:
        values = _split(data, separators, len(names))
        for number, name in enumerate(names):
            if not _NAME.fullmatch(name):
                raise Refused(f"`{name}': not a valid identifier")
            state.set(name, values[number] if number < len(values) else "")
    return 0 if ended else 1


def _read_line(source, end, limit, raw):
    """Characters as `(character, whether it was escaped)`, and whether the end of the line was found."""
    chars, pending = [], b""
    while limit < 0 or len(chars) < limit:
        if end == b"\n" and limit < 0:
            line = source.readline(_MAX_LINE)
            ended = line.endswith(b"\n")
            text = decode(line.removesuffix(b"\n"))
            at = 0
            while at < len(text):
                if text[at] == "\\" and not raw:
                    at += 1
                    if at < len(text):
                        chars.append((text[at], True))
                    elif ended:
                        break  # the line goes on
                else:
                    chars.append((text[at], False))
                at += 1
            else:
                return chars, ended
            continue
        byte = source.read(1)
        if not byte:
            return chars, False
        if byte == end and not pending:
            return chars, True
        pending += byte
        try:
            chars.append((pending.decode(), False))
        except UnicodeDecodeError:
            if len(pending) < 4:
                continue
            chars += [(char, False) for char in decode(pending)]
        pending = b""
    return chars, True


def _split(chars, separators, count):
    """The words of a line; the last of `count` has all that is left."""
    blanks = " \t\n"

    def is_separator(at):
        return not chars[at][1] and chars[at][0] in separators

    def is_blank(at):
        return is_separator(at) and chars[at][0] in blanks

    begin, end = 0, len(chars)
    while begin < end and is_blank(begin):
        begin += 1
    while end > begin and is_blank(end - 1):
        end -= 1
    words, at = [], begin
    while at < end:
        if count is not None and len(words) == count - 1:
            text = "".join([char for char, _ in chars[at:end]])
            inner = [number for number in range(at, end) if is_separator(number)]
            # One separator at the very end belongs to the last word's end.
            if len(inner) == 1 and inner[0] == end - 1:
                text = text[:-1]
            words.append(text)
            break
        start = at
        while at < end and not is_separator(at):
            at += 1
        words.append("".join([char for char, _ in chars[start:at]]))
        while at < end and is_blank(at):
            at += 1
        if at < end and is_separator(at):
            at += 1
            while at < end and is_blank(at):
                at += 1
    return words


def mapfile(arguments, streams):
    """mapfile [-t] [NAME]: the lines of the input into an array"""
    found, names = options.parse(arguments, flags="t", values="dn")
    data = decode(streams.input.read())
    end = found.get("d", "\n") or "\0"
    lines = data.split(end)
    if not lines[-1]:
        lines.pop()
    elif "t" not in found:
        lines[-1:] = [lines[-1]]
    lines = [line + ("" if "t" in found else end) for line in lines]
    if "n" in found and options.number(found["n"]):
        lines = lines[: options.number(found["n"])]
    state_of(streams).own[names[0] if names else "MAPFILE"] = Array(enumerate(lines))
