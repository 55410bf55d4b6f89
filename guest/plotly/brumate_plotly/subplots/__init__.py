"""Subplots: of two axes, polar, ternary, and scenes."""
