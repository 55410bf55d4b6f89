"""List, set and dictionary comprehensions, unpacking, a game of life on a torus."""

SIZE = 48


def step(alive):
    neighbours = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy]
    counts = {}
    for x, y in alive:
        for dx, dy in neighbours:
            cell = (x + dx) % SIZE, (y + dy) % SIZE
            counts[cell] = counts.get(cell, 0) + 1
    return {cell for cell, count in counts.items() if count == 3 or (count == 2 and cell in alive)}


def run():
    alive = {(x, y) for x in range(SIZE) for y in range(SIZE) if (x * 73 ^ y * 151) % 11 < 4}
    for _ in range(10):
        alive = step(alive)
    sieve = [True] * 40_000
    for n in range(2, 200):
        if sieve[n]:
            sieve[n * n :: n] = [False] * len(sieve[n * n :: n])
    primes = [n for n, prime in enumerate(sieve) if prime and n > 1]
    matrix = [[(i * j) % 10 for j in range(60)] for i in range(60)]
    product = [[sum(a * b for a, b in zip(row, column)) for column in zip(*matrix)] for row in matrix[:15]]
    squares = {n: n * n for n in range(20_000) if n % 3}
    first, *middle, last = squares.values()
    return [len(alive), len(primes), product[7][11], len(middle), first, last]
