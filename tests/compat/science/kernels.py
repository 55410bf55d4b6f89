"""Routines of BLAS and LAPACK that the host's kernels take part in, against sums that need no BLAS: each variant, in sizes
around the limits from which on the kernels are called.

    brumate exec --deps scipy tests/compat/science/kernels.py

Prints a line for each group of routines that is right, and fails at the first that is not. Runs natively as well.
"""

import ctypes
import itertools
import math
import sys

import numpy as np
from scipy.linalg import blas, lapack

generator = np.random.default_rng(7)
SIZES = [1, 5, 16, 17, 33, 64, 65, 130]
KINDS = {"s": ("f4", 2e-4), "d": ("f8", 1e-11), "c": ("c8", 2e-4), "z": ("c16", 1e-11)}


def numbers(kind, *shape):
    """Random numbers, by column."""
    values = generator.uniform(-1, 1, shape)
    if kind in "cz":
        values = values + 1j * generator.uniform(-1, 1, shape)
    return np.asfortranarray(values.astype(KINDS[kind][0]))


def product(a, b):
    """Without BLAS."""
    return np.einsum("ij,jk->ik", a.astype(np.result_type(a, "f8")), b.astype(np.result_type(b, "f8")), optimize=False)


def operate(a, trans):
    return [a, a.T, a.conj().T][trans]


def check(name, kind, found, expected):
    limit = KINDS[kind][1] * max(1.0, float(np.abs(expected).max(initial=0)))
    if found.shape != expected.shape or not np.abs(found - expected).max(initial=0) <= limit:
        raise SystemExit(f"{kind}{name}: wrong by {np.abs(found - expected).max()}")


def routine(kind, name):
    return getattr(blas, kind + name, None) or getattr(lapack, kind + name)


def gemm(kind):
    shapes = itertools.product(SIZES[::2], SIZES[1::2], SIZES[::3])
    for m, n, k in [*shapes, (1030, 20, 3), (20, 600, 9), (9, 20, 1100)]:
        for trans_a, trans_b in itertools.product(range(3), range(3)):
            a = numbers(kind, *((m, k) if trans_a == 0 else (k, m)))
            b = numbers(kind, *((k, n) if trans_b == 0 else (n, k)))
            c = numbers(kind, m, n)
            expected = 0.5 * product(operate(a, trans_a), operate(b, trans_b)) - 2 * c
            found = routine(kind, "gemm")(0.5, a, b, -2, c, trans_a=trans_a, trans_b=trans_b)
            check("gemm", kind, found, expected)
    # C is not looked at when its factor is zero; A and B are not when theirs is (OpenBLAS's kernels for small matrices on some processors do).
    lost = np.full((40, 40), np.nan, KINDS[kind][0], order="F")
    one = np.ones((40, 40), KINDS[kind][0], order="F")
    check("gemm", kind, routine(kind, "gemm")(1, one, one, 0, lost), 40 * one)
    if sys.platform == "emscripten":
        check("gemm", kind, routine(kind, "gemm")(0, lost, lost, 3, one), 3 * one)


def vectors(kind):
    for m, n in itertools.product(SIZES, SIZES):
        a = numbers(kind, m, n)
        for trans, step_x, step_y in itertools.product(range(3), (1, 2, -1), (1, 3, -2)):
            inputs, outputs = (n, m) if trans == 0 else (m, n)
            x, y = numbers(kind, inputs * abs(step_x)), numbers(kind, outputs * abs(step_y))
            taken, kept = x[:: abs(step_x)], y[:: abs(step_y)]
            if step_x < 0:
                taken = taken[::-1]
            expected = y.copy()
            result = 1.5 * product(operate(a, trans), taken[:, None])[:, 0]
            expected[:: abs(step_y)] = 0.5 * kept + (result if step_y > 0 else result[::-1])
            found = routine(kind, "gemv")(1.5, a, x, 0.5, y, incx=step_x, incy=step_y, trans=trans)
            check("gemv", kind, found, expected)


def symmetric(kind):
    for n, lower in itertools.product([*SIZES, 300], range(2)):
        a = numbers(kind, n, n)
        half = np.tril(a) if lower else np.triu(a)
        whole = half + half.T - np.diag(np.diag(a))
        x, y = numbers(kind, n), numbers(kind, n)
        found = routine(kind, "symv")(2, a, x, -1, y, lower=lower)
        check("symv", kind, found, 2 * product(whole, x[:, None])[:, 0] - y)


