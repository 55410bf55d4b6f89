"""numpy does its work: linear algebra, Fourier transforms, random numbers, files, dtypes."""

import io
import os
import tempfile
import warnings

import numpy as np

from checks import equal, raises


def test_linear_algebra():
    a = np.array([[4.0, 1, 2], [1, 3, 0], [2, 0, 5]])
    values, vectors = np.linalg.eigh(a)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, a, atol=1e-12)
    np.testing.assert_allclose(np.linalg.inv(a) @ a, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.linalg.cholesky(a) @ np.linalg.cholesky(a).T, a)
    np.testing.assert_allclose(a @ np.linalg.solve(a, [1, 2, 3]), [1, 2, 3])
    np.testing.assert_allclose(np.linalg.det(a), 43)
    u, s, vt = np.linalg.svd(np.arange(12.0).reshape(4, 3))
    np.testing.assert_allclose((u[:, :3] * s) @ vt, np.arange(12.0).reshape(4, 3), atol=1e-12)
    equal(np.linalg.matrix_rank(np.arange(12).reshape(4, 3)), 2)
    np.testing.assert_allclose(np.sort(np.linalg.eigvals([[0, -1], [1, 0]])), [-1j, 1j], atol=1e-15)
    with raises(np.linalg.LinAlgError, "Singular matrix"):
        np.linalg.inv(np.zeros((2, 2)))


def test_fourier_transforms():
    t = np.arange(256) / 256
    spectrum = np.abs(np.fft.rfft(np.sin(2 * np.pi * 17 * t) + 0.5 * np.cos(2 * np.pi * 40 * t)))
    equal(sorted(np.argsort(spectrum)[-2:].tolist()), [17, 40])
    for n in (7, 64, 97, 100):
        x = np.arange(n) ** 1.5 + 1j
        np.testing.assert_allclose(np.fft.ifft(np.fft.fft(x)), x)
    image = np.arange(48.0).reshape(6, 8)
    np.testing.assert_allclose(np.fft.irfft2(np.fft.rfft2(image), image.shape), image, atol=1e-12)


def test_random_generators_give_their_documented_streams():
    rng = np.random.default_rng(12345)
    np.testing.assert_array_equal(rng.integers(0, 100, 5), [69, 22, 78, 31, 20])
    np.testing.assert_allclose(np.random.default_rng(12345).random(2), [0.22733602, 0.31675834], atol=1e-8)
    np.testing.assert_allclose(np.random.RandomState(42).rand(2), [0.3745401188473625, 0.9507143064099162])
    streams = {
        bytes(np.random.Generator(kind(1)).bytes(16))
        for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
    }
    equal(len(streams), 5)
    sample = np.random.default_rng(0).normal(size=100_000)
    assert abs(sample.mean()) < 0.02 and abs(sample.std() - 1) < 0.02
    children = np.random.SeedSequence(7).spawn(2)
    assert not np.array_equal(*(np.random.default_rng(child).random(4) for child in children))


def test_fresh_generators_differ():
    assert not np.array_equal(np.random.default_rng().random(4), np.random.default_rng().random(4))


def test_files_of_every_kind():
    table = np.array([(1, 2.5, "x"), (3, -1.0, "yz")], dtype=[("a", "<i4"), ("b", "<f8"), ("c", "U4")])
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "table.npy")
        np.save(path, table)
        np.testing.assert_array_equal(np.load(path), table)
        np.testing.assert_array_equal(np.load(path, mmap_mode="r")["b"], table["b"])
        np.savez_compressed(os.path.join(directory, "all.npz"), table=table, big=np.arange(10_000))
        with np.load(os.path.join(directory, "all.npz")) as archive:
            equal((sorted(archive.files), int(archive["big"].sum())), (["big", "table"], 49995000))
        raw = np.memmap(os.path.join(directory, "raw"), dtype="f4", mode="w+", shape=(10, 10))
        raw[3, 4] = 1.5
        raw.flush()
        np.arange(100, 200, dtype="i2").tofile(os.path.join(directory, "shorts"))
        equal(np.fromfile(os.path.join(directory, "raw"), dtype="f4")[34], 1.5)
        equal(np.fromfile(os.path.join(directory, "shorts"), dtype="i2")[-1], 199)
    text = io.StringIO()
    np.savetxt(text, np.eye(2), fmt="%.1f", delimiter=",")
    np.testing.assert_array_equal(np.loadtxt(io.StringIO(text.getvalue()), delimiter=","), np.eye(2))
    np.testing.assert_array_equal(np.genfromtxt(io.StringIO("1,,3"), delimiter=",", filling_values=-1), [1, -1, 3])


