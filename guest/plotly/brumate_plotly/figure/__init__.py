"""Reads figures: values, columns, colors and numbers as texts."""
