"""Traces that are drawn as several others, or as others elsewhere: matrices of scatter plots, and points on maps."""

from brumate_plotly.figure.reading import child, flag, get, is_list, nodes, num, pair, word
from brumate_plotly.layout.domains import place

# Dimensions of a matrix that are drawn.
MAX_DIMENSIONS = 10
_GAP = 0.1


def splom(picture, node):
    """Returns scatter traces for a matrix of scatter plots, on axes of their own."""
    found = [one for one in nodes(node, "dimensions") if flag(one, "visible", True) and is_list(get(one, "values"))]
    if len(found) > MAX_DIMENSIONS:
        picture.notes.add(f"{len(found) - MAX_DIMENSIONS} dimensions of a splom")
        found = found[:MAX_DIMENSIONS]
    count = len(found)
    for number, one in enumerate(found):
        _make_axes(picture, number, count, one)
    rest = {name: value for name, value in node.items() if name not in ("dimensions", "diagonal", "type")}
    result = []
    for row, lower in enumerate(found):
        for column, across in enumerate(found):
            if not _is_shown(node, row, column):
                continue
            names = {"xaxis": _name("x", column), "yaxis": _name("y", row)}
            values = {"x": get(across, "values"), "y": get(lower, "values")}
            hidden = {} if not result else {"showlegend": False}
            result.append({"mode": "markers", **rest, **names, **values, **hidden, "type": "scatter"})
    return result


def _is_shown(node, row, column):
    if row == column:
        return flag(node, "diagonal.visible", True)
    return flag(node, "showupperhalf" if column > row else "showlowerhalf", True)


def _name(letter, number):
    return letter if number == 0 else f"{letter}{number + 1}"


def _make_axes(picture, number, count, dimension):
    """Gives the layout axes for one dimension; what it says of them stays."""
    step = 1 / (count - _GAP) if count > 1 else 1.0
    span = [number * step, min(1.0, number * step + step * (1 - _GAP))]
    across = {"domain": span, "anchor": _name("y", count - 1)}
    up = {"domain": [1 - span[1], 1 - span[0]], "anchor": "x"}
    for letter, own in (("x", across), ("y", up)):
        name = f"{letter}axis{number + 1 if number else ''}"
        title = {"title": {**child(picture.template_axis(letter), "title"), "text": word(dimension, "label")}}
        given = get(picture.layout, name, picture.template_axis(letter))
        picture.layout[name] = {**given, **own, **title}


# Maps: points by longitude and latitude, without the map below them.


def on_map(picture, node):
    """Returns a scatter trace for points of a map, on axes of degrees."""
    kind = word(node, "type")
    picture.notes.add("the map (coasts, borders, tiles)")
    if kind == "scattergeo":
        subplot = word(node, "geo", "geo")
    else:
        subplot = word(node, "subplot", "mapbox" if "mapbox" in kind else "map")
    if not is_list(get(node, "lon")) or not is_list(get(node, "lat")):
        picture.notes.add(f"{kind} with names of places")
        return []
    names = map_axes(picture, subplot)
    marker = dict(child(node, "marker"))
    marker.pop("symbol", None)
    place_of = {"x": get(node, "lon"), "y": get(node, "lat")}
    return [{"mode": "markers", **node, **place_of, **names, "marker": marker, "type": "scatter"}]


def density_map(picture, node):
    """Returns a trace for the density of points of a map: markers with colors."""
    picture.notes.add("the map (coasts, borders, tiles)")
    subplot = word(node, "subplot", "mapbox" if "mapbox" in word(node, "type") else "map")
    names = map_axes(picture, subplot)
    z = get(node, "z")
    scale = {
        name: node[name]
        for name in ("coloraxis", "colorscale", "showscale", "reversescale", "colorbar")
        if name in node
    }
    scale = {"showscale": True, **scale}
    size = num(node, "radius", 10, 1, 100)
    marker = {"size": size, "opacity": 0.5, **scale, "color": z if is_list(z) else "#636efa"}
    return [
        {"x": get(node, "lon"), "y": get(node, "lat"), **names, "marker": marker, "mode": "markers", "type": "scatter"}
    ]


def map_axes(picture, subplot):
    """Returns the names of the axes of a map; makes them in the layout."""
    number = 900 + len([name for name in picture.layout if name.startswith("xaxis9") and len(name) == 8])
    known = picture.map_axes.setdefault(subplot, number)
    names = {"xaxis": f"x{known}", "yaxis": f"y{known}"}
    if f"xaxis{known}" not in picture.layout:
        node = child(picture.layout, subplot)
        across, up = place(picture.layout, child(node, "domain"))
        base = {"ticksuffix": "°", "zeroline": False, "automargin": True}
        x = {**picture.template_axis("x"), **base, "domain": list(across), "anchor": f"y{known}"}
        y = {**picture.template_axis("y"), **base, "domain": list(up), "anchor": f"x{known}"}
        x["range"], y["range"] = _range(node, "lon"), _range(node, "lat")
        # A degree of latitude is as long as one of longitude at the equator, as on the simplest of maps.
        picture.layout[f"xaxis{known}"] = {**x, "scaleanchor": f"y{known}"}
        picture.layout[f"yaxis{known}"] = y
    return names


def _range(node, name):
    """Returns the range that a map gives itself; None when it shows all points."""
    given = pair(node, f"{name}axis.range")
    return list(given) if given is not None else None
