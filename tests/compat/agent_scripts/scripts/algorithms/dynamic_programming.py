"""Knapsack, edit distance, coin change and friends."""

import functools
import itertools
import sys


def knapsack(items, room):
    best = [(0, ())] * (room + 1)
    for name, weight, value in items:
        for left in range(room, weight - 1, -1):
            best[left] = max(best[left], (best[left - weight][0] + value, (*best[left - weight][1], name)))
    return best[room]


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@functools.cache
def ways(amount, coins=(1, 2, 5, 10, 20, 50, 100, 200)):
    if amount == 0:
        return 1
    if amount < 0 or not coins:
        return 0
    return ways(amount - coins[-1], coins) + ways(amount, coins[:-1])


def subsequence(a, b):
    table = [[''] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + x if x == y else max(table[i][j + 1], table[i + 1][j], key=len)
    return table[-1][-1]


print(knapsack([('map', 9, 150), ('water', 53, 200), ('tin', 68, 45), ('glucose', 15, 60), ('cheese', 23, 30)], 100))
print(distance('kitten', 'sitting'), distance('', 'abc'), ways(200), ways.cache_info())
print(
    subsequence('AGGTAB', 'GXTXAYB'),
    sum(
        1
        for p in itertools.permutations(range(6))
        if all(abs(p[i] - p[j]) != j - i for i in range(6) for j in range(i + 1, 6))
    ),
)


@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(90), fib.cache_info().currsize, sys.getrecursionlimit())
try:
    fib(10**5)
except RecursionError as error:
    print(type(error).__name__)
