"""Interfaces of other packages, upon Brumate's sandbox."""
