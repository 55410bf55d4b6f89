"""Expressions of `awk` as functions: each gives its value when it is called."""

from brumate_shell.streams import Refused

from . import functions
from .records import pattern
from .values import NOTHING, Array, Input, calculated, compared, number, text, truth

# Functions of the program inside each other.
MAX_CALLS = 150


class Signal(Exception):
    """What leaves a loop, a rule, a function or the program."""


class Return(Signal):
    def __init__(self, value):
        super().__init__()
        self.value = value


class Untyped:
    """An argument that was not set: it becomes an array, for the caller too, when it is used as one."""

    def __init__(self, bind):
        self.bind = bind
        self.array = None

    def as_array(self):
        if self.array is None:
            self.array = Array()
            self.bind(self.array)
        return self.array


class Expressions:
    """Turns expressions into functions. Variables and records are the program's, which is the subclass."""

    # Variables.

    def setter(self, node):
        """A function that sets what can be assigned to."""
        kind, variables = node[0], self.variables
        if kind == "group":
            return self.setter(node[1])
        if kind == "field":
            index, record = self.value(node[1]), self.record
            return lambda value: record.put(int(number(index())), value)
        if kind == "element":
            of, key = self.array(node[1]), self.key(node[2])

            def put(value):
                of()[key()] = value

            return put
        if kind == "local":
            number_ = node[1]

            def put_local(value):
                self.locals[-1][number_] = value

            return put_local
        name = node[1]
        if name == "NF":
            return self.record.set_count

        def put_global(value):
            if type(variables.get(name)) is Array:
                raise Refused(f"{name} is an array", 2)
            variables[name] = value

        if name in ("FS", "RS"):

            def put_separator(value):
                # The record that is there is split by what was valid before.
                self.record.split()
                variables[name] = str(text(value))

            return put_separator
        return put_global

    def array(self, node):
        """A function that gives an array; it is made when there is none."""
        if node[0] == "local":
            index = node[1]

            def local_array():
                value = self.locals[-1][index]
                if type(value) is Array:
                    return value
                if type(value) is Untyped:
                    return value.as_array()
                if value is not NOTHING:
                    raise Refused(f"{node[2]} is no array", 2)
                value = self.locals[-1][index] = Array()
                return value

            return local_array
        name, variables = node[1], self.variables

        def global_array():
            value = variables.get(name)
            if type(value) is not Array:
                if value is not None:
                    raise Refused(f"{name} is no array", 2)
                value = variables[name] = Array()
            return value

        return global_array

    def key(self, subscripts):
        parts, variables = [self.value(one) for one in subscripts], self.variables
        if len(parts) == 1:
            (part,) = parts
            return lambda: str(text(part(), variables["CONVFMT"]))
        return lambda: str(variables["SUBSEP"]).join([str(text(part(), variables["CONVFMT"])) for part in parts])

    # Expressions: each becomes a function that gives its value.

    def value(self, node):
        return getattr(self, "get_" + node[0])(*node[1:])

    def get_number(self, value):
        return lambda: value

    get_string = get_number

    def get_regex(self, source):
        search, record = pattern(source).search, self.record
        return lambda: 1.0 if search(record.get(0)) else 0.0

    def get_group(self, node):
        return self.value(node)

    def get_name(self, name):
        variables = self.variables
        if name == "NF":
            return lambda: float(self.record.count())

        def get():
            value = variables.get(name, NOTHING)
            if type(value) is Array:
                raise Refused(f"{name} is an array", 2)
            return value

        return get

    def get_local(self, index, name):
        def get():
            value = self.locals[-1][index]
            if type(value) is Array:
                raise Refused(f"{name} is an array", 2)
            return NOTHING if type(value) is Untyped else value

        return get

    def get_element(self, name, subscripts):
        of, key = self.array(name), self.key(subscripts)

        def get():
            return of().setdefault(key(), NOTHING)

        return get

    def get_field(self, node):
        record = self.record
        if node[0] == "number":
            index = int(node[1])
            return lambda: record.get(index)
        index = self.value(node)
        return lambda: record.get(int(number(index())))

    def get_assign(self, target, node):
        put, get = self.setter(target), self.value(node)

        def run():
            value = get()
            put(value)
            return value

        return run

    def get_change(self, operator, target, node):
        put, before, get = self.setter(target), self.value(target), self.value(node)

        def run():
            value = get()
            value = calculated(operator, number(before()), number(value))
            put(value)
            return value

        return run

    def get_after(self, operator, target):
        put, get, step = self.setter(target), self.value(target), 1.0 if operator == "++" else -1.0

        def run():
            before = number(get())
            put(before + step)
            return before

        return run

    def get_before(self, operator, target):
        put, get, step = self.setter(target), self.value(target), 1.0 if operator == "++" else -1.0

        def run():
            value = number(get()) + step
            put(value)
            return value

        return run

    def get_choose(self, condition, first, second):
        test, one, other = self.value(condition), self.value(first), self.value(second)
        return lambda: one() if truth(test()) else other()

    def get_or(self, first, second):
        a, b = self.value(first), self.value(second)
        return lambda: 1.0 if truth(a()) or truth(b()) else 0.0

    def get_and(self, first, second):
        a, b = self.value(first), self.value(second)
        return lambda: 1.0 if truth(a()) and truth(b()) else 0.0

    def get_not(self, node):
        get = self.value(node)
        return lambda: 0.0 if truth(get()) else 1.0

    def get_in(self, subscripts, name):
        key, of = self.key(subscripts), self.array(name)
        return lambda: 1.0 if key() in of() else 0.0

    def pattern(self, node):
        """A function that gives the expression a node stands for."""
        if node[0] == "regex":
            found = pattern(node[1])
            return lambda: found
        get = self.value(node)
        return lambda: pattern(str(text(get())))

    def get_match(self, node, form):
        get, expression, variables = self.value(node), self.pattern(form), self.variables
        return lambda: 1.0 if expression().search(text(get(), variables["CONVFMT"])) else 0.0

    def get_compare(self, operator, first, second):
        a, b, variables = self.value(first), self.value(second), self.variables
        return lambda: 1.0 if compared(operator, a(), b(), variables["CONVFMT"]) else 0.0

    def get_join(self, first, second):
        a, b, variables = self.value(first), self.value(second), self.variables

        def run():
            form = variables["CONVFMT"]
            return str(text(a(), form)) + str(text(b(), form))

        return run

    def get_sum(self, operator, first, second):
        a, b = self.value(first), self.value(second)
        if operator == "+":
            return lambda: number(a()) + number(b())
        return lambda: calculated(operator, number(a()), number(b()))

    def get_sign(self, operator, node):
        get = self.value(node)
        return (lambda: -number(get())) if operator == "-" else lambda: number(get())

    def get_builtin(self, name, nodes):
        return functions.made(self, name, nodes)

    def get_getline(self, target, source):
        put = self.setter(target) if target is not None else self.record.set
        if source is None:

            def from_main():
                line = self.read_line()
                if line is None:
                    return 0.0
                put(Input(line))
                return 1.0

            return from_main
        path = self.value(source)

        def from_file():
            reader = self.files.reader(str(text(path())))
            if reader is None:
                return -1.0
            line = reader.next(str(text(self.variables["RS"])))
            if line is None:
                return 0.0
            put(Input(line))
            return 1.0

        return from_file

    def get_call(self, name, nodes):
        if name not in self.functions:
            raise Refused(f"the function {name} is not defined", 2)
        if len(nodes) > len(self.tree.functions[name][0]):
            raise Refused(f"the function {name} has fewer parameters", 2)
        arguments = [self.argument(node) for node in nodes]

        def run():
            count, body = self.functions[name]
            values = [argument() for argument in arguments]
            values += [NOTHING] * (count - len(values))
            self.calls += 1
            if self.calls > MAX_CALLS:
                raise Refused(f"functions are nested more than {MAX_CALLS} deep", 2)
            self.locals.append(values)
            try:
                body()
            except Return as end:
                return end.value
            finally:
                self.locals.pop()
                self.calls -= 1
            return NOTHING

        return run

    def argument(self, node):
        """A function that gives an argument: arrays are passed themselves."""
        if node[0] == "name" and node[1] != "NF":
            name, variables = node[1], self.variables

            def pass_global():
                value = variables.get(name)
                return Untyped(lambda array: variables.__setitem__(name, array)) if value is None else value

            return pass_global
        if node[0] == "local":
            index = node[1]

            def pass_local():
                frame = self.locals[-1]
                value = frame[index]
                if value is NOTHING:
                    return Untyped(lambda array: frame.__setitem__(index, array))
                if type(value) is Untyped and value.array is not None:
                    return value.array
                return value

            return pass_local
        return self.value(node)
