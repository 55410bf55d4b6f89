"""Sorting with and without keys, bisect and heapq."""

import bisect
import heapq
from operator import itemgetter


def records(count, state=99):
    made = []
    for number in range(count):
        state = (state * 48271) % 2147483647
        made.append((state % 1000, f"name{state % 7919:05d}", state / 3, number))
    return made


def run():
    rows = records(12_000)
    by_name = sorted(rows, key=lambda row: (row[1], -row[3]))
    by_value = sorted(rows, key=itemgetter(2), reverse=True)
    stable = sorted(by_name, key=itemgetter(0))
    plain = sorted(row[2] for row in rows)
    place = sum(bisect.bisect(plain, value * 70_000.0) for value in range(10_000))
    heap = []
    for row in rows[:6000]:
        heapq.heappush(heap, row[2])
    smallest = [heapq.heappop(heap) for _ in range(3000)]
    if smallest != sorted(smallest):
        raise AssertionError("heap out of order")
    return [by_name[0][3], by_value[0][3], stable[5][3], place, round(smallest[-1], 3)]