def test_dtypes_have_the_sizes_of_the_platform():
    sizes = {name: np.dtype(name).itemsize for name in ("intp", "long", "longlong", "longdouble", "clongdouble")}
    equal(sizes, {"intp": 4, "long": 4, "longlong": 8, "longdouble": 16, "clongdouble": 32})
    equal(np.arange(3).dtype, np.dtype("int64"))
    assert np.finfo(np.longdouble).nmant == 112
    equal(str(np.longdouble(1) / 3)[:28], "0.33333333333333333333333333")


def test_errors():
    with raises(ValueError, "could not be broadcast"):
        np.ones(3) + np.ones(4)
    with raises(MemoryError, "2.98 GiB for an array with shape (20000, 20000) and data type float64"):
        np.zeros((20000, 20000))
    with raises(MemoryError):
        np.ones(2**27 + 2**26 + 2**25)
    with raises(ValueError, "array is too big"):
        np.ones((2**30, 2**30, 2**30))


def test_floating_point_errors_are_told():
    """WebAssembly has no status register: numpy finds errors from operands and results."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        quotient = np.array([1.0, 0.0]) / np.array([0.0, 1.0])
        product = np.float32(1e30) * np.float32(1e30)
    equal((quotient.tolist(), float(product)), ([np.inf, 0.0], np.inf))
    told = [str(warning.message) for warning in caught]
    equal(told, ["divide by zero encountered in divide", "overflow encountered in scalar multiply"])
    with np.errstate(all="raise"), raises(FloatingPointError, "invalid value encountered in sqrt"):
        np.sqrt(-np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.array([1.0, np.nan, np.inf]) / 2.0


def test_products_of_stacks_tell_their_own_errors_only():
    # Room for whatever lies behind the operands in memory.
    rooms = [np.full(1000, value) for value in (np.inf, np.nan, 1e300) for _ in range(50)]
    del rooms[::2]
    stack, big = np.random.default_rng(1).normal(size=(4, 3, 2)), np.full((2, 2, 2), 1e200)
    image = np.random.default_rng(2).integers(0, 256, (20, 30, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(20):
            np.matmul(stack, np.ones((2, 5)))
            image @ np.array([0.299, 0.587, 0.114])
            np.linalg.inv(np.eye(3) + np.zeros((5, 3, 3)))
    equal([str(warning.message) for warning in caught], [])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.matmul(big, big)
        np.matmul(np.stack([np.eye(2), np.full((2, 2), np.inf)]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    equal(
        [str(warning.message) for warning in caught],
        ["overflow encountered in matmul", "invalid value encountered in matmul"],
    )
    assert rooms


def test_integers_have_64_bits():
    equal(np.arange(100000).sum(), np.int64(4999950000))
    equal((np.array([50000]) * np.array([50000])).tolist(), [2500000000])
    equal(np.argsort([3, 1, 2]).dtype, np.dtype("int64"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        equal(np.array([1e10, np.nan]).astype("i4").tolist(), [-(2**31), -(2**31)])
    equal([str(warning.message) for warning in caught], ["invalid value encountered in cast"])


def test_strings_dates_and_sets():
    equal(np.strings.upper(np.array(["ab", "é"])).tolist(), ["AB", "É"])
    equal(str(np.datetime64("2024-02-28") + np.timedelta64(2, "D")), "2024-03-01")
    equal(np.busday_count("2024-01-01", "2024-02-01"), 23)
    words = np.array(["b", "a", "b"], dtype=np.dtypes.StringDType())
    values, counts = np.unique(words, return_counts=True)
    equal((sorted(values.tolist()), sorted(counts.tolist())), (["a", "b"], [1, 2]))
    equal(np.einsum("ij,jk->ik", np.eye(2), np.ones((2, 2))).tolist(), [[1, 1], [1, 1]])
    equal(np.polynomial.Polynomial([6, -5, 1]).roots().round(9).tolist(), [2, 3])
