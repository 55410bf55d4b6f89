"""The Python side of Brumate: it runs inside the sandbox, is imported once at boot, and serves the host's calls.

The host keeps references to the functions of this module ([`boot`], [`preload`], [`object_addresses`],
[`seed_addresses`], [`reseed`], [`analyze`], [`execute`], [`packages_changed`]) from boot on,
so that guest code cannot put others in their place. Strings in both directions are JSON in the shapes of the crate
`brumate-engine-api`.
"""

from .pristine import __builtins__

# Before anything imports `socket` or `selectors`.
from . import selecting, socket_constants, socket_names, sockets

import builtins
import gc
import importlib
import os
import sys

from . import (
    channel,
    display,
    ending,
    execution,
    figure_formats,
    figures,
    fonts,
    ignored,
    import_hooks,
    interrupts,
    live_displays,
    loops,
    own_files,
    platform_support,
    plotly_figures,
)
from . import preloading, recursion, reports, reseeding, saved_figures, space, stdin, streams
from .execution import execute
from .imports import analyze
from .packages import packages_changed
from .preloading import object_addresses
from .reseeding import seed_addresses, reseed

__all__ = [
    "analyze",
    "boot",
    "execute",
    "object_addresses",
    "packages_changed",
    "preload",
    "reseed",
    "seed_addresses",
]

# Imported at boot, so that a forked guest finds them loaded: the standard library's archive holds sources only, and
# compiling one of these takes longer than a whole run. None of them has side effects; their randomness is re-seeded.
PRELOADED = (
    "base64", "bisect", "calendar", "collections.abc", "copy", "csv", "datetime", "decimal", "fractions", "glob",
    "hashlib", "heapq", "html", "io", "itertools", "json", "logging", "math", "operator", "pathlib", "pprint", "random",
    "re", "secrets", "shutil", "statistics", "string", "struct", "tempfile", "textwrap", "time", "timeit", "typing",
    "unicodedata", "urllib.parse", "uuid", "zlib",
)  # fmt: skip


def boot(event_fd=-1, home=None):
    """Prepares the interpreter for guest code. Called once, before the first fork.

    `event_fd` is the descriptor that takes event frames (negative: none); `home` the guest's home and working
    directory (None: leave both as they are).
    """
    channel.open_channel(int(event_fd))
    if home is not None:
        space.set_home(home)
        os.makedirs(home, exist_ok=True)
        os.chdir(home)
        # What matplotlib keeps for itself is none of the session's files.
        os.environ.setdefault("MPLCONFIGDIR", "/var/cache/matplotlib")
    os.environ.setdefault("MPLBACKEND", figures.BACKEND)
    if "" not in sys.path:
        sys.path.insert(0, "")
    for place in own_files.PLACES:
        _move_to_end(place)
    streams.install()
    interrupts.install()
    ignored.install()
    reseeding.install()
    recursion.install()
    reports.patch()
    import_hooks.install()
    fonts.install()
    saved_figures.install()
    stdin.install()
    figure_formats.install()
    plotly_figures.install()
    builtins.display = display.display
    if sys.platform == "emscripten":
        platform_support.patch()
        loops.patch()
        live_displays.install()
    execution.prepare()
    for name in PRELOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # an interpreter built without it
    # The first run of each path compiles regular expressions, fills caches and imports what traceback imports late.
    for code in ("1+1", "1/0", "unknown_name", "import asyncio\\nawait asyncio.sleep(0)"):
        execute(f'{{"code":"{code}"}}')
    analyze("import json")
    _freeze_heap()


def preload(names_json):
    """Imports modules (a JSON list of names) into an image that is being built."""
    gc.unfreeze()
    preloading.preload(names_json)
    preloading.warm_up()
    _freeze_heap()


def _freeze_heap():
    """Collects garbage and takes what is left out of later collections: the pages of a forked process stay shared."""
    gc.collect()
    ending.note_known()
    gc.freeze()


def _move_to_end(directory):
    """Guest modules come first: nothing in a directory of ours may hide one of theirs."""
    while directory in sys.path:
        sys.path.remove(directory)
    sys.path.append(directory)
