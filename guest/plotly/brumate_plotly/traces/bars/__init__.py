"""Traces that are bars."""
