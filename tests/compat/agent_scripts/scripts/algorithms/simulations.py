"""Seeded simulations: a queue, a random walk, a genetic search."""

import random
import statistics

import simpy

rng = random.Random(42)
waits = []


def customer(env, desk, name):
    arrived = env.now
    with desk.request() as turn:
        yield turn
        waits.append(round(env.now - arrived, 3))
        yield env.timeout(rng.expovariate(1 / 4))


def source(env, desk):
    for number in range(20):
        env.process(customer(env, desk, number))
        yield env.timeout(rng.uniform(1, 3))


env = simpy.Environment()
desk = simpy.Resource(env, capacity=2)
env.process(source(env, desk))
env.run()
print(round(env.now, 4), round(statistics.fmean(waits), 4), max(waits), len([w for w in waits if w > 1]))
place, path = 0, []
for _ in range(1000):
    place += rng.choice((-1, 1))
    path.append(place)
print(path[-1], min(path), max(path), path.index(max(path)), statistics.pstdev(path))
TARGET = 'hello world'
LETTERS = 'abcdefghijklmnopqrstuvwxyz '
pool = [''.join(rng.choices(LETTERS, k=len(TARGET))) for _ in range(60)]
for generation in range(300):
    pool.sort(key=lambda text: -sum(a == b for a, b in zip(text, TARGET, strict=True)))
    if pool[0] == TARGET:
        break
    parents = pool[:15]
    pool = parents + [
        ''.join(
            rng.choice(pair) if rng.random() > 0.05 else rng.choice(LETTERS)
            for pair in zip(*rng.sample(parents, 2), strict=True)
        )
        for _ in range(45)
    ]
print(generation, pool[0])
print(
    rng.sample(range(100), 5),
    rng.gauss(0, 1),
    rng.betavariate(2, 3),
    rng.triangular(0, 1, 0.3),
    rng.getrandbits(70),
    rng.randbytes(4),
)
print(
    random.Random('text').random(),
    random.Random(b'x').randint(1, 10**20),
    random.Random(1.5).choices('ab', [1, 9], k=5),
)
