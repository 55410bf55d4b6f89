import numpy as np
from scipy.integrate import dblquad, odeint, quad, simpson, solve_ivp


def rhs(t: float, state: np.ndarray, gamma: float = 0.2, omega: float = 2.0) -> list[float]:
    x, v = state
    return [v, -2 * gamma * v - omega**2 * x]


def hits_zero(t, y):
    return y[0]


hits_zero.direction = -1
sol = solve_ivp(rhs, (0, 10), [1.0, 0.0], t_eval=np.linspace(0, 10, 6), rtol=1e-8, atol=1e-10, events=hits_zero)
print(sol.status, sol.message, sol.success)
print(sol.y.round(5))
print(sol.t_events[0].round(5))
exact = np.exp(-0.2 * sol.t) * (np.cos(np.sqrt(3.96) * sol.t) + 0.2 / np.sqrt(3.96) * np.sin(np.sqrt(3.96) * sol.t))
print('max error < 1e-6:', np.abs(sol.y[0] - exact).max() < 1e-6)
for method in ('RK23', 'Radau', 'BDF', 'LSODA', 'DOP853'):
    s = solve_ivp(rhs, (0, 5), [1, 0], method=method, rtol=1e-6, atol=1e-9)
    print(f'{method:8}{s.y[0, -1]:.4f} {s.success}')
print(odeint(lambda y, t: -0.5 * y, 3, [0, 1, 2]).ravel().round(6))
print(
    np.round(quad(lambda x: np.exp(-(x**2)), -np.inf, np.inf)[0], 10),
    np.round(dblquad(lambda y, x: x * y, 0, 1, 0, 2)[0], 8),
)
print(simpson([0, 1, 4, 9], x=[0, 1, 2, 3]), quad(lambda x: 1 / x, 1, np.e)[0].__round__(8))
print(quad(lambda x: 1 / (x - 0.3), 0, 1, limit=20)[0] > 0)
blow = solve_ivp(lambda t, y: y**2, (0, 2), [1.0])
print(blow.status, blow.message)
solve_ivp(rhs, (0, 1), [1, 0], method='Euler')
