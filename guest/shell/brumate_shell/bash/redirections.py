"""Assignments and redirections."""

import io
import os

from brumate_shell.streams import Nowhere, Refused, Streams, Target, encode

from . import expansion
from .arithmetic import calculate
from .signals import Exit
from .state import Array, Fatal
from .words import ShellSyntaxError


class Redirections:
    """Puts values and files in place. The shell is the subclass."""

    def assign(self, node):
        """Makes one assignment."""
        state, name = self.state, node.name
        if isinstance(node.value, list):
            self.assign_array(node)
            return
        value = expansion.text(node.value, self, assigned=True)
        if node.index is not None:
            index = expansion.text(node.index, self)
            if node.adds:
                array = state.get(name)
                present = array.get(state.key(array, index)) if isinstance(array, Array) else None
                value = (present or "") + value
            state.set_element(name, index, value)
            return
        if node.adds:
            before = state.text(name) or ""
            value = (
                str(calculate(f"({before or 0})+({value or 0})", state)) if name in state.integers else before + value
            )
        state.set(name, value)

    def assign_array(self, node):
        state, before = self.state, self.state.get(node.name)
        array = Array()
        array.associative = isinstance(before, Array) and before.associative
        if node.adds and before is not None:
            array.update(before if isinstance(before, Array) else {0: before})
        following = max(array, default=-1) + 1 if not array.associative else 0
        for index, word in node.value:
            if index is not None:
                key = state.key(array, expansion.text(index, self))
                array[key] = expansion.text(word, self)
                following = key + 1 if not array.associative else 0
            elif array.associative:
                raise Refused(f"{node.name}: an associative array needs [key]=value")
            else:
                for value in expansion.fields(word, self):
                    array[following] = value
                    following += 1
        if node.name in state.readonly:
            raise Refused(f"{node.name}: readonly variable")
        state.own[node.name] = array

    def redirected(self, redirections, streams, opened):
        """The streams with what is redirected; files are added to `opened`."""
        if not redirections:
            return streams
        places = {0: streams.input, 1: streams.out, 2: streams.err}
        for one in redirections:
            operator = one.operator
            if operator in (">&", "<&"):
                target = one.target.plain()
                fd = one.fd if one.fd is not None else 1 if operator == ">&" else 0
                if target == "-":
                    places[fd] = Nowhere() if fd else _nothing()
                elif target in ("0", "1", "2") and (fd == 0) == (target == "0"):
                    places[fd] = places[int(target)]
                else:
                    raise Refused(f"the redirection {fd}{operator}{target} is not supported: there are 0, 1 and 2", 2)
                continue
            text = expansion.text(one.target, self)
            if operator in ("<<", "<<<"):
                places[0] = _bytes(text + ("\n" if operator == "<<<" else ""))
            elif operator == "<":
                if text == "/dev/null":
                    places[0] = _nothing()
                elif text != "/dev/stdin":
                    places[0] = open(text, "rb")
                    opened.append(places[0])
            else:
                file = self.opened_target(text, operator, places, opened)
                if operator[0] == "&":
                    places[1] = places[2] = file
                else:
                    places[1 if one.fd is None else one.fd] = file
        return Streams(places[0], places[1], places[2], self)

    def opened_target(self, path, operator, places, opened):
        if path == "/dev/null":
            return Nowhere()
        if path in ("/dev/stdout", "/dev/stderr", "/dev/tty"):
            return places[2 if path == "/dev/stderr" else 1]
        if "noclobber" in self.state.options and operator in (">", "&>"):
            if os.path.isfile(path):
                raise Refused(f"{path}: cannot overwrite existing file")
        file = Target(path, operator.endswith(">>"))
        opened.append(file)
        return file

    def compound(self, node, streams, run):
        """Runs a construct with its redirections in place."""
        if not node.redirections:
            return run(node, streams)
        opened, self.streams = [], streams
        try:
            try:
                inner = self.redirected(node.redirections, streams, opened)
            except Fatal as error:
                raise Exit(status=self.report("bash", error, streams)) from None
            except (Refused, ShellSyntaxError, OSError) as error:
                return self.report("bash", error, streams)
            return run(node, inner)
        finally:
            for file in opened:
                file.close()


def _bytes(text):
    return io.BytesIO(encode(text))


def _nothing():
    return _bytes("")
