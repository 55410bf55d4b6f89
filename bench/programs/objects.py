"""Dataclasses, properties, operators and method calls."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Vector:
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    @property
    def length(self):
        return (self.x * self.x + self.y * self.y) ** 0.5


@dataclass(order=True)
class Account:
    name: str
    balance: int = 0
    history: list = field(default_factory=list, compare=False)

    def deposit(self, amount):
        self.balance += amount
        self.history.append(amount)
        return self

    def transfer(self, amount, other):
        self.deposit(-amount)
        other.deposit(amount)


class Saver(Account):
    def deposit(self, amount):
        return super().deposit(amount + (amount > 0))


def run():
    position, speed = Vector(0.0, 0.0), Vector(1.0, 0.5)
    travelled = 0.0
    for step in range(15_000):
        position = position + speed * 0.01
        travelled += position.length
    accounts = [(Saver if n % 2 else Account)(f"a{n:02d}") for n in range(20)]
    for n in range(15_000):
        accounts[n % 20].transfer(n % 13, accounts[(n * 7 + 1) % 20])
    best = max(accounts[::2])
    same = sum(a == b for a in accounts for b in accounts)
    return [round(travelled, 4), best.name, sum(a.balance for a in accounts), same, len(best.history)]
