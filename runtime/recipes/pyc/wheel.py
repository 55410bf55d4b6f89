"""wheel.py <output directory> <wheel> ...

Copies wheels with a .pyc beside every module and RECORD brought up to date.
"""

import base64
import hashlib
import os
import sys
import zipfile

from bytecode import SITE_PACKAGES, compile_pyc, modules, pyc_name, write_zip


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


directory, *wheels = sys.argv[1:]
for wheel in wheels:
    with zipfile.ZipFile(wheel) as archive:
        members = {i.filename: archive.read(i) for i in archive.infolist() if not i.is_dir()}
    (record,) = [name for name in members if name.endswith(".dist-info/RECORD")]
    del members[record]
    for member, name in modules(list(members)):
        prefix = member.removesuffix(name)
        members[prefix + pyc_name(name)] = compile_pyc(members[member], f"{SITE_PACKAGES}/{name}")
    lines = [record_line(name, members[name]) for name in sorted(members)]
    members[record] = ("\n".join([*lines, f"{record},,"]) + "\n").encode()
    target = os.path.join(directory, os.path.basename(wheel))
    size = write_zip(target, members)
    print(f"{target}: {len(members)} files, {size} bytes")
