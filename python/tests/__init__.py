"""Tests of the Python package. `BRUMATE_BINARY` names the program, `BRUMATE_CACHE_DIR` the directory of its compiled code."""

import atexit
import os
import tempfile

if "BRUMATE_DATA_DIR" not in os.environ:
    _data = tempfile.TemporaryDirectory(prefix="brumate-test-")
    # Registered before the package's own: the sandboxes end first.
    atexit.register(_data.cleanup)
    os.environ["BRUMATE_DATA_DIR"] = _data.name
os.environ["BRUMATE_OFFLINE"] = "true"

#: What all sandboxes of the tests are made with.
OPTIONS = {"offline": True}
