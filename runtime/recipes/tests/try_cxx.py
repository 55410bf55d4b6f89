"""kiwisolver and contourpy: results, and C++ exceptions as Python exceptions."""

import contourpy
import kiwisolver as kiwi
import numpy as np


def raises(kind, function, *args, **options):
    try:
        function(*args, **options)
    except kind:
        return
    raise AssertionError(f"{function} raised no {kind}")


x, y = kiwi.Variable("x"), kiwi.Variable("y")
solver = kiwi.Solver()
solver.addConstraint(x >= 10)
solver.addConstraint(y >= x * 2 + 5)
solver.updateVariables()
assert (x.value(), y.value()) == (10.0, 25.0)
raises(kiwi.UnsatisfiableConstraint, solver.addConstraint, x <= 0)
raises(kiwi.UnknownConstraint, solver.removeConstraint, x == 5)
raises(kiwi.BadRequiredStrength, solver.addEditVariable, x, "required")

v, u = np.mgrid[-2:2:50j, -2:2:50j]
z = np.exp(-u * u - v * v)
for name in ("serial", "mpl2005", "mpl2014"):
    generator = contourpy.contour_generator(u, v, z, name=name)
    lines, (areas, *_) = generator.lines(0.5), generator.filled(0.2, 0.5)
    assert len(lines[0]) > 0 and len(areas) > 0, name
raises((ValueError, TypeError), contourpy.contour_generator, z=np.zeros((1, 1)))
raises(ValueError, contourpy.contour_generator, z=z, chunk_size=-1)
