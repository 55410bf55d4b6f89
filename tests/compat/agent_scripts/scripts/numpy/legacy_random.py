import random

import numpy as np

np.random.seed(0)
random.seed(0)
print(np.random.rand(3), np.random.randn(3), np.random.randint(0, 100, 5))
print(np.random.choice(['a', 'b', 'c'], 4), np.random.permutation(5), np.random.random_sample())
print(np.random.randint(0, 2**31 - 1), np.random.randint(0, 2**40), np.random.randint(0, 255, 3, dtype=np.uint8))
state = np.random.RandomState(3)
print(state.normal(5, 2, 4), state.beta(2, 3), state.poisson(4, 5), state.standard_cauchy(), state.lognormal())
print([random.randint(1, 6) for _ in range(8)], random.random(), random.gauss(0, 1), random.sample(range(50), 4))
heads = np.random.binomial(1, 0.5, 1000)
print(heads.mean(), np.random.normal(size=10_000).std().round(6))
deck = np.arange(10)
np.random.shuffle(deck)
print(deck, np.random.get_state()[0], np.random.get_state()[2])
walk = np.cumsum(np.random.choice([-1, 1], 50))
print(walk.min(), walk.max(), walk[-1])
inside = (np.random.uniform(-1, 1, (100_000, 2)) ** 2).sum(axis=1) <= 1
print(f'pi is about {4 * inside.mean():.5f}')
print(np.random.multinomial(20, [1 / 6] * 6), np.random.triangular(0, 1, 2), np.random.weibull(2))
np.random.seed(-1)
