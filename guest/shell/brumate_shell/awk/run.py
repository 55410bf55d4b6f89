"""Runs an `awk` program: its tree is turned into functions, which are then called."""

from brumate_shell.streams import Refused

from .expressions import Return
from .functions import Random
from .records import Files, Reader, Record, environment
from .statements import Break, Continue, Exit, Next, NextFile, Statements
from .values import Array, Input, number, text, truth


class Program(Statements):
    """A program with its variables. `run()` gives the exit status."""

    def __init__(self, tree, streams, separator, assigned, operands):
        self.tree = tree
        self.streams = streams
        self.variables = {
            "FS": separator, "OFS": " ", "ORS": "\n", "RS": "\n", "NR": 0.0, "FNR": 0.0, "SUBSEP": "\x1c",
            "CONVFMT": "%.6g", "OFMT": "%.6g", "RSTART": 0.0, "RLENGTH": -1.0, "FILENAME": "",
            "ENVIRON": Array(environment()), "ARGC": float(len(operands) + 1),
            "ARGV": Array({"0": "awk", **{str(number): Input(one) for number, one in enumerate(operands, 1)}}),
        }  # fmt: skip
        self.record = Record(self.variables)
        self.files = Files(streams)
        self.main = None
        self.next_operand = 1
        self.took_file = False
        self.locals = []
        self.calls = 0
        self.status = 0
        self.random = Random()
        self.functions = {}
        for name, value in assigned:
            self.assign_text(name, value)
        for name in tree.functions:
            self.functions[name] = None
        for name, (parameters, body) in tree.functions.items():
            self.functions[name] = (len(parameters), self.statement(body))

    def assign_text(self, name, value):
        from .lexer import unescaped

        self.setter(("name", name))(Input(unescaped(value)))

    # The run.

    def run(self):
        tree = self.tree
        begin = [self.statement(body) for body in tree.begin]
        end = [self.statement(body) for body in tree.end]
        rules = [self.rule(pattern, body) for pattern, body in tree.rules]
        try:
            try:
                for body in begin:
                    body()
                if rules or end:
                    self.read_all(rules)
            except Exit:
                # After an `exit` in BEGIN or a rule END is run all the same.
                pass
            else:
                if not rules and not end:
                    return self.status
            try:
                for body in end:
                    body()
            except Exit:
                pass
        except (Next, NextFile):
            raise Refused("next is used in BEGIN or END", 2) from None
        except Return:
            raise Refused("return is used outside of a function", 2) from None
        except (Break, Continue):
            raise Refused("break or continue is used outside of a loop", 2) from None
        except RecursionError:
            raise Refused("functions are nested too deeply", 2) from None
        finally:
            self.files.close_all()
        return self.status

    def read_all(self, rules):
        while self.read_record():
            try:
                for rule in rules:
                    rule()
            except Next:
                pass
            except NextFile:
                self.main = None

    def rule(self, form, body):
        if body is None:
            record, out, variables = self.record, self.streams.out, self.variables

            def run():
                out.write(str(record.get(0)) + str(text(variables["ORS"])))
        else:
            run = self.statement(body)
        if form is None:
            return run
        first = self.value(form[1])
        if form[0] == "one":

            def check():
                if truth(first()):
                    run()

            return check
        last, state = self.value(form[2]), [False]

        def check_range():
            if not state[0]:
                if not truth(first()):
                    return
                state[0] = True
            if truth(last()):
                state[0] = False
            run()

        return check_range

    def read_line(self):
        """The next record of the main input, or None."""
        while True:
            if self.main is None and not self.next_file():
                return None
            line = self.main.next(str(text(self.variables["RS"])))
            if line is not None:
                self.variables["NR"] = number(self.variables["NR"]) + 1
                self.variables["FNR"] = number(self.variables["FNR"]) + 1
                return line
            self.main = None

    def read_record(self):
        line = self.read_line()
        if line is None:
            return False
        self.record.set(line)
        return True

    def next_file(self):
        """Opens the next operand; assignments among them are made."""
        variables = self.variables
        while self.next_operand < number(variables["ARGC"]):
            operand = str(variables["ARGV"].get(str(self.next_operand), ""))
            self.next_operand += 1
            if not operand:
                continue
            name, equals, value = operand.partition("=")
            if equals and name.isidentifier():
                self.assign_text(name, value)
                continue
            self.took_file = True
            try:
                self.main = Reader(self.files.read(operand))
            except OSError as error:
                self.streams.err.write(f"awk: cannot open \"{operand}\" ({error.strerror})\n")
                self.status = 2
                continue
            variables["FILENAME"] = Input(operand)
            variables["FNR"] = 0.0
            return True
        if self.took_file:
            return False
        self.took_file = True
        self.main = Reader(self.files.read("-"))
        variables["FNR"] = 0.0
        return True
