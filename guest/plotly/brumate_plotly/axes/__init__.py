"""Axes: their ranges, ticks and labels."""
