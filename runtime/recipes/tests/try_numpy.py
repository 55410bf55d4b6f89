"""numpy: results known from native runs, errors that need floating-point flags, every module."""

import importlib
import io
import pathlib
import warnings

import numpy as np


def raises(kind, function, *args):
    try:
        function(*args)
    except kind:
        return
    raise AssertionError(f"{function} raised no {kind}")


assert np.__version__ == "2.4.6"
normal = np.random.default_rng(0).normal(size=3)
assert np.allclose(normal, [0.12573022, -0.13210486, 0.64042265])

a = np.random.default_rng(1).random((200, 200))
u, s, v = np.linalg.svd(a)
assert np.allclose(u * s @ v, a)
w, q = np.linalg.eigh(a + a.T)
assert np.allclose(q * w @ q.T, a + a.T)
assert np.allclose(np.linalg.solve(a, a @ np.ones(200)), 1)
assert np.allclose(np.fft.ifft(np.fft.fft(a)).real, a)
assert np.allclose(np.polyfit(np.arange(5.0), 2 * np.arange(5.0) + 1, 1), [2, 1])

objects = np.array(["b", "a", "c"], dtype=object)
objects.sort()
assert objects.tolist() == ["a", "b", "c"]
assert np.strings.upper(np.array(["ab"], dtype=np.dtypes.StringDType())).tolist() == ["AB"]
assert np.finfo(np.longdouble).bits == 128 and np.finfo(np.longdouble).nmant == 112
assert str(np.datetime64("2026-11-20") + np.timedelta64(3, "D")) == "2026-11-23"
assert np.ma.array([1, 2], mask=[0, 1]).mean() == 1
file = io.BytesIO()
np.savez(file, a=a)
file.seek(0)
assert (np.load(file)["a"] == a).all()

# These rest on the patch: WebAssembly has no floating-point status flags.
raises(np.linalg.LinAlgError, np.linalg.inv, np.zeros((2, 2)))
raises(np.linalg.LinAlgError, np.linalg.cholesky, -np.eye(2))
raises(np.linalg.LinAlgError, np.linalg.solve, np.ones((2, 2)), np.ones(2))
assert np.allclose(np.linalg.inv(np.eye(2) * 2), np.eye(2) / 2)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    raises(RuntimeWarning, lambda: np.array([1]) // np.array([0]))
    raises(RuntimeWarning, lambda: np.float16(60000) + np.float16(60000))
raises((MemoryError, ValueError), np.zeros, (1 << 15, 1 << 15))

package = pathlib.Path(np.__file__).parent
modules = sorted(path for path in package.rglob("*.so") if path.parent.name != ".libs")
assert len(modules) >= 19, modules
for path in modules:
    name = path.relative_to(package.parent).as_posix().split(".")[0]
    importlib.import_module(name.replace("/", "."))
