"""The shared libraries of packages, for `threadpoolctl`, which asks JavaScript for them on this platform."""

from .pristine import __builtins__

import os
import sys
from types import ModuleType

THREADPOOLCTL = "threadpoolctl"


def loaded():
    """Paths of the libraries in the directories `.libs` of packages that are imported: these have loaded them."""
    found = []
    for name, package in list(sys.modules.items()):
        if "." in name or not isinstance(package, ModuleType):
            continue
        for place in vars(package).get("__path__") or ():
            directory = os.path.join(place, ".libs")
            try:
                names = sorted(os.listdir(directory))
            except OSError:
                continue
            found += [os.path.join(directory, name) for name in names if name.endswith(".so")]
    return found


def use_ours(module):
    """Has `threadpoolctl` look at them."""
    if hasattr(getattr(module, "ThreadpoolController", None), "_load_libraries"):
        module.ThreadpoolController._load_libraries = _load_libraries


def _load_libraries(controller):
    """Loop through loaded shared libraries and store the supported ones"""
    for path in loaded():
        controller._make_controller_from_path(path)
