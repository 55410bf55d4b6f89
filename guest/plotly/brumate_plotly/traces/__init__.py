"""Traces: one class for each kind."""
