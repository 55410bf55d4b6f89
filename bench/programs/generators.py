"""Generators, delegation, coroutines by send, itertools."""

import itertools


def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth
        yield from tree(depth - 1)


def average():
    total, count, mean = 0, 0, 0.0
    while True:
        total += yield mean
        count += 1
        mean = total / count


def pipeline(numbers):
    squares = (n * n for n in numbers)
    odd = (n for n in squares if n & 1)
    return (a - b for a, b in zip(odd, itertools.count(3, 5)))


def run():
    walked = sum(tree(13))
    averager = average()
    next(averager)
    for number in range(40_000):
        mean = averager.send(number % 101)
    piped = sum(pipeline(range(60_000)))
    chained = sum(1 for _ in itertools.islice(itertools.chain.from_iterable(itertools.repeat(range(9))), 40_000))
    groups = [sum(group) for _, group in itertools.groupby(range(30_000), key=lambda n: n // 100)]
    return [walked, round(mean, 6), piped, chained, groups[-1]]
