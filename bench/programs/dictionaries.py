"""Counting, grouping and looking up in dictionaries and sets."""


def numbers(count, state=12345):
    for _ in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        yield state >> 8


def run():
    counts, groups, seen = {}, {}, set()
    for number in numbers(30_000):
        key = number % 5000
        counts[key] = counts.get(key, 0) + 1
        groups.setdefault(number % 97, []).append(number)
        seen.add(number)
    names = {f"key{key}": value for key, value in counts.items()}
    hits = sum(names.get(f"key{index}", 0) for index in range(20_000))
    even = {number for number in seen if not number & 1}
    triple = {number for number in seen if number % 3 == 0}
    for key in list(counts)[::2]:
        del counts[key]
    longest = max(map(len, groups.values()))
    return [len(counts), hits, len(even & triple), len(even | triple), len(even ^ triple), longest]
