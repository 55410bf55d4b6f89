"""`pip`: packages that the host mounts, and those that are bundled."""

import re
import sys

from _brumate import packages
from _brumate.distributions import REQUIREMENT, bundled, installed, real_name
from _brumate.packages import normal
from brumate_shell import options
from brumate_shell.streams import Refused

from . import requirements

_ACTIONS = "install|uninstall|list|show|freeze|check"


def pip(arguments, streams):
    """pip install|uninstall|list|show|freeze|check: installs packages, and says which there are"""
    arguments = [argument for argument in arguments if argument != "--disable-pip-version-check"]
    action = arguments[0] if arguments else "help"
    rest = arguments[1:]
    if action == "install":
        return _install(rest, streams)
    if action == "uninstall":
        return _uninstall(rest, streams)
    if action in ("list", "freeze"):
        return _list(action, rest, streams)
    if action == "show":
        return _show(rest, streams)
    if action == "check":
        return _check(streams)
    if action in ("--version", "-V"):
        streams.out.write(f"pip of the sandbox (python {sys.version_info[0]}.{sys.version_info[1]})\n")
        return 0
    if action in ("download", "wheel", "search", "index", "cache", "config", "lock", "debug", "hash", "inspect"):
        streams.err.write(f"ERROR: pip {action} is not available in this sandbox: it knows pip {_ACTIONS}\n")
        return 1
    streams.out.write(f"Usage: pip {_ACTIONS}\n")
    return 0 if action in ("help", "--help", "-h") else 2


def _install(arguments, streams):
    wanted = requirements.parse(arguments)
    if not wanted.requirements:
        streams.err.write('ERROR: You must give at least one requirement to install (see "pip help install")\n')
        return 1
    names = [real_name(requirement) for requirement in wanted.requirements]
    loaded = frozenset(sys.modules)
    try:
        new, there = packages.install(names, wanted.constraints, wanted.upgrade, wanted.pre, wanted.no_deps)
    except packages.Nobody:
        return _bundled(wanted, streams)
    except packages.InstallError as error:
        for line in str(error).splitlines() or ["cannot be installed"]:
            streams.err.write(f"ERROR: {line}\n")
        return 1
    if not wanted.quiet:
        _tell_installed(wanted.requirements, names, new, there, streams)
    stale = _still_loaded(new, loaded)
    if stale:
        streams.err.write(
            f"WARNING: imported before, and in use as it was until the session is reset: {', '.join(stale)}\n"
        )
    return 0


def _tell_installed(written, names, new, there, streams):
    have = installed()
    left = {normal(name): version for name, version in there}
    for text, name in zip(written, names, strict=False):
        matched = REQUIREMENT.fullmatch(name.partition(";")[0])
        version = left.pop(normal(matched[1]), None) if matched else None
        if version is not None:
            streams.out.write(_satisfied(text, have.get(normal(matched[1])), version))
    for name, version in left.items():
        streams.out.write(_satisfied(name, have.get(name), version))
    if new:
        streams.out.write(f"Installing collected packages: {', '.join([name for name, _ in new])}\n")
        streams.out.write(
            f"Successfully installed {' '.join([f'{name}-{version}' for name, version in sorted(new)])}\n"
        )


def _satisfied(text, distribution, version):
    place = "" if distribution is None else f" in {distribution.locate_file('')}"
    return f"Requirement already satisfied: {text}{place} ({version})\n"


def _still_loaded(new, loaded):
    """Top-level modules of packages that were imported before these came."""
    have, stale = installed(), set()
    for name, _ in new:
        distribution = have.get(normal(name))
        for file in (distribution.files or ()) if distribution is not None else ():
            top = file.parts[0].partition(".")[0]
            if top in loaded and (len(file.parts) > 1 or file.suffix == ".py"):
                stale.add(top)
    return sorted(stale)


def _bundled(wanted, streams):
    """What `pip install` says when nobody installs anything."""
    have = installed()
    status = 0
    for requirement in wanted.requirements:
        try:
            distribution, problem = bundled(requirement, have)
        except ValueError as error:
            raise Refused(str(error)) from None
        if problem:
            streams.err.write(problem)
            status = 1
        elif not wanted.quiet:
            streams.out.write(_satisfied(requirement, distribution, distribution.version))
    return status


