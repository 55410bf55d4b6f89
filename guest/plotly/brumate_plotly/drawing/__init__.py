"""Draws in pixels: lines, areas, markers and text."""
