"""Packages that the host mounts while the interpreter lives."""

from .pristine import __builtins__

import re
import sys
from importlib._bootstrap_external import _NamespacePath
from importlib.machinery import PathFinder

from . import channel
from .text import quote

# Directory that the host mounts them in.
DIRECTORY = "/usr/lib/python3.14/dist-packages"
# Directory of the bundle's packages.
BUNDLE = "/usr/lib/python3.14/site-packages/"

# Bounds of the engine's `InstallRequest`; a request beyond them is refused here, with words.
MAX_REQUIREMENTS = 1000
MAX_REQUIREMENT = 4096

# Names of packages that are remembered.
MAX_ASKED = 10_000

_SEPARATORS = re.compile(r"[-_.]+")
_asked = set()
_invalidate = PathFinder.invalidate_caches
_modules = sys.modules


class InstallError(Exception):
    """Packages cannot be had; the text says why."""


class Nobody(InstallError):
    """Nobody installs anything here: there is what there is."""


def packages_changed(_=""):
    """Imports, and `importlib.metadata`, look again at what there is. Called by the host after it has mounted
    something."""
    try:
        if "importlib.metadata" in _modules:
            _invalidate()
            return
        # The same without `importlib.metadata`: it has nothing to forget, and to import it takes longer than to mount.
        importers = sys.path_importer_cache
        for place, finder in [*importers.items()]:
            if finder is None or not place.startswith("/"):
                del importers[place]
            elif hasattr(finder, "invalidate_caches"):
                finder.invalidate_caches()
        _NamespacePath._epoch += 1
    except Exception:
        pass  # a finder of the guest's own; it goes on as it was


def ask_for(names):
    """Notes packages that the user wants, and those that they require."""
    _asked.update([normal(name) for name in names[: MAX_ASKED - len(_asked)]])


def is_asked_for(name):
    """Whether a package was noted by [`ask_for`]."""
    return normal(name) in _asked


def normal(name):
    """A project's name in the form that compares equal (PEP 503)."""
    return _SEPARATORS.sub("-", name).lower()


def install(requirements, constraints=(), upgrade=False, pre=False, no_deps=False, keep_going=False):
    """Has packages mounted. Returns what is new and what was there, each as (name, version) pairs.

    `InstallError` when they cannot be had; `Nobody` when the host has nobody who could.
    """
    parts = [
        f'"requirements":{_texts(requirements)}', f'"constraints":{_texts(constraints)}',
        f'"upgrade":{_flag(upgrade)}', f'"pre":{_flag(pre)}', f'"no_deps":{_flag(no_deps)}',
        f'"keep_going":{_flag(keep_going)}',
    ]  # fmt: skip
    return _ask(parts)


def install_module(name, among=()):
    """Has the package mounted that provides a module; with `among` only if one of these requirements names it.

    `InstallError` when it cannot be had; `Nobody` when the host has nobody who could.
    """
    return _ask([f'"requirements":[],"modules":[{{"name":{quote(name)},"among":{_texts(among)}}}]'])


def uninstall(names):
    """Takes packages away that were installed; returns (name, version) of those that were there."""
    return _ask(['"requirements":[]', f'"uninstall":{_texts(names)}'])[1]


def _ask(parts):
    answer = channel.install("{" + ",".join(parts) + "}")
    if answer is None:
        raise Nobody("nobody installs packages here")
    packages_changed()
    if answer.get("error") is not None:
        raise InstallError(answer["error"])
    pairs = [[(name, version) for name, version in answer[key]] for key in ("installed", "satisfied")]
    ask_for([name for part in pairs for name, _ in part])
    return pairs[0], pairs[1]


def _texts(texts):
    texts = [str(text) for text in texts]
    if len(texts) > MAX_REQUIREMENTS:
        raise InstallError(f"more than {MAX_REQUIREMENTS} requirements at once")
    for text in texts:
        if len(text.encode("utf-8", "replace")) > MAX_REQUIREMENT:
            raise InstallError(f"a requirement is longer than {MAX_REQUIREMENT} bytes")
    return "[" + ",".join([quote(text) for text in texts]) + "]"


def _flag(value):
    return "true" if value else "false"
