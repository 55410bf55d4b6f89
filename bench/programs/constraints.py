"""A one-way constraint network that is planned and propagated again and again: polymorphic calls, small objects."""


class Variable:
    def __init__(self, name, value=0):
        self.name, self.value, self.readers, self.writer, self.mark = name, value, [], None, 0


class Constraint:
    strength = 1

    def __init__(self, output, *inputs):
        self.output, self.inputs = output, inputs
        for variable in inputs:
            variable.readers.append(self)

    def attach(self):
        old = self.output.writer
        if old is not None and old.strength >= self.strength:
            return False
        self.output.writer = self
        return True

    def detach(self):
        if self.output.writer is self:
            self.output.writer = None

    def execute(self):
        raise NotImplementedError


class Equal(Constraint):
    def execute(self):
        self.output.value = self.inputs[0].value


class Scale(Constraint):
    strength = 2

    def execute(self):
        source, factor, offset = self.inputs
        self.output.value = source.value * factor.value + offset.value


class Stay(Constraint):
    strength = 0

    def execute(self):
        pass


class Edit(Constraint):
    strength = 9

    def __init__(self, output):
        super().__init__(output)
        self.wanted = 0

    def execute(self):
        self.output.value = self.wanted


class Planner:
    def __init__(self):
        self.marks = 0

    def plan(self, start):
        """Constraints in the order in which a change of `start` flows."""
        self.marks += 1
        order, open_ = [], [start]
        while open_:
            constraint = open_.pop()
            variable = constraint.output
            if variable.writer is not constraint or variable.mark == self.marks:
                continue
            variable.mark = self.marks
            order.append(constraint)
            open_.extend(reader for reader in variable.readers if reader.output.mark != self.marks)
        return order


def chain(length):
    variables = [Variable(f"v{n}") for n in range(length + 1)]
    for before, after in zip(variables, variables[1:]):
        Equal(after, before).attach()
    return variables


def projection(size):
    factor, offset = Variable("factor", 10), Variable("offset", 1000)
    pairs = []
    for n in range(size):
        source, target = Variable(f"s{n}", n), Variable(f"t{n}", n)
        Stay(source).attach()
        Scale(target, source, factor, offset).attach()
        pairs.append((source, target))
    return factor, offset, pairs


def change(planner, variable, values):
    edit = Edit(variable)
    edit.attach()
    plan = planner.plan(edit)
    for value in values:
        edit.wanted = value
        for constraint in plan:
            constraint.execute()
    edit.detach()


def run():
    planner = Planner()
    variables = chain(400)
    for start in range(5):
        change(planner, variables[0], range(start, start + 40))
    factor, offset, pairs = projection(400)
    for round_ in range(40):
        change(planner, factor, (round_, round_ + 1))
        change(planner, offset, (round_ * 100,))
        change(planner, pairs[round_][0], (round_ * 7,))
    return [variables[-1].value, sum(target.value for _, target in pairs), planner.marks]
