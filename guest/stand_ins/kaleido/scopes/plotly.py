"""The interface of kaleido before version 1: `PlotlyScope().transform(figure, format="png")`."""


class PlotlyScope:
    """Draws pictures of plotly's figures."""

    def __init__(self, *_arguments, **_options):
        self.default_format, self.default_width, self.default_height, self.default_scale = "png", 700, 500, 1

    def transform(self, figure, format=None, width=None, height=None, scale=None):
        """Returns the picture of a figure as bytes."""
        from .. import calc_fig_sync

        return calc_fig_sync(
            figure,
            {
                "format": format or self.default_format,
                "width": width or self.default_width,
                "height": height or self.default_height,
                "scale": scale or self.default_scale,
            },
        )