def updates(kind):
    for n, k, trans, lower in itertools.product(SIZES, SIZES[::2], range(2), range(2)):
        a, b = (numbers(kind, *((n, k) if trans == 0 else (k, n))) for _ in range(2))
        c = numbers(kind, n, n)
        first, second = operate(a, trans), operate(b, trans)
        mask = np.tril(np.ones((n, n), bool)) if lower else np.triu(np.ones((n, n), bool))
        expected = np.where(mask, 1.5 * product(first, first.T) + 0.5 * c, c)
        check("syrk", kind, routine(kind, "syrk")(1.5, a, 0.5, c, trans=trans, lower=lower), expected)
        expected = np.where(mask, 1.5 * (product(first, second.T) + product(second, first.T)) + 0.5 * c, c)
        check("syr2k", kind, routine(kind, "syr2k")(1.5, a, b, 0.5, c, trans=trans, lower=lower), expected)
        if sys.platform == "emscripten":
            # What is replaced is not looked at.
            lost = np.where(mask, np.nan, c).astype(c.dtype, order="F")
            expected = np.where(mask, product(first, first.T), c)
            check("syrk", kind, routine(kind, "syrk")(1, a, 0, lost, trans=trans, lower=lower), expected)


def triangles(kind):
    for m, n in [*itertools.product(SIZES, SIZES[::2]), (530, 3), (3, 530), (20, 600), (600, 20)]:
        for side, lower, trans, unit in itertools.product(range(2), repeat=4):
            order = n if side else m
            a = numbers(kind, order, order) / order
            a[np.arange(order), np.arange(order)] += 2
            half = np.tril(a) if lower else np.triu(a)
            if unit:
                half[np.arange(order), np.arange(order)] = 1
            b = numbers(kind, m, n)
            options = dict(side=side, lower=lower, trans_a=trans, diag=unit)
            multiplied = product(b, operate(half, trans)) if side else product(operate(half, trans), b)
            check("trmm", kind, routine(kind, "trmm")(0.5, a, b, **options), 0.5 * multiplied)
            solved = routine(kind, "trsm")(0.5, a, b, **options)
            back = product(solved, operate(half, trans)) if side else product(operate(half, trans), solved)
            check("trsm", kind, back, 0.5 * b)


def factors(kind):
    for m, n in [
        (1, 1),
        (17, 17),
        (40, 40),
        (130, 70),
        (70, 130),
        (200, 200),
        (33, 5),
        (520, 530),
        (900, 40),
        (40, 900),
    ]:
        a = numbers(kind, m, n)
        lu, pivots, info = routine(kind, "getrf")(a)
        steps = min(m, n)
        lower, upper = np.tril(lu, -1)[:, :steps] + np.eye(m, steps), np.triu(lu)[:steps]
        permuted = a.copy()
        for row, pivot in enumerate(pivots):
            permuted[[row, pivot]] = permuted[[pivot, row]]
        if info != 0 or np.abs(lower).max() > 1.5:
            raise SystemExit(f"{kind}getrf: {info}")
        check("getrf", kind, product(lower, upper), permuted)
    for n, columns in [(5, 3), (40, 1), (40, 40), (200, 9), (130, 130)]:
        a, b = numbers(kind, n, n), numbers(kind, n, columns)
        a[np.arange(n), np.arange(n)] += n
        lu, pivots, found, info = routine(kind, "gesv")(a, b)
        if info != 0:
            raise SystemExit(f"{kind}gesv: {info}")
        check("gesv", kind, product(a, found), b)
        for trans in range(3):
            found, info = routine(kind, "getrs")(lu, pivots, b, trans=trans)
            check("getrs", kind, product(operate(a, trans), found), b)
    singular = numbers(kind, 100, 100)
    singular[:, 70] = 0
    if routine(kind, "getrf")(singular)[2] != 71 or routine(kind, "gesv")(singular, singular)[3] != 71:
        raise SystemExit(f"{kind}getrf: a column of zeros is not seen")


def cholesky(kind):
    for n, lower in itertools.product([1, 31, 33, 70, 200], range(2)):
        a = numbers(kind, n, n)
        positive = (product(a, a.T) + n * np.eye(n)).astype(a.dtype, order="F")
        factor, info = routine(kind, "potrf")(positive, lower=lower, clean=1)
        if info != 0:
            raise SystemExit(f"{kind}potrf: {info}")
        check("potrf", kind, product(factor, factor.T) if lower else product(factor.T, factor), positive)
        positive[n - 1, n - 1] = -1
        if routine(kind, "potrf")(positive, lower=lower)[1] != n:
            raise SystemExit(f"{kind}potrf: what is not positive is not seen")


