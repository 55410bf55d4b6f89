import numpy as np
from scipy.optimize import (
    LinearConstraint,
    brentq,
    differential_evolution,
    dual_annealing,
    fsolve,
    linear_sum_assignment,
    linprog,
    milp,
    minimize,
    minimize_scalar,
    newton,
    root,
    rosen,
    rosen_der,
)

for method in ('Nelder-Mead', 'BFGS', 'L-BFGS-B', 'CG', 'Powell', 'TNC', 'SLSQP'):
    r = minimize(
        rosen, [1.3, 0.7, 0.8], method=method, jac=rosen_der if method in ('BFGS', 'CG', 'TNC') else None, tol=1e-9
    )
    print(f'{method:12} {np.abs(r.x - 1).max() < 1e-2}')
r = minimize(
    lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2,
    [2, 0],
    constraints=({'type': 'ineq', 'fun': lambda x: 3 - x[0] - x[1]},),
    bounds=[(0, None)] * 2,
)
print(r.message, r.x.round(5), round(r.fun, 6))
lp = linprog([-40, -30], A_ub=[[1, 1], [2, 1]], b_ub=[12, 16], method='highs')
print(lp.status, lp.message, lp.x.round(6), -lp.fun)
print(linprog([1], A_ub=[[1], [-1]], b_ub=[1, -2]).message)
knapsack = milp(
    c=[-60, -100, -120], constraints=LinearConstraint([[10, 20, 30]], ub=50), integrality=np.ones(3), bounds=(0, 1)
)
print(knapsack.x.round(), -knapsack.fun)
cost = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
rows, cols = linear_sum_assignment(cost)
print(cols, cost[rows, cols].sum())
print(
    round(brentq(lambda x: x**3 - 2, 0, 2), 8),
    round(newton(np.cos, 1.0), 8),
    fsolve(lambda v: [v[0] + v[1] - 3, v[0] * v[1] - 2], [0, 5]).round(6),
)
print(
    round(minimize_scalar(lambda x: (x - 2) ** 2, bounds=(0, 5), method='bounded').x, 5),
    root(lambda x: x**2 - 4, 1.0).x.round(6),
)


def rastrigin(x: np.ndarray) -> float:
    return float(10 * len(x) + (x**2 - 10 * np.cos(2 * np.pi * x)).sum())


print(
    differential_evolution(rastrigin, [(-5, 5)] * 2, seed=1).x.round(4) + 0.0,
    round(dual_annealing(rastrigin, [(-5, 5)] * 2, seed=1).fun, 4),
)
brentq(lambda x: x**2 + 1, 0, 1)
