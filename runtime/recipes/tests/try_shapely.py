"""shapely: shapes, predicates, set operations, buffers, text and binary forms, trees, whole arrays, errors; and pickled."""

import json
import math
import pickle

import numpy as np
import shapely
from shapely import affinity, ops
from shapely.geometry import LineString, MultiPoint, Point, Polygon, mapping, shape
from shapely.prepared import prep
from shapely.strtree import STRtree

assert shapely.geos_version >= (3, 13)
square = Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], holes=[[(1, 1), (2, 1), (2, 2), (1, 2)]])
assert square.area == 15 and square.length == 20 and square.bounds == (0, 0, 4, 4) and square.is_valid
circle = Point(4, 4).buffer(1, quad_segs=64)
assert math.isclose(circle.area, math.pi, rel_tol=1e-3)
assert math.isclose(square.union(circle).area, 15 + circle.area * 3 / 4) and math.isclose(square.difference(circle).area, 15 - circle.area / 4)
assert square.intersects(circle) and not square.contains(circle) and square.relate(circle)[0] == "2"
assert prep(square).contains(Point(3, 3)) and not prep(square).contains(Point(1.5, 1.5))
line = LineString([(0, 0), (3, 4)])
assert line.length == 5 and line.interpolate(2.5).equals(Point(1.5, 2)) and line.project(Point(3, 4)) == 5
assert MultiPoint([(0, 0), (1, 3), (2, 0), (1, 1)]).convex_hull.area == 3
assert shapely.from_wkt("POLYGON ((0 0, 1 0, 0 1, 0 0))").area == 0.5 == shapely.from_wkb(shapely.to_wkb(Polygon([(0, 0), (1, 0), (0, 1)]))).area
assert shape(json.loads(json.dumps(mapping(square)))).equals(square) and pickle.loads(pickle.dumps(square)) == square
assert shapely.from_geojson(shapely.to_geojson(line)) == line
assert affinity.rotate(line, 90, origin=(0, 0)).equals_exact(LineString([(0, 0), (-4, 3)]), 1e-12)
assert len(list(ops.polygonize([((0, 0), (1, 0)), ((1, 0), (1, 1)), ((1, 1), (0, 0))]))) == 1
assert ops.triangulate(MultiPoint([(0, 0), (1, 0), (1, 1), (0, 1)])) and shapely.voronoi_polygons(MultiPoint([(0, 0), (3, 3)])).geom_type == "GeometryCollection"
assert shapely.make_valid(Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])).area == 2

rng = np.random.default_rng(0)
points = shapely.points(rng.random((10_000, 2)))
inside = shapely.contains_xy(Point(0.5, 0.5).buffer(0.5), *shapely.get_coordinates(points).T)
assert 0.76 < inside.mean() < 0.81
tree = STRtree(points)
assert len(tree.query(Point(0.5, 0.5).buffer(0.1), predicate="contains")) == shapely.contains(Point(0.5, 0.5).buffer(0.1), points).sum()
assert shapely.distance(points[tree.nearest(Point(2, 2))], Point(2, 2)) == shapely.distance(points, Point(2, 2)).min()
assert math.isclose(shapely.union_all(shapely.box(np.arange(50) / 2, 0, np.arange(50) / 2 + 1, 1)).area, 25.5)
for wrong, kind in (("POLYGON ((0 0", shapely.GEOSException), ("nonsense", shapely.GEOSException)):
    try:
        shapely.from_wkt(wrong)
    except kind as error:
        assert "ParseException" in str(error), error
    else:
        raise AssertionError(wrong)
try:
    Polygon([(0, 0), (2, 2), (2, 0), (0, 2)]).intersection(square)
except shapely.GEOSException as error:
    assert "TopologyException" in str(error)
else:
    raise AssertionError("an invalid polygon")
print("shapely: all of it works")
