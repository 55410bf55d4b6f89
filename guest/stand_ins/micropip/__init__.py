"""micropip's interface, over the packages of this sandbox.

Code written for Pyodide installs what it needs by `await micropip.install(...)`. Where packages come from, and which
are allowed, is for the operator of the sandbox to say, so index addresses and credentials are refused. Source for the
interface: micropip 0.11's documentation.
"""

import json
import sys
from typing import NamedTuple

from _brumate import distributions as _distributions
from _brumate import packages as _packages
from _brumate.packages import normal as _normal

__version__ = "0.11.0"
__all__ = [
    "freeze", "install", "list", "set_constraints", "set_index_urls", "uninstall", "add_mock_package",
    "list_mock_packages", "remove_mock_package",
]  # fmt: skip

_list = list
_defaults = {"constraints": []}


class PackageMetadata(NamedTuple):
    """A package that is installed."""

    name: str
    version: str = ""
    source: str = ""


class PackageDict(dict):
    """Packages by name; shows itself as a table."""

    def __repr__(self):
        rows = [PackageMetadata("Name", "Version", "Source"), *sorted(self.values())]
        wide = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = ["-" * wide[0] + " | " + "-" * wide[1] + " | " + "-" * wide[2]]
        lines[:0] = [" | ".join(cell.ljust(size) for cell, size in zip(rows[0], wide, strict=True)).rstrip()]
        lines += [
            " | ".join(cell.ljust(size) for cell, size in zip(row, wide, strict=True)).rstrip() for row in rows[1:]
        ]
        return "\n".join(lines)


async def install(
    requirements,
    keep_going=False,
    deps=True,
    credentials=None,
    pre=False,
    index_urls=None,
    *,
    constraints=None,
    reinstall=False,
    extra_index_urls=None,
    verbose=None,
):
    """Installs packages and what they require.

    `requirements` is a requirement or a list of them (PEP 508). `deps=False` leaves out what they require, `pre=True`
    takes pre-releases. Raises `ValueError` when they cannot be had: nothing is installed then. With `keep_going` the
    error says of each requirement that cannot be had why, else it may name the first only. `verbose` and `reinstall`
    change nothing.
    """
    if index_urls or extra_index_urls or credentials:
        raise ValueError("index_urls, credentials: where packages come from is the choice of the sandbox's operator")
    wanted = [requirements] if isinstance(requirements, str) else _list(requirements)
    if not wanted:
        return
    wanted = [_distributions.real_name(str(requirement)) for requirement in wanted]
    limits = _list(_defaults["constraints"] if constraints is None else constraints)
    try:
        _packages.install(wanted, limits, upgrade=False, pre=pre, no_deps=not deps, keep_going=bool(keep_going))
    except _packages.Nobody:
        have = _distributions.installed()
        try:
            problems = [_distributions.bundled(requirement, have)[1] for requirement in wanted]
        except ValueError as error:
            raise ValueError(str(error)) from None
        problems = [problem.replace("ERROR: ", "").strip() for problem in problems if problem]
        if problems:
            raise ValueError("\n".join(problems)) from None
    except _packages.InstallError as error:
        raise ValueError(str(error)) from None


def uninstall(packages, *, verbose=None):
    """Takes packages away that were installed. Modules that are imported stay as they are."""
    names = [packages] if isinstance(packages, str) else _list(packages)
    try:
        gone = {_normal(name) for name, _ in _packages.uninstall([_normal(str(name)) for name in names])}
    except _packages.InstallError:
        gone = set()
    for name in names:
        if _normal(str(name)) not in gone:
            print(f"WARNING: Skipping '{name}' as it is not installed.", file=sys.stderr)


def list():
    """Packages that are there: name → `PackageMetadata`. The source is `pypi` for what was installed, `bundle` for the
    rest."""
    found = PackageDict()
    for distribution in _distributions.installed().values():
        source = "pypi" if _is_installed(distribution) else "bundle"
        name = distribution.metadata["Name"]
        found[name] = PackageMetadata(name, distribution.version, source)
    return found


def freeze():
    """The packages that were installed, as JSON: `{"info": …, "packages": {name: {"name", "version", …}}}`."""
    python = ".".join(map(str, sys.version_info[:3]))
    packages = {}
    for key, distribution in sorted(_distributions.installed().items()):
        if _is_installed(distribution):
            packages[key] = {
                "name": distribution.metadata["Name"],
                "version": distribution.version,
                "install_dir": "site",
                "imports": sorted(_tops(distribution)),
                "depends": [],
            }
    return json.dumps({"info": {"arch": "wasm32", "platform": "emscripten", "python": python}, "packages": packages})


def set_constraints(constraints):
    """Constraints for every `install` that states none."""
    _defaults["constraints"] = _list(constraints)


def set_index_urls(urls):
    """Refused: where packages come from is the operator's choice."""
    raise ValueError("where packages come from is the choice of the sandbox's operator")


def add_mock_package(name, version, *, modules=None, persistent=False):
    """Not available here."""
    raise NotImplementedError("mock packages are not available in this sandbox")


def remove_mock_package(name):
    """Not available here."""
    raise NotImplementedError("mock packages are not available in this sandbox")


def list_mock_packages():
    """There are none."""
    return []


def _is_installed(distribution):
    return str(distribution.locate_file("")).rstrip("/") == _packages.DIRECTORY


def _tops(distribution):
    text = distribution.read_text("top_level.txt")
    if text:
        return text.split()
    files = [file for file in distribution.files or () if file.suffix in (".py", ".so")]
    return {file.parts[0].partition(".")[0] for file in files if not file.parts[0].endswith((".dist-info", ".data"))}
