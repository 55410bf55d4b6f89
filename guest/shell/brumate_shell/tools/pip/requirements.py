"""The arguments of `pip install`, and requirements files."""

import os
import re
import shlex

from brumate_shell.streams import Refused

# Files that name each other: how deep.
MAX_DEPTH = 10
# Bytes of one requirements file.
MAX_FILE = 1 << 20

# Options of `pip install` that change nothing here.
_IGNORED = frozenset((
    "-v", "--verbose", "--user", "-y", "--yes", "--no-cache-dir", "--force-reinstall", "-I",
    "--ignore-installed", "--disable-pip-version-check", "--break-system-packages", "--no-warn-script-location",
    "--no-warn-conflicts", "--no-input", "--no-color", "--no-compile", "--compile", "--prefer-binary",
    "--no-build-isolation", "--use-pep517", "--no-python-version-warning", "--isolated", "--no-clean",
))  # fmt: skip
# Such options with a value.
_IGNORED_VALUES = frozenset((
    "--root-user-action", "--timeout", "--retries", "--progress-bar", "--upgrade-strategy", "--only-binary",
    "--exists-action", "--cache-dir", "--log", "--use-feature", "--use-deprecated", "--default-timeout",
))  # fmt: skip
# Where packages come from is not the guest's to say.
_INDEXES = frozenset((
    "-i", "--index-url", "--pypi-url", "--extra-index-url", "-f", "--find-links", "--no-index", "--trusted-host",
    "--proxy", "--cert", "--client-cert",
))  # fmt: skip


class Wanted:
    """What is to be installed, and how."""

    def __init__(self):
        self.requirements = []
        self.constraints = []
        self.upgrade = self.pre = self.no_deps = self.quiet = False


def parse(arguments):
    """The arguments of `pip install`. `Refused` for what is not possible here."""
    wanted = Wanted()
    _parse(list(arguments), wanted, "", 0)
    return wanted


def _parse(queue, wanted, directory, depth):
    while queue:
        argument = queue.pop(0)
        if argument == "--":
            wanted.requirements += queue
            return
        if argument[:1] != "-" or argument == "-":
            wanted.requirements.append(argument)
            continue
        if re.fullmatch("-[UqvIy]{2,}", argument):
            queue[:0] = [f"-{letter}" for letter in argument[1:]]
            continue
        name, equals, value = argument.partition("=")
        if argument[:2] != "--" and len(argument) > 2 and argument[:2] in ("-r", "-c", "-i", "-f", "-e"):
            name, equals, value = argument[:2], "=", argument[2:]
        if name in _IGNORED:
            continue
        if name in ("-q", "--quiet"):
            wanted.quiet = True
        elif name in ("-U", "--upgrade"):
            wanted.upgrade = True
        elif name == "--pre":
            wanted.pre = True
        elif name == "--no-deps":
            wanted.no_deps = True
        elif name in _INDEXES:
            raise Refused(f"{name}: where packages come from is the operator's choice", 2)
        elif name in _IGNORED_VALUES:
            if not equals:
                queue[:1] = []
        elif name in ("-r", "--requirement", "-c", "--constraint"):
            if not equals and not queue:
                raise Refused(f"{name} needs a file", 2)
            path = value if equals else queue.pop(0)
            _read(path, wanted, directory, depth + 1, name in ("-c", "--constraint"))
        elif name in ("-e", "--editable"):
            raise Refused(f"{name}: nothing is built here; wheels can be installed", 2)
        else:
            raise Refused(f"the option {name} is not supported here", 2)


def _read(path, wanted, directory, depth, constraints):
    """Reads a requirements file. Paths in it are relative to it."""
    if depth > MAX_DEPTH:
        raise Refused("requirements files name each other too deeply", 2)
    if "://" in path:
        raise Refused(f"{path}: a requirements file must be a file of this sandbox")
    path = os.path.join(directory, path)
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        text = file.read(MAX_FILE + 1)
    if len(text) > MAX_FILE:
        raise Refused(f"{path}: more than {MAX_FILE} characters")
    into = Wanted()
    # Options like `--pre` hold for all.
    into.upgrade, into.pre, into.no_deps = wanted.upgrade, wanted.pre, wanted.no_deps
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        line = re.sub(r"(^|\s)#.*$", "", line).strip()
        if not line:
            continue
        if line[0] == "-":
            try:
                words = shlex.split(line)
            except ValueError as error:
                raise Refused(f"{path}: {error}: {line}") from None
            _parse(words, into, os.path.dirname(path), depth)
        elif re.search(r"\s--[a-z]", line):
            raise Refused(f"{path}: options of one requirement are not supported here: {line}")
        else:
            into.requirements.append(line)
    wanted.upgrade, wanted.pre, wanted.no_deps = into.upgrade, into.pre, into.no_deps
    wanted.constraints += into.constraints
    if constraints:
        wanted.constraints += into.requirements
    else:
        wanted.requirements += into.requirements
