"""Traces without axes: parts of a whole, flows, tables and indicators."""
