"""Other builds of the bundle's packages, as parts of one package, so that both can be installed."""

import base64
import hashlib
import zipfile
from pathlib import Path

from harness.processes import Failed

LIBRARY = "numpy/.libs/libopenblas.so"
# What the library imports of the host, weakly. By another name of this length it uses its own kernels.
HOST, NOBODY = b"brumate_", b"nowhere_"


def without_kernels(path, data):
    """A file of numpy's wheel, with an OpenBLAS that does not find the host's kernels."""
    if path != LIBRARY:
        return data
    if HOST not in data:
        raise Failed("numpy's OpenBLAS does not ask for kernels of the host")
    return data.replace(HOST, NOBODY)


def as_package(name, wheels, directory, change=None):
    """Writes a wheel into the directory that has what these have in site-packages as parts of the package `name`."""
    info, members = f"{name}-1.dist-info", {}
    for wheel in wheels:
        package = Path(wheel).name.partition("-")[0]
        with zipfile.ZipFile(wheel) as source:
            for path in source.namelist():
                if path.startswith(f"{package}/"):
                    data = source.read(path)
                    members[f"{name}/{path}"] = change(path, data) if change else data
            tags = next(path for path in source.namelist() if path.endswith(".dist-info/WHEEL"))
            members[f"{info}/WHEEL"] = source.read(tags)
    members[f"{name}/__init__.py"] = b""
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n".encode()
    record = [f"{path},sha256={digest(data)},{len(data)}" for path, data in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    tags = Path(wheels[0]).name.split("-", 2)[2]
    with zipfile.ZipFile(Path(directory, f"{name}-1-{tags}"), "w") as archive:
        for path, data in members.items():
            # The same bytes in each run: what was compiled of them is found again.
            archive.writestr(zipfile.ZipInfo(path), data)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
