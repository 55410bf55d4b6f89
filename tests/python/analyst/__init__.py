"""An analyst's afternoon: what is done, and what a native Jupyter kernel says to it."""
