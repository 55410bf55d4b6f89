import json
import math

import numpy as np
import shapely
from shapely import affinity, wkt
from shapely.geometry import LineString, MultiPoint, Point, Polygon, box, mapping, shape
from shapely.ops import nearest_points, polygonize, split, unary_union
from shapely.strtree import STRtree

park = Polygon([(0, 0), (4, 0), (4, 3), (0, 3)], holes=[[(1, 1), (2, 1), (2, 2), (1, 2)]])
road = LineString([(-1, -1), (5, 4)])
print(park, park.area, park.length, park.centroid, park.bounds, park.is_valid)
print(road.intersection(park), round(road.length, 6), road.interpolate(0.5, normalized=True))
circle = Point(2, 2).buffer(1.5, quad_segs=4)
print(len(circle.exterior.coords), round(circle.area, 6), round(math.pi * 1.5**2, 6))
union = unary_union([park, circle, box(3, 2, 6, 5)])
print(
    union.geom_type,
    round(union.area, 6),
    round(park.difference(circle).area, 6),
    round(park.symmetric_difference(circle).area, 6),
)
print(
    park.contains(Point(0.5, 0.5)),
    park.contains(Point(1.5, 1.5)),
    park.touches(box(4, 0, 5, 1)),
    road.crosses(park),
    park.distance(Point(10, 3)),
)
print(MultiPoint([(0, 0), (2, 0), (1, 3), (1, 1)]).convex_hull, [p.wkt for p in nearest_points(park, Point(6, 1))])
print(
    affinity.rotate(box(0, 0, 2, 1), 90, origin=(0, 0)).bounds,
    affinity.scale(park, 2, 2).area,
    affinity.translate(Point(1, 1), 2, 3),
)
print(
    [round(g.area, 4) for g in split(box(0, 0, 4, 3), road).geoms],
    len(list(polygonize([road, road.boundary.convex_hull]))),
)
bow = Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])
print(bow.is_valid, shapely.is_valid_reason(bow), shapely.make_valid(bow).wkt, bow.buffer(0).area)
print(
    json.dumps(mapping(box(0, 0, 1, 1))),
    shape({'type': 'Point', 'coordinates': [1, 2]}),
    wkt.dumps(Point(1 / 3, 2), rounding_precision=3),
)
tree = STRtree([box(i, i, i + 1, i + 1) for i in range(5)])
print(
    tree.query(box(1.2, 1.2, 2.5, 2.5)),
    shapely.area(np.array([box(0, 0, 1, 1), park])),
    road.simplify(1).coords[:],
    repr(Point(1, 2)),
)
print(
    park.buffer(0.5, join_style='mitre').area,
    LineString([(0, 0), (1, 1)]).parallel_offset(1).wkt[:12],
    Point(0, 0).hausdorff_distance(Point(3, 4)),
    Polygon().is_empty,
)
for action in (
    lambda: Polygon([(0, 0), (1, 1)]),
    lambda: wkt.loads('POINT (1'),
    lambda: LineString([(0, 0)]),
    lambda: bow.intersection(park).area,
):
    try:
        print(action())
    except Exception as e:
        print(type(e).__module__, type(e).__name__, e)
park.exterior.coords[0] = (1, 1)
