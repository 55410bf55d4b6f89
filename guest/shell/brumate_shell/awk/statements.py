"""Statements of `awk` as functions without arguments."""

from brumate_shell.streams import Refused

from .expressions import Expressions, Return, Signal
from .values import NOTHING, Input, formatted, number, text, truth

# Turns of one loop.
MAX_LOOP_TURNS = 100_000_000


class Break(Signal):
    pass


class Continue(Signal):
    pass


class Next(Signal):
    pass


class NextFile(Signal):
    pass


class Exit(Signal):
    pass


class Statements(Expressions):
    """Turns statements into functions."""

    # Statements: each becomes a function without arguments.

    def statement(self, node):
        return getattr(self, "do_" + node[0])(*node[1:])

    def do_block(self, statements):
        steps = [self.statement(one) for one in statements]
        if len(steps) == 1:
            return steps[0]

        def run():
            for step in steps:
                step()

        return run

    def do_value(self, node):
        return self.value(node)

    def do_if(self, condition, body, otherwise):
        test, first = self.value(condition), self.statement(body)
        second = self.statement(otherwise) if otherwise is not None else None

        def run():
            if truth(test()):
                first()
            elif second is not None:
                second()

        return run

    def do_while(self, condition, body):
        return self.loop(None, self.value(condition), None, self.statement(body))

    def do_for(self, first, condition, following, body):
        return self.loop(
            first and self.statement(first), condition and self.value(condition),
            following and self.statement(following),
            self.statement(body),
        )  # fmt: skip

    def loop(self, first, test, following, body):
        def run():
            if first is not None:
                first()
            turns = 0
            try:
                while test is None or truth(test()):
                    try:
                        body()
                    except Continue:
                        pass
                    if following is not None:
                        following()
                    turns += 1
                    if turns > MAX_LOOP_TURNS:
                        raise Refused("a loop takes too many turns", 2)
            except Break:
                pass

        return run

    def do_do(self, body, condition):
        again, test = self.statement(body), self.value(condition)

        def run():
            try:
                while True:
                    try:
                        again()
                    except Continue:
                        pass
                    if not truth(test()):
                        break
            except Break:
                pass

        return run

    def do_each(self, variable, array, body):
        put, of, step = self.setter(variable), self.array(array), self.statement(body)

        def run():
            try:
                for key in list(of()):
                    put(Input(key))
                    try:
                        step()
                    except Continue:
                        pass
            except Break:
                pass

        return run

    def do_break(self):
        return _raising(Break)

    def do_continue(self):
        return _raising(Continue)

    def do_next(self):
        return _raising(Next)

    def do_nextfile(self):
        return _raising(NextFile)

    def do_exit(self, node):
        status = self.value(node) if node is not None else None

        def run():
            if status is not None:
                self.status = int(number(status())) & 0xFF
            raise Exit

        return run

    def do_return(self, node):
        result = self.value(node) if node is not None else None

        def run():
            raise Return(result() if result is not None else NOTHING)

        return run

    def do_delete(self, name, subscripts):
        of = self.array(name)
        if subscripts is None:
            return lambda: of().clear()
        key = self.key(subscripts)
        return lambda: of().pop(key(), None)

    def do_print(self, values, target):
        parts, write, variables = [self.value(one) for one in values], self.writer(target), self.variables
        if not parts:
            parts = [lambda: self.record.get(0)]

        def run():
            form = variables["OFMT"]
            write(
                str(text(variables["OFS"])).join([str(text(part(), form)) for part in parts])
                + str(text(variables["ORS"]))
            )

        return run

    def do_printf(self, values, target):
        parts, write, variables = [self.value(one) for one in values], self.writer(target), self.variables

        def run():
            form, *rest = [part() for part in parts]
            write(formatted(str(text(form)), rest, variables["CONVFMT"]))

        return run

    def writer(self, target):
        if target is None:
            return self.streams.out.write
        operator, path = target[0], self.value(target[1])
        return lambda said: self.files.write(operator, str(text(path())), said)


def _raising(kind):
    def run():
        raise kind

    return run
