"""`pip`, as far as it goes with the packages that are bundled."""

from ..pristine import __builtins__

import importlib.metadata
import re
import sys

from . import options
from .interpreter import Refused

# Options of `pip install` that change nothing here.
_IGNORED = (
    "-q", "-qq", "--quiet", "-v", "--verbose", "-U", "--upgrade", "--user", "-y", "--yes", "--pre", "--no-deps",
    "--no-cache-dir", "--force-reinstall", "--disable-pip-version-check", "--break-system-packages",
    "--no-warn-script-location", "--root-user-action=ignore",
)  # fmt: skip
_ONLY_BUNDLED = "only the packages that come with this sandbox are available, and it has no network"
# Names offered for one that is not there.
_MAX_NEAR = 5
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(.*)")

# What people write, and what the bundle's package of that purpose is called.
_ALIASES = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "bs4": "beautifulsoup4",
    "yaml": "pyyaml",
    "pil": "pillow",
    "dateutil": "python-dateutil",
}


def normal(name):
    """A project's name in the form that compares equal (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed():
    """Normalised name → distribution."""
    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(normal(name), distribution)
    return found


def pip(arguments, streams):
    """pip install|list|show|freeze|check: the packages that are bundled"""
    arguments = [argument for argument in arguments if argument != "--disable-pip-version-check"]
    action = arguments[0] if arguments else "help"
    rest = arguments[1:]
    if action == "install":
        return _install(rest, streams)
    if action in ("list", "freeze"):
        return _list(action, streams)
    if action == "show":
        return _show([name for name in rest if name[:1] != "-"], streams)
    if action in ("--version", "-V"):
        streams.out.write(f"pip of the sandbox (python {sys.version_info[0]}.{sys.version_info[1]})\n")
        return 0
    if action == "check":
        streams.out.write("No broken requirements found.\n")
        return 0
    if action in ("uninstall", "download", "wheel", "search", "index", "cache", "config"):
        streams.err.write(f"ERROR: pip {action} is not available: {_ONLY_BUNDLED}\n")
        return 1
    streams.out.write("Usage: pip install|list|show|freeze\n")
    return 0 if action in ("help", "--help", "-h") else 2


def conda(arguments, streams):
    """conda: refused"""
    raise Refused(f"not available: {_ONLY_BUNDLED} (%pip list shows them)")


def _requirements(arguments):
    queue, found = list(arguments), []
    while queue:
        argument = queue.pop(0)
        if argument in _IGNORED:
            continue
        if argument in ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--timeout", "--trusted-host"):
            queue[:1] = []
        elif argument in ("-r", "--requirement", "-c", "--constraint"):
            if not queue:
                raise Refused(f"{argument} needs a file", 2)
            with open(queue.pop(0), encoding="utf-8") as file:
                if argument in ("-r", "--requirement"):
                    found += [
                        line.split("#")[0].strip() for line in file if line.split("#")[0].strip()[:1] not in ("", "-")
                    ]
        elif argument[:1] == "-":
            if not argument.startswith(("--index-url=", "--extra-index-url=")):
                raise Refused(f"the option {argument} is not supported here", 2)
        else:
            found.append(argument)
    return found


def _install(arguments, streams):
    wanted = _requirements(arguments)
    if not wanted:
        streams.err.write('ERROR: You must give at least one requirement to install (see "pip help install")\n')
        return 1
    have = installed()
    status = 0
    for requirement in wanted:
        if (
            "://" in requirement
            or requirement.startswith((".", "/"))
            or requirement.endswith((".whl", ".tar.gz", ".zip"))
        ):
            streams.err.write(f"ERROR: {requirement} cannot be installed: {_ONLY_BUNDLED}\n")
            status = 1
            continue
        matched = _REQUIREMENT.fullmatch(requirement.partition(";")[0])
        if matched is None:
            streams.err.write(f"ERROR: Invalid requirement: {requirement!r}\n")
            status = 1
            continue
        name, version = matched.groups()
        distribution = have.get(normal(name)) or have.get(_ALIASES.get(normal(name), ""))
        if distribution is None:
            streams.err.write(_missing(name, have))
            status = 1
        elif version and not _fits(distribution.version, version):
            streams.err.write(
                f"ERROR: {name} {distribution.version} is bundled, and {requirement} asks for another version: "
                f"{_ONLY_BUNDLED}\n"
            )
            status = 1
        else:
            place = str(distribution.locate_file(""))
            streams.out.write(f"Requirement already satisfied: {requirement} in {place} ({distribution.version})\n")
    return status


def _fits(version, specifier):
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidSpecifier:
        raise Refused(f"Invalid requirement: {specifier!r}") from None


def _missing(name, have):
    import difflib

    near = difflib.get_close_matches(normal(name), have, _MAX_NEAR, 0.6)
    near += [other for other in have if normal(name) in other.split("-") and other not in near]
    hint = f"Did you mean: {', '.join(near[:_MAX_NEAR])}? " if near else ""
    return (
        f"ERROR: Could not find a version that satisfies the requirement {name}: {_ONLY_BUNDLED}.\n"
        f"ERROR: No matching distribution found for {name}. {hint}Run %pip list for all of them.\n"
    )


def _list(action, streams):
    rows = sorted((distribution.metadata["Name"], distribution.version) for distribution in installed().values())
    if action == "freeze":
        streams.out.write("".join([f"{name}=={version}\n" for name, version in rows]))
        return 0
    wide = max([len(name) for name, _ in rows] + [len("Package")])
    tall = max([len(version) for _, version in rows] + [len("Version")])
    streams.out.write(f"{'Package':<{wide}} Version\n{'-' * wide} {'-' * tall}\n")
    streams.out.write("".join([f"{name:<{wide}} {version}\n" for name, version in rows]))
    return 0


def _show(names, streams):
    have = installed()
    status = 0
    for name in names:
        distribution = have.get(normal(name))
        if distribution is None:
            streams.err.write(f"WARNING: Package(s) not found: {name}\n")
            status = 1
            continue
        about = distribution.metadata
        requires = [
            re.split(r"[\s;<>=!~\[(]", text)[0] for text in distribution.requires or () if "extra ==" not in text
        ]
        fields = {
            "Name": about["Name"], "Version": distribution.version, "Summary": about.get("Summary", ""),
            "License": about.get("License-Expression") or about.get("License", ""),
            "Location": str(distribution.locate_file("")), "Requires": ", ".join(requires),
        }  # fmt: skip
        streams.out.write(
            "".join([f"{key}: {str(value).splitlines()[0] if value else ''}\n" for key, value in fields.items()])
        )
    return status


__all__ = ["conda", "installed", "options", "pip"]
