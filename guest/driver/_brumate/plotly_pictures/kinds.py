"""Which class draws which type of trace. Modules are imported when a figure needs them."""

from ..pristine import __builtins__

from importlib import import_module

from . import expanding, regions

_CLASSES = {
    "scatter": "scatter.Scatter",
    "scattergl": "scatter.Scatter",
    "bar": "bars.Bar",
    "histogram": "histogram.Histogram",
    "box": "boxes.Box",
    "violin": "violins.Violin",
    "heatmap": "heatmaps.Heatmap",
    "heatmapgl": "heatmaps.Heatmap",
    "histogram2d": "heatmaps.Histogram2d",
    "contour": "contours.Contour",
    "histogram2dcontour": "contours.Histogram2dContour",
    "pie": "pies.Pie",
    "treemap": "trees.Treemap",
    "sunburst": "trees.Sunburst",
    "icicle": "trees.Icicle",
    "table": "tables.Table",
    "indicator": "indicators.Indicator",
    "scatter3d": "solids.Scatter3d",
    "surface": "solids.Surface",
    "mesh3d": "solids.Mesh3d",
    regions.KIND: "regions.Regions",
    "parcoords": "parallels.Parcoords",
    "parcats": "parallels.Parcats",
    "sankey": "sankey.Sankey",
    "scatterternary": "ternary.ScatterTernary",
    "candlestick": "finance.Candlestick",
    "ohlc": "finance.Ohlc",
    "waterfall": "cascades.Waterfall",
    "funnel": "cascades.Funnel",
    "funnelarea": "cascades.FunnelArea",
    "scatterpolar": "polar.ScatterPolar",
    "scatterpolargl": "polar.ScatterPolar",
    "barpolar": "polar.BarPolar",
    "image": "heatmaps.Image",
}

# Types that other traces stand for: a function of the picture and the trace's node returns the nodes of those.
EXPANDED = {
    "splom": expanding.splom,
    "scattergeo": expanding.on_map,
    "scattermap": expanding.on_map,
    "scattermapbox": expanding.on_map,
    "choropleth": regions.with_outlines,
    "choroplethmap": regions.with_outlines,
    "choroplethmapbox": regions.with_outlines,
    "densitymap": expanding.density_map,
    "densitymapbox": expanding.density_map,
}


def class_of(kind):
    """Returns the class for a type of trace; None for one that is not drawn."""
    place = _CLASSES.get(kind)
    if place is None:
        return None
    module, name = place.split(".")
    return getattr(import_module(f".{module}", __package__), name)
