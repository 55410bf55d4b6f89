import sympy as sp

x, y, n = sp.symbols('x y n')
a = sp.Symbol('a', positive=True)
expr = (x + 1) ** 3 - x**3
print(sp.expand(expr), '|', sp.factor(x**3 - 6 * x**2 + 11 * x - 6), '|', sp.simplify(sp.sin(x) ** 2 + sp.cos(x) ** 2))
print(sp.solve(x**2 - 2 * x - 8, x), sp.solve([x + y - 5, x - y - 1], [x, y]), sp.solveset(sp.cos(x) - 1, x))
print(
    sp.diff(sp.exp(-(x**2)) * sp.log(x), x),
    '|',
    sp.integrate(sp.exp(-a * x**2), (x, -sp.oo, sp.oo)),
    '|',
    sp.integrate(1 / (x**2 + 1), x),
)
print(
    sp.limit(sp.sin(x) / x, x, 0),
    sp.series(sp.cos(x), x, 0, 6),
    sp.summation(1 / n**2, (n, 1, sp.oo)),
    sp.Sum(n, (n, 1, a)).doit(),
)
M = sp.Matrix([[2, 1], [1, 2]])
print(M.eigenvals(), M.inv(), M.det(), M.diagonalize()[1], (M**5).tolist())
f = sp.Function('f')
print(sp.dsolve(f(x).diff(x, 2) + f(x), f(x)), '|', sp.dsolve(f(x).diff(x) - 2 * f(x), f(x), ics={f(0): 3}))
sp.pprint(sp.Integral(sp.sqrt(1 / x), x) + sp.Rational(3, 4))
print(sp.latex(sp.Integral(x**2 / 2, (x, 0, 1))), sp.srepr(x + 1), sp.ccode(x**2 + sp.sin(y)), sp.pycode(sp.sqrt(x)))
print(
    sp.N(sp.pi, 40),
    sp.Rational('0.125'),
    sp.nsimplify(0.333333333, tolerance=1e-6),
    sp.sqrt(8),
    sp.factorial(25),
    sp.binomial(10, 3),
)
print(
    sp.isprime(2**61 - 1),
    sp.factorint(360360),
    sp.primerange(20).__class__.__name__,
    list(sp.primerange(20)),
    sp.gcd(84, 36),
    sp.nextprime(10**12),
)
g = sp.lambdify((x, y), x**2 + sp.exp(y), 'numpy')
print(g(2, 0), sp.parse_expr('2*x + sin(pi/2)'), sp.sympify('x**2').subs(x, 1.5), sp.Poly(x**2 - 1).all_roots())
print(sp.nsolve(sp.cos(x) - x, 1), sp.plot, sep='\n' if False else ' ') if False else print(
    round(sp.nsolve(sp.cos(x) - x, 1), 10)
)
print(
    sp.Piecewise((x, x > 0), (-x, True)).subs(x, -3),
    sp.Abs(x).diff(x),
    sp.reduce_inequalities(x**2 < 4),
    sp.apart(1 / (x * (x + 1))),
)
for text in ('x +', '2x', '__import__("os").getcwd() and x('):
    try:
        print(sp.sympify(text))
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0][:60])
if sp.Eq(x, y):
    print('equal')
elif x < y:
    print('less')
