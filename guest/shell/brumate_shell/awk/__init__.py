"""The language of `awk`."""
