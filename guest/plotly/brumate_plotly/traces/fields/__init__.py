"""Traces that color areas by values: heatmaps, contours, regions."""
