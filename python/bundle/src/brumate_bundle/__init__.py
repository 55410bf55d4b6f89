"""The packages of Brumate, as one file, which the program `brumate` of the same version reads."""

from pathlib import Path

__all__ = ["FILE"]

#: The file. `BRUMATE_BUNDLE_FILE` names it to a program that does not find it itself.
FILE = Path(__file__).parent / "brumate.bundle"
