import numpy as np

rng = np.random.default_rng(12345)
print(rng)
print(rng.random(3), rng.integers(0, 10, 8), rng.normal(size=3))
print(rng.choice(['red', 'green', 'blue'], 5, p=[0.5, 0.3, 0.2]), rng.choice(20, 5, replace=False))
print(rng.permutation(8), rng.poisson(3, 6), rng.binomial(10, 0.3, 5), rng.exponential(2.0))
print(rng.uniform(-1, 1, (2, 2)), rng.gamma(2, 2, 2), rng.beta(1, 2), rng.standard_t(5))
print(rng.multivariate_normal([0, 0], [[2, 0.5], [0.5, 1]], 2).round(6), rng.dirichlet([1, 1, 1]))
print(rng.integers(0, 2**63 - 1, 2), rng.integers(256, size=4, dtype=np.uint8), rng.bytes(4).hex())
items = list('abcdef')
rng.shuffle(items)
print(items, rng.permuted([[1, 2, 3], [4, 5, 6]], axis=1))
children = np.random.SeedSequence(42).spawn(2)
print([np.random.default_rng(c).integers(1000) for c in children])
print(np.random.Generator(np.random.MT19937(7)).random(2), np.random.Generator(np.random.Philox(7)).random())
state = rng.bit_generator.state
first = rng.random()
rng.bit_generator.state = state
print(first == rng.random(), state['bit_generator'])
print(rng.zipf(2.0, 5), rng.hypergeometric(10, 5, 4), rng.vonmises(0, 1), rng.geometric(0.2), rng.logistic())
for action in (
    lambda: rng.integers(5, 2),
    lambda: rng.choice([]),
    lambda: rng.choice(3, p=[0.5, 0.2, 0.2]),
    lambda: rng.normal(0, -1),
):
    try:
        action()
    except ValueError as e:
        print('ValueError:', e)
