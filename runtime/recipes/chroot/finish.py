"""finish.py <wheel> <output directory> [--keep-tests]

Makes a built wheel the one for the sandbox: its tag, no test directories, the licences of the
libraries linked into it, a deterministic archive, a new RECORD.
"""

import base64
import hashlib
import os
import re
import sys
import zipfile

TAG = "cp314-cp314-pyemscripten_2026_0_wasm32"
LICENCES = "/w/cross/prefix/licenses"
#: Libraries inside each wheel.
LINKED = {
    "pillow": ["libjpeg-turbo", "freetype", "libwebp"],
    "matplotlib": ["freetype", "qhull"],
    "numpy": ["LAPACK", "OpenBLAS"],
    "pyyaml": ["libyaml"],
}
#: Shared libraries that are put into a wheel: path there, file.
ADDED = {"numpy": {"numpy/.libs/libopenblas.so": "/w/blas/libopenblas.so"}}
TIME = (2026, 1, 1, 0, 0, 0)


def retagged(wheel_file: bytes) -> bytes:
    """The WHEEL file with our tag as the only one."""
    lines = [line for line in wheel_file.splitlines() if not line.startswith(b"Tag:")]
    while lines and not lines[-1]:
        lines.pop()
    return b"\n".join([*lines, b"Tag: " + TAG.encode(), b""])


def linked_licences(project: str, dist_info: str) -> dict[str, bytes]:
    found = {}
    for library in LINKED.get(project, []):
        for name in sorted(os.listdir(f"{LICENCES}/{library}")):
            with open(f"{LICENCES}/{library}/{name}", "rb") as file:
                found[f"{dist_info}/licenses/bundled/{library}/{name}"] = file.read()
    return found


def contents(archive: zipfile.ZipFile, keep_tests: bool) -> dict[str, bytes]:
    """What stays of the built wheel, without RECORD."""
    members = {}
    for info in archive.infolist():
        name = info.filename
        in_tests = re.search(r"(^|/)tests/", name) and ".dist-info" not in name
        if info.is_dir() or name.endswith(".dist-info/RECORD") or (in_tests and not keep_tests):
            continue
        data = archive.read(info)
        if name.endswith(".dist-info/WHEEL"):
            data = retagged(data)
        if name.endswith(".so"):
            # Cython's shared utility module holds the name of the temporary directory it was made in.
            data = re.sub(rb"/tmp/tmp[a-z0-9_]{8}/_cyutility", b"/tmp/tmp00000000/_cyutility", data)
        members[name] = data
    return members


def main() -> None:
    source, directory = sys.argv[1:3]
    project, version = os.path.basename(source).split("-")[:2]
    dist_info = f"{project}-{version}.dist-info"
    with zipfile.ZipFile(source) as archive:
        members = contents(archive, "--keep-tests" in sys.argv[3:])
    members |= linked_licences(project, dist_info)
    for name, path in ADDED.get(project, {}).items():
        with open(path, "rb") as file:
            members[name] = file.read()
    lines = []
    for name in sorted(members):
        digest = hashlib.sha256(members[name]).digest()
        digest = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(members[name])}")
    record = f"{dist_info}/RECORD"
    members[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    target = os.path.join(directory, f"{project}-{version}-{TAG}.whl")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(members, key=lambda name: (".dist-info/" in name, name)):
            info = zipfile.ZipInfo(name, TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(info, members[name])
    print(f"{target}: {len(members)} files, {os.path.getsize(target)} bytes")


main()
