"""Which class draws which type of trace. Modules are imported when a figure needs them."""

from importlib import import_module

from brumate_plotly.traces.fields import regions

from . import expanding

_CLASSES = {
    "scatter": "traces.scatter.Scatter",
    "scattergl": "traces.scatter.Scatter",
    "bar": "traces.bars.bars.Bar",
    "histogram": "traces.bars.histogram.Histogram",
    "box": "traces.distributions.boxes.Box",
    "violin": "traces.distributions.violins.Violin",
    "heatmap": "traces.fields.heatmaps.Heatmap",
    "heatmapgl": "traces.fields.heatmaps.Heatmap",
    "histogram2d": "traces.fields.heatmaps.Histogram2d",
    "contour": "traces.fields.contours.Contour",
    "histogram2dcontour": "traces.fields.contours.Histogram2dContour",
    "pie": "traces.parts.pies.Pie",
    "treemap": "traces.parts.trees.Treemap",
    "sunburst": "traces.parts.trees.Sunburst",
    "icicle": "traces.parts.trees.Icicle",
    "table": "traces.parts.tables.Table",
    "indicator": "traces.parts.indicators.Indicator",
    "scatter3d": "traces.solids.Scatter3d",
    "surface": "traces.solids.Surface",
    "mesh3d": "traces.solids.Mesh3d",
    regions.KIND: "traces.fields.regions.Regions",
    "parcoords": "traces.parts.parallels.Parcoords",
    "parcats": "traces.parts.parallels.Parcats",
    "sankey": "traces.parts.sankey.Sankey",
    "scatterternary": "subplots.ternary.ScatterTernary",
    "candlestick": "traces.bars.finance.Candlestick",
    "ohlc": "traces.bars.finance.Ohlc",
    "waterfall": "traces.bars.cascades.Waterfall",
    "funnel": "traces.bars.cascades.Funnel",
    "funnelarea": "traces.bars.cascades.FunnelArea",
    "scatterpolar": "subplots.polar.ScatterPolar",
    "scatterpolargl": "subplots.polar.ScatterPolar",
    "barpolar": "subplots.polar.BarPolar",
    "image": "traces.fields.heatmaps.Image",
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
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"brumate_plotly.{module}"), name)
