"""The distributions of the bundle, and the installed distributions."""

from .pristine import __builtins__

import importlib.metadata
import re

from .packages import normal

ONLY_BUNDLED = "only the packages that come with this sandbox are available, and it has no network"
# Names offered for one that is not there.
_MAX_NEAR = 5
# A project and the versions that are wanted of it.
REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(.*)")

# What people write, and what the project is called.
_ALIASES = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "yaml": "pyyaml",
    "pil": "pillow",
    "dateutil": "python-dateutil",
}


def installed():
    """Normalised name → distribution. What was installed comes before what is bundled."""
    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(normal(name), distribution)
    return found


def real_name(requirement):
    """The requirement with the project's name in the place of the module's."""
    matched = REQUIREMENT.fullmatch(requirement)
    alias = matched and _ALIASES.get(normal(matched[1]))
    return requirement.replace(matched[1], alias, 1) if alias else requirement


def bundled(requirement, have):
    """`(distribution, None)` if one of `have` is what is required, else `(None, text)` with pip's words for it.

    Raises ValueError for a version that is none.
    """
    if "://" in requirement or requirement.startswith((".", "/")) or requirement.endswith((".whl", ".tar.gz", ".zip")):
        return None, f"ERROR: {requirement} cannot be installed: {ONLY_BUNDLED}\n"
    matched = REQUIREMENT.fullmatch(requirement.partition(";")[0])
    if matched is None:
        return None, f"ERROR: Invalid requirement: {requirement!r}\n"
    name, version = matched.groups()
    distribution = have.get(normal(name)) or have.get(_ALIASES.get(normal(name), ""))
    if distribution is None:
        return None, _missing(name, have)
    if version and not _fits(distribution.version, version):
        return None, (
            f"ERROR: {name} {distribution.version} is bundled, and {requirement} asks for another version: "
            f"{ONLY_BUNDLED}\n"
        )
    return distribution, None


def _fits(version, specifier):
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidSpecifier:
        raise ValueError(f"Invalid requirement: {specifier!r}") from None


def _missing(name, have):
    import difflib

    near = difflib.get_close_matches(normal(name), have, _MAX_NEAR, 0.6)
    near += [other for other in have if normal(name) in other.split("-") and other not in near]
    hint = f"Did you mean: {', '.join(near[:_MAX_NEAR])}? " if near else ""
    return (
        f"ERROR: Could not find a version that satisfies the requirement {name}: {ONLY_BUNDLED}.\n"
        f"ERROR: No matching distribution found for {name}. {hint}Run %pip list for all of them.\n"
    )