def norms(kind):
    smallest, largest = {"s": (1e-45, 3e38), "d": (5e-324, 1.7e308)}[kind]
    for n, step, factor in itertools.product(
        [1, 2, 5, 8, 31, 1000], (1, 3), (1, 1e-20, 1e-30, 1e25, smallest * 1000, largest / 1000)
    ):
        x = (numbers(kind, n * step).astype("f8") * factor).astype(KINDS[kind][0])
        taken = x[::step].astype("f8")
        most = float(np.abs(taken).max())
        expected = most * math.sqrt(math.fsum((float(element) / most) ** 2 for element in taken)) if most else 0.0
        found = float(routine(kind, "nrm2")(x, n=n, incx=step))
        if not abs(found - expected) <= KINDS[kind][1] * expected + smallest:
            raise SystemExit(f"{kind}nrm2: {found}, not {expected}")
    for special in [(0, 0, 0), (np.inf, 1, 0), (1, np.nan, 2)]:
        found, expected = float(routine(kind, "nrm2")(np.array(special, KINDS[kind][0]))), max(special)
        if found != expected and not (np.isnan(found) and np.isnan(sum(special))):
            raise SystemExit(f"{kind}nrm2: {found} of {special}")


def long_sums(kind):
    """Sums of many numbers, of which each adds to what is there already."""
    n, part = 1 << 21, 1 if kind in "sd" else 1 + 1j
    ones = np.full(n, part, KINDS[kind][0])
    for name in ["nrm2", "dot"] if kind in "sd" else ["nrm2", "dotu", "dotc"]:
        prefix = {"c": "sc", "z": "dz"}.get(kind, kind) if name == "nrm2" else kind
        found = getattr(blas, prefix + name)(ones) if name == "nrm2" else getattr(blas, kind + name)(ones, ones)
        expected = (
            math.sqrt(n * abs(part) ** 2)
            if name == "nrm2"
            else n * (part * (np.conj(part) if name == "dotc" else part))
        )
        if abs(found - expected) > 4 * np.finfo(KINDS[kind][0]).eps * abs(expected):
            raise SystemExit(f"{kind}{name}: {found}, not {expected}")
    x, y = numbers(kind, 5000), numbers(kind, 5000)
    for step_x, step_y in itertools.product((1, 2, -1), (1, 3)):
        first, second = (vector[:: abs(step)][:1500] for vector, step in ((x, step_x), (y, step_y)))
        first = first[::-1] if step_x < 0 else first
        for name in ["dot"] if kind in "sd" else ["dotu", "dotc"]:
            # What lies behind the vectors is not looked at.
            found = getattr(blas, kind + name)(x, y, n=1500, incx=step_x, incy=step_y, offx=0)
            left = np.conj(first) if name == "dotc" else first
            expected = sum((left.astype("c16") * second.astype("c16")).tolist())
            if abs(found - expected) > KINDS[kind][1] * 1500:
                raise SystemExit(f"{kind}{name} {step_x} {step_y}: {found}, not {expected}")


def host():
    """The kernels are there, and take no argument on trust."""
    kernel = getattr(ctypes.CDLL(None), "brumate_dgemm", None)
    if kernel is None:
        return
    a, c = (ctypes.c_double * 16)(*range(16)), (ctypes.c_double * 16)()
    one = ctypes.c_double(1)
    at = ctypes.addressof
    block = [0, 0, 4, 4, 4, at(one), at(a), 4, at(a), 4, at(one), at(c), 4]
    if kernel((ctypes.c_uint32 * 13)(*block)) != 1 or c[0] != 56:
        raise SystemExit("the host's kernel did not work")
    for position, value in itertools.product(range(13), [0, 3, 1 << 16, (1 << 31) - 8, (1 << 32) - 1]):
        wrong = list(block)
        wrong[position] = value
        kernel((ctypes.c_uint32 * 13)(*wrong))
    kernels = {"dgemm": 13, "zgemm": 13, "dgemv": 10, "ssymv": 9, "dtrsm": 11, "strmm": 11, "dgetrf": 6}
    for name, words in ((f"brumate_{name}", words) for name, words in kernels.items()):
        function = getattr(ctypes.CDLL(None), name)
        for pointer in (0, (1 << 32) - 4, (1 << 31) - 1):
            function.argtypes = [ctypes.c_uint32]
            if function(pointer) != 0:
                raise SystemExit(f"{name} worked on nothing")
        if function(at((ctypes.c_uint32 * words)(*[(1 << 32) - 1] * words))) != 0:
            raise SystemExit(f"{name} took sizes on trust")
    print("right: kernels of the host")


GROUPS = {
    gemm: "sdcz",
    vectors: "sdcz",
    symmetric: "sd",
    updates: "sd",
    triangles: "sd",
    factors: "sdcz",
    cholesky: "sd",
    norms: "sd",
    long_sums: "sdcz",
}

host()
for group, kinds in GROUPS.items():
    for kind in kinds:
        group(kind)
    print(f"right: {group.__name__} {kinds}", flush=True)
