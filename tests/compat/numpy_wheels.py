"""Wheels as published on PyPI for this platform that use numpy's C API: their compiled parts take and give numpy's numbers.

They are in /wheels, laid out like site-packages, untouched, and were compiled with numpy as its own project has it: there the
default integer and numbers of elements have one type, here two. So each gets integers as Python makes them, and the results of
`argsort`, `nonzero` and the like.
"""

import io
import math
import sys

import numpy as np

from checks import equal, raises

sys.path.insert(0, "/wheels")

# The wheels, and a module of each that was compiled with numpy's headers.
COMPILED = {
    "awkward_cpp": "awkward_cpp.lib._ext",  # C++, pybind11
    "blosc2": "blosc2.blosc2_ext",  # Cython, stable ABI
    "contourpy": "contourpy._contourpy",  # C++, pybind11
    "gsw": "gsw._gsw_ufuncs",  # C, ufuncs
    "iminuit": "iminuit._core",  # C++, pybind11
    "pycdfpp": "pycdfpp._pycdfpp",  # C++, pybind11
    "rustworkx": "rustworkx.rustworkx",  # Rust, stable ABI
}


def test_they_are_the_published_ones():
    for name, module in COMPILED.items():
        __import__(module)
        assert sys.modules[name].__file__.startswith("/wheels/"), name
        assert sys.modules[module].__file__.endswith(".so"), module


def test_contourpy():
    import contourpy

    heights = np.arange(12).reshape(3, 4)
    for name, kind in (("serial", "Separate"), ("mpl2005", "SeparateCode"), ("mpl2014", "SeparateCode")):
        generator = contourpy.contour_generator(z=heights, name=name, line_type=kind)
        lines = generator.lines(4.5)
        points = np.concatenate(lines if kind == "Separate" else lines[0])
        np.testing.assert_allclose(points @ [1, 4], 4.5)
        equal((points[:, 0].min(), points[:, 0].max()), (0.0, 3.0))
    order = np.argsort(-heights, axis=None).reshape(3, 4)
    masked = np.ma.array(order, mask=order == order[1, 1])
    filled = contourpy.contour_generator(z=masked, fill_type="OuterOffset").filled(2, 9)
    assert [len(points) for points in filled[0]] == [int(offsets[-1]) for offsets in filled[1]]
    x, y = np.nonzero(heights >= 0)
    lines = contourpy.contour_generator(x.reshape(3, 4), y.reshape(3, 4), heights, corner_mask=True).lines(5.5)
    assert len(lines) == 1 and len(lines[0]) > 3


def test_gsw():
    import gsw

    assert isinstance(gsw._gsw_ufuncs.sigma0, np.ufunc)
    salinity, temperature = np.array([34, 35, 36]), np.arange(3) * 10
    of_integers = gsw.sigma0(salinity, temperature)
    np.testing.assert_array_equal(of_integers, gsw.sigma0(salinity * 1.0, temperature * 1.0))
    np.testing.assert_allclose(of_integers[1], 26.8, atol=0.2)
    np.testing.assert_allclose(gsw.z_from_p(np.array([0, 100, 1000]), 45), [0, -99.1, -989.4], atol=0.2)
    levels = np.argsort([30, 10, 20])
    equal(gsw.p_from_z(-levels, 0).shape, (3,))
    anomaly = gsw.geo_strf_dyn_height(np.full(4, 35), np.full(4, 10), np.arange(4) * 100, 0)
    np.testing.assert_allclose(anomaly[0], 0)
    assert math.isnan(gsw.sigma0(np.nan, 10))


def test_iminuit():
    from iminuit import Minuit
    from iminuit.cost import LeastSquares

    x = np.arange(10)
    y = 2 * x + 1
    cost = LeastSquares(x, y, np.ones(10, dtype=int), lambda x, a, b: a * x + b)
    fit = Minuit(cost, a=0, b=0)
    fit.migrad()
    assert fit.valid
    np.testing.assert_allclose(np.array(fit.values), [2, 1], atol=1e-4)
    np.testing.assert_allclose(fit.covariance[0, 0], 1 / (x**2).sum() / (1 - x.mean() ** 2 / (x**2).mean()), rtol=1e-3)
    fit = Minuit(lambda p: ((p - np.argsort([3, 1, 2])) ** 2).sum(), np.zeros(3, dtype=int))
    fit.migrad()
    np.testing.assert_allclose(np.array(fit.values), [1, 2, 0], atol=1e-4)
    points, values, _ = fit.mnprofile("x0", grid=np.arange(4))
    equal((points.tolist(), values.argmin()), ([0.0, 1.0, 2.0, 3.0], 1))


