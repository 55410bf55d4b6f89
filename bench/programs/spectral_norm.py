"""Largest singular value of an infinite matrix, by power iteration: nested float loops."""

SIZE = 90


def entry(i, j):
    return 1.0 / ((i + j) * (i + j + 1) // 2 + i + 1)


def times(vector):
    return [sum(entry(i, j) * x for j, x in enumerate(vector)) for i in range(SIZE)]


def transposed_times(vector):
    return [sum(entry(j, i) * x for j, x in enumerate(vector)) for i in range(SIZE)]


def run():
    u = [1.0] * SIZE
    for _ in range(6):
        v = transposed_times(times(u))
        u = transposed_times(times(v))
    uv = sum(a * b for a, b in zip(u, v))
    vv = sum(b * b for b in v)
    return round((uv / vv) ** 0.5, 9)
