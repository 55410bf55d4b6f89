"""CPython's own tests: Debian's packages of the interpreter's version, or the nearest to it that there is.

`sources.sha256` pins them. They come from the mirror that this host's apt is configured for, whatever release that names.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).with_name("sources.sha256")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Where the packages are: the release that has the newest, and the one that has the tested.
RELEASES = ("sid", "forky")
# Below it is the package `test`, some of it in each of Debian's.
LIBRARY = pathlib.Path("usr/lib/python3.14")


def mirror():
    """The address of the Debian mirror in apt's configuration."""
    places = [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]
    for place in places:
        text = place.read_text() if place.is_file() else ""
        found = re.search(r"^(?:deb |URIs: )(?:\[.*\] )?(\S*/debian)/?(?: |$)", text, re.MULTILINE)
        if found:
            return found[1]
    sys.exit("apt's configuration names no Debian mirror")


def download(directory, packages):
    """Downloads `packages` (NAME=VERSION) with a configuration of apt of their own."""
    apt = directory / "apt"
    for part in ("lists/partial", "archives/partial"):
        (apt / part).mkdir(parents=True, exist_ok=True)
    lines = [f"deb [signed-by={KEYRING}] {mirror()} {release} main\n" for release in RELEASES]
    (apt / "sources.list").write_text("".join(lines))
    (apt / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{apt}/sources.list";\nDir::Etc::sourceparts "-";\nDir::State::lists "{apt}/lists";\n'
        f'Dir::Cache "{apt}";\nAPT::Sandbox::User "root";\nAPT::Architecture "amd64";\n'
    )
    environment = {"APT_CONFIG": str(apt / "apt.conf"), "PATH": "/usr/bin:/bin"}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, check=True)
    subprocess.run(["apt-get", "download", "-qq", *packages], env=environment, check=True, cwd=directory)
    shutil.rmtree(apt)


def prepare(directory):
    """Makes `directory` hold the package `test`, unless it does; returns `directory`."""
    pinned = dict(reversed(line.split()) for line in SOURCES.read_text().splitlines())
    stamp = directory / "made-from"
    if stamp.exists() and stamp.read_text() == SOURCES.read_text():
        return directory
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        download(scratch, ["=".join(name.split("_")[:2]) for name in pinned])
        for name, digest in pinned.items():
            if hashlib.sha256((scratch / name).read_bytes()).hexdigest() != digest:
                sys.exit(f"{name}: SHA-256 differs from {SOURCES}")
            subprocess.run(["dpkg-deb", "--extract", name, "root"], check=True, cwd=scratch)
        shutil.copytree(scratch / "root" / LIBRARY / "test", directory / "test")
    stamp.write_text(SOURCES.read_text())
    return directory


def version():
    """The version of the tests."""
    return SOURCES.read_text().split("_")[1].split("-")[0]
