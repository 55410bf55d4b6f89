"""Boxes and violins."""