def test_awkward():
    import awkward as ak

    lists = ak.Array([[1, 2, 3], [], [2**40, 5]])
    equal(str(lists.type), "3 * var * int64")
    equal(ak.to_list(ak.sum(lists, axis=1)), [6, 0, 2**40 + 5])
    equal(ak.to_list(ak.argsort(lists)), [[0, 1, 2], [], [1, 0]])
    equal(ak.to_list(lists[ak.argmax(lists, axis=1, keepdims=True)]), [[3], [None], [2**40]])
    built = ak.unflatten(np.arange(6), np.array([2, 0, 4]))
    equal(ak.to_list(built), [[0, 1], [], [2, 3, 4, 5]])
    equal(ak.to_list(built[np.argsort([2, 0, 1])]), [[], [2, 3, 4, 5], [0, 1]])
    equal(ak.to_list(ak.Array(np.arange(5))[np.nonzero(np.array([0, 1, 0, 1, 1]))[0]]), [1, 3, 4])
    equal(ak.to_list(ak.from_json('[{"a": [1.5, 2]}, {"a": []}]').a), [[1.5, 2.0], []])
    equal(ak.to_numpy(ak.flatten(built)).dtype, np.dtype("int64"))
    builder = ak.ArrayBuilder()
    for value in (1, 2.5, None, "three"):
        builder.append(value)
    equal(ak.to_list(builder.snapshot()), [1, 2.5, None, "three"])


def test_pycdfpp():
    import pycdfpp

    written = {
        "integers": np.array([1, -2, 2**40]),
        "positions": np.argsort([3, 1, 2]),
        "places": np.nonzero([0, 1, 1])[0],
        "numbers": np.linspace(0, 1, 5),
        "table": np.arange(6).reshape(2, 3),
        "moments": np.array(["2024-02-29", "2026-11-24"], "datetime64[ns]"),
    }
    file = pycdfpp.CDF()
    for name, values in written.items():
        file.add_variable(name, values)
    file.add_attribute("counts", [[1, 2, 2**40]])
    read = pycdfpp.load(pycdfpp.save(file))
    for name, values in written.items():
        found = read[name].values
        if name == "moments":
            found = pycdfpp.to_datetime64(read[name])
        np.testing.assert_array_equal(found, values)
    equal((read["integers"].values.dtype, list(read.attributes["counts"][0])), (np.dtype("int64"), [1, 2, 2**40]))
    unsorted = pycdfpp.to_tt2000(written["moments"])
    np.testing.assert_array_equal(pycdfpp.to_datetime64(unsorted), written["moments"])


def test_rustworkx():
    import rustworkx as rx

    weights = np.array([[0, 3, 0], [3, 0, 1], [0, 1, 0]])
    graph = rx.PyGraph.from_adjacency_matrix(weights.astype(float), null_value=0.0)
    equal(sorted(graph.weighted_edge_list()), [(0, 1, 3.0), (1, 2, 1.0)])
    np.testing.assert_array_equal(rx.graph_adjacency_matrix(graph, float), weights)
    distances = rx.graph_floyd_warshall_numpy(graph, float)
    np.testing.assert_array_equal(distances, [[0, 3, 4], [3, 0, 1], [4, 1, 0]])
    nearest = np.argsort(distances[0])
    equal(list(graph.subgraph(nearest[:2].tolist()).edges()), [3.0])
    equal(graph[int(np.argmax(distances[0]))], 2)
    equal(rx.distance_matrix(rx.generators.path_graph(4))[0].tolist(), [0.0, 1.0, 2.0, 3.0])
    with raises(TypeError):
        rx.PyGraph.from_adjacency_matrix(weights)


def test_blosc2():
    import blosc2

    numbers = np.arange(100_000).reshape(100, 1000)
    packed = blosc2.asarray(numbers)
    equal((packed.dtype, packed.shape), (numbers.dtype, numbers.shape))
    assert packed.schunk.cbytes < numbers.nbytes / 5
    np.testing.assert_array_equal(packed[3:5, ::7], numbers[3:5, ::7])
    rows = np.argsort(-numbers[:, 0])[:3]
    np.testing.assert_array_equal(packed[rows], numbers[rows])
    np.testing.assert_array_equal((packed * 2 + 1)[99], numbers[99] * 2 + 1)
    equal(int(packed.sum()), int(numbers.sum()))
    again = blosc2.unpack_tensor(blosc2.pack_tensor(numbers))
    np.testing.assert_array_equal(again, numbers)


def test_own_tests_of_gsw():
    """The tests that come with the wheel."""
    import contextlib

    import pytest

    text = io.StringIO()
    arguments = ["/wheels/gsw/tests", "--ignore=/wheels/gsw/tests/test_xarray.py", "-q", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(text):
        ended = pytest.main(arguments)
    assert ended == 0 and " passed" in text.getvalue(), text.getvalue()
