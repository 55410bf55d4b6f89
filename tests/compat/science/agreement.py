"""agreement.py NATIVE.json: computes what NATIVE.json has from native CPython, and compares.

    agreement.py --record NATIVE.json     # natively, with the same versions: writes what later runs must give
    agreement.py NATIVE.json              # in the sandbox

The cases are in `agreement_scipy.py` and `agreement_learning.py`. A case returns numbers, arrays or nests of them, in a form
that rounding does not change: without the signs of singular vectors, the order of eigenvalues or of clusters. Two values agree
when they differ by no more than `rtol` of the larger plus `atol`. The defaults suit linear algebra in double precision on
matrices of this size; iterative solvers have the tolerance they stop at.
"""

import json
import sys
import traceback
import warnings

import numpy as np

# `science.rs` mounts this directory there; natively it is on the path.
sys.path.append("/science")

import agreement_learning
import agreement_scipy
from agreement_case import CASES, flat


def compute(names):
    """The numbers of the named cases."""
    results = {}
    for name in names:
        function, _, _ = CASES[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results[name] = flat(function())
    return results


def compare(name, found, native):
    """Lines that say what differs, and the largest difference as a share of the allowed one."""
    _, rtol, atol = CASES[name]
    found, native = np.array(found), np.array(native)
    if found.shape != native.shape:
        return [f"{name}: {found.size} numbers, natively {native.size}"], float("inf")
    allowed = rtol * np.maximum(np.abs(found), np.abs(native)) + atol
    with np.errstate(invalid="ignore"):
        share = np.where((found == native) | (np.isnan(found) & np.isnan(native)), 0, np.abs(found - native) / allowed)
    bad = np.flatnonzero(~(share <= 1))
    lines = [f"{name}: number {i} is {found[i]!r}, natively {native[i]!r}" for i in bad[:5]]
    if bad.size > 5:
        lines.append(f"{name}: and {bad.size - 5} more of {found.size}")
    return lines, float(share.max(initial=0))


def versions():
    import scipy
    import sklearn
    import statsmodels

    modules = [np, scipy, sklearn, statsmodels]
    return {module.__name__: module.__version__ for module in modules}


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--record"]:
        recorded = {"versions": versions(), "results": compute(CASES)}
        with open(arguments[1], "w") as file:
            json.dump(recorded, file, indent=None, separators=(",", ":"))
        return 0
    with open(arguments[0]) as file:
        native = json.load(file)
    if native["versions"] != versions():
        print(f"other versions: {versions()}, natively {native['versions']}")
        return 1
    missing = set(CASES) ^ set(native["results"])
    failed = bool(missing)
    for name in sorted(missing):
        print(f"{name}: not on both sides")
    for name in [name for name in CASES if name not in missing]:
        try:
            lines, worst = compare(name, compute([name])[name], native["results"][name])
        except Exception:
            lines, worst = [f"{name}: {traceback.format_exc()}"], float("inf")
        print(f"{'differs' if lines else 'same':8} {name} {worst:.2g} of what is allowed", flush=True)
        for line in lines:
            print(" ", line)
        failed |= bool(lines)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
