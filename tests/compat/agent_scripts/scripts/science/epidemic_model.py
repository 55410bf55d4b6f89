from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import simpy
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar


class Params(NamedTuple):
    beta: float = 0.35
    gamma: float = 0.1
    population: int = 10_000


def sir(params: Params, days: int = 160) -> pd.DataFrame:
    n = params.population

    def rhs(_, y):
        s, i, _r = y
        return [-params.beta * s * i / n, params.beta * s * i / n - params.gamma * i, params.gamma * i]

    out = solve_ivp(rhs, (0, days), [n - 10, 10, 0], t_eval=np.arange(0, days + 1, 20), rtol=1e-8, atol=1e-6)
    return pd.DataFrame(out.y.T, columns=['S', 'I', 'R'], index=pd.Index(out.t.astype(int), name='day'))


frame = sir(Params())
print(frame.round(1))
print(
    'R0 =',
    round(Params().beta / Params().gamma, 2),
    'peak day',
    frame['I'].idxmax(),
    'total',
    frame['R'].iloc[-1].round(0),
)
ax = frame.plot(title='SIR')
ax.figure.savefig('sir.png')
fit = minimize_scalar(lambda b: ((sir(Params(b))['I'] - frame['I']) ** 2).sum(), bounds=(0.1, 0.8), method='bounded')
print('fitted beta', round(fit.x, 4))
rng = np.random.default_rng(3)
waits: list[float] = []


def patient(env: simpy.Environment, clinic: simpy.Resource):
    arrived = env.now
    with clinic.request() as slot:
        yield slot
        waits.append(env.now - arrived)
        yield env.timeout(rng.exponential(8))


def arrivals(env: simpy.Environment, clinic: simpy.Resource):
    while True:
        yield env.timeout(rng.exponential(5))
        env.process(patient(env, clinic))


env = simpy.Environment()
env.process(arrivals(env, simpy.Resource(env, capacity=2)))
env.run(until=480)
print(len(waits), 'patients, mean wait', round(float(np.mean(waits)), 3), 'now', env.now)
env.run(until=100)