def _uninstall(arguments, streams):
    names = requirements.parse([argument for argument in arguments if argument not in ("-y", "--yes")]).requirements
    if not names:
        streams.err.write("ERROR: You must give at least one requirement to uninstall (see \"pip help uninstall\")\n")
        return 1
    status, have = 0, installed()
    for name in names:
        distribution = have.get(normal(name))
        if distribution is None:
            streams.err.write(f"WARNING: Skipping {name} as it is not installed.\n")
            continue
        try:
            gone = packages.uninstall([normal(name)])
        except packages.InstallError:
            gone = []
        if not gone:
            streams.err.write(f"ERROR: {name} {distribution.version} is part of this sandbox and stays\n")
            status = 1
            continue
        title = f"{distribution.metadata['Name']}-{distribution.version}"
        streams.out.write(f"Found existing installation: {title.replace('-' + distribution.version, '')} ")
        streams.out.write(f"{distribution.version}\nUninstalling {title}:\n  Successfully uninstalled {title}\n")
    return status


def _list(action, arguments, streams):
    found, _ = options.parse(
        arguments,
        "lvqa",
        "f",
        {
            "format": "f", "local": "", "user": "", "all": "a", "verbose": "v", "quiet": "q",
            "not-required": "r", "exclude-editable": "", "no-color": "", "disable-pip-version-check": "",
        },
    )  # fmt: skip
    if "r" in found:
        raise Refused("the option --not-required is not supported here", 2)
    rows = sorted(
        [(distribution.metadata["Name"], distribution.version) for distribution in installed().values()],
        key=lambda row: row[0].lower(),
    )
    style = "freeze" if action == "freeze" else found.get("f", "columns")
    if style == "freeze":
        streams.out.write("".join([f"{name}=={version}\n" for name, version in rows]))
    elif style == "json":
        import json

        streams.out.write(json.dumps([{"name": name, "version": version} for name, version in rows]) + "\n")
    elif style == "columns":
        wide = max([len(name) for name, _ in rows] + [len("Package")])
        tall = max([len(version) for _, version in rows] + [len("Version")])
        streams.out.write(f"{'Package':<{wide}} Version\n{'-' * wide} {'-' * tall}\n")
        streams.out.write("".join([f"{name:<{wide}} {version}\n" for name, version in rows]))
    else:
        raise Refused(f"--format is columns, freeze or json, not {style}", 2)
    return 0


def _show(arguments, streams):
    found, names = options.parse(arguments, "fvq", "", {"files": "f", "verbose": "v", "quiet": "q"})
    if not names:
        streams.err.write("WARNING: ERROR: Please provide a package name or names.\n")
        return 1
    have = installed()
    status, shown = 0, 0
    for name in names:
        distribution = have.get(normal(name))
        if distribution is None:
            streams.err.write(f"WARNING: Package(s) not found: {name}\n")
            status = 1
            continue
        about = distribution.metadata
        needed_by = [
            other.metadata["Name"]
            for other in have.values()
            if normal(name) in [normal(need) for need in _requires(other)]
        ]
        fields = {
            "Name": about["Name"], "Version": distribution.version, "Summary": about.get("Summary", ""),
            "Home-page": about.get("Home-page", ""), "Author": about.get("Author", ""),
            "License": about.get("License-Expression") or about.get("License", ""),
            "Location": str(distribution.locate_file("")), "Requires": ", ".join(_requires(distribution)),
            "Required-by": ", ".join(sorted(needed_by)),
        }  # fmt: skip
        text = "".join([f"{key}: {str(value).splitlines()[0] if value else ''}\n" for key, value in fields.items()])
        if "f" in found:
            text += "Files:\n" + "".join([f"  {file}\n" for file in distribution.files or ()])
        streams.out.write(("---\n" if shown else "") + text)
        shown += 1
    return status


def _requires(distribution):
    """Names of what a distribution requires, without its extras."""
    return [re.split(r"[\s;<>=!~\[(]", text)[0] for text in distribution.requires or () if "extra ==" not in text]


def _check(streams):
    from packaging.requirements import InvalidRequirement, Requirement

    have, broken = installed(), []
    for distribution in have.values():
        title = f"{distribution.metadata['Name']} {distribution.version}"
        for text in distribution.requires or ():
            try:
                need = Requirement(text)
                if need.marker is not None and not need.marker.evaluate({"extra": ""}):
                    continue
            except InvalidRequirement:
                continue
            other = have.get(normal(need.name))
            if other is None:
                broken.append(f"{title} requires {need.name}, which is not installed.\n")
            elif not need.specifier.contains(other.version, prereleases=True):
                broken.append(f"{title} has requirement {need}, but you have {need.name} {other.version}.\n")
    streams.out.write("".join(broken) or "No broken requirements found.\n")
    return 1 if broken else 0
