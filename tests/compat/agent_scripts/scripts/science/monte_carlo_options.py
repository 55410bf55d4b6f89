import math
import statistics
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np


@dataclass(frozen=True, slots=True)
class Option:
    spot: float
    strike: float
    rate: float
    sigma: float
    years: float

    def black_scholes(self) -> float:
        d1 = (math.log(self.spot / self.strike) + (self.rate + self.sigma**2 / 2) * self.years) / (
            self.sigma * math.sqrt(self.years)
        )
        d2 = d1 - self.sigma * math.sqrt(self.years)
        phi = NormalDist().cdf
        return self.spot * phi(d1) - self.strike * math.exp(-self.rate * self.years) * phi(d2)

    def simulate(self, paths: int, seed: int) -> tuple[float, float]:
        z = np.random.default_rng(seed).standard_normal(paths)
        end = self.spot * np.exp((self.rate - self.sigma**2 / 2) * self.years + self.sigma * math.sqrt(self.years) * z)
        payoff = np.exp(-self.rate * self.years) * np.maximum(end - self.strike, 0)
        return float(payoff.mean()), float(payoff.std(ddof=1) / math.sqrt(paths))


option = Option(100, 105, 0.03, 0.25, 0.5)
exact = option.black_scholes()
print(option, f'{exact:.6f}')
for paths in (1_000, 10_000, 100_000):
    price, error = option.simulate(paths, seed=paths)
    print(f'{paths:>8,} {price:9.5f} ±{1.96 * error:.5f} inside={abs(price - exact) < 3 * error}')
rng = np.random.default_rng(5)
returns = rng.multivariate_normal([0.0005, 0.0003], [[0.0001, 0.00004], [0.00004, 0.0002]], 5000) @ [0.6, 0.4]
print(f'VaR 95%: {-np.percentile(returns, 5):.5f} CVaR: {-returns[returns <= np.percentile(returns, 5)].mean():.5f}')
print('birthday', round(1 - math.prod((365 - i) / 365 for i in range(23)), 6), statistics.quantiles(range(1, 11), n=4))
doors = rng.integers(0, 3, (10_000, 2))
print('Monty Hall switch', (doors[:, 0] != doors[:, 1]).mean())
try:
    option.spot = 5
except Exception as e:
    print(type(e).__name__, e)
Option(100, -5, 0.03, 0.25, 0.5).black_scholes()
