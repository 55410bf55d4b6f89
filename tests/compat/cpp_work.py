"""kiwisolver and contourpy: C++ results, and C++ exceptions that become Python's."""

import gc

import contourpy
import kiwisolver as kiwi
import numpy as np

from checks import equal, raises


def test_constraints_are_solved():
    x, y = kiwi.Variable("x"), kiwi.Variable("y")
    solver = kiwi.Solver()
    solver.addConstraint(x >= 10)
    solver.addConstraint(y == 2 * x + 5)
    solver.addConstraint((x == 100) | "weak")
    solver.updateVariables()
    equal((x.value(), y.value()), (100.0, 205.0))
    solver.addConstraint(x <= 20)
    solver.updateVariables()
    equal((x.value(), y.value()), (20.0, 45.0))
    with raises(kiwi.UnsatisfiableConstraint):
        solver.addConstraint(x <= 0)
    with raises(kiwi.UnknownConstraint):
        solver.removeConstraint(x == 5)
    with raises(kiwi.BadRequiredStrength):
        solver.addEditVariable(x, "required")
    assert "Objective" in solver.dumps()


def test_a_thousand_exceptions_leave_no_trace():
    solver = kiwi.Solver()
    x = kiwi.Variable("x")
    solver.addConstraint(x == 1)
    for value in range(2, 1002):
        try:
            solver.addConstraint(x == value)
        except kiwi.UnsatisfiableConstraint:
            continue
        raise AssertionError(value)
    solver.updateVariables()
    equal(x.value(), 1.0)


def test_reference_cycles_are_collected():
    for make in (lambda x: x, lambda x: 2 * x, lambda x: x + 1, lambda x: x == 1):
        cycle = [make(kiwi.Variable("x"))]
        cycle.append(cycle)
        del cycle
        assert gc.collect() >= 2


def test_contours():
    y, x = np.mgrid[-2:2:50j, -2:2:50j]
    z = np.exp(-x * x - y * y)
    radius = np.sqrt(-np.log(0.5))
    for name in ("serial", "mpl2005", "mpl2014"):
        generator = contourpy.contour_generator(x, y, z, name=name)
        lines = contourpy.convert_lines(generator.lines(0.5), generator.line_type, "Separate")
        equal(len(lines), 1)
        np.testing.assert_allclose(np.hypot(*np.asarray(lines[0]).T), radius, atol=0.01, err_msg=name)
        assert len(generator.filled(0.2, 0.5)[0]) == 1, name
    with raises(TypeError, "at least a (2, 2) shaped array"):
        contourpy.contour_generator(z=np.zeros((1, 1)))
    with raises(ValueError):
        contourpy.contour_generator(z=z, chunk_size=-1)
    with raises(ValueError, "upper_level must be larger than lower_level"):
        contourpy.contour_generator(z=z).filled(0.5, 0.2)
