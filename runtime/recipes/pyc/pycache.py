"""pycache.py <output zip> <wheel> ...

Bytecode of the wheels that have none inside: those that ship as published, bit for bit, and those of build-extensions.sh.
The archive is laid out like site-packages.
"""

import sys
import zipfile

from bytecode import SITE_PACKAGES, compile_pyc, modules, pyc_name, write_zip

target, *wheels = sys.argv[1:]
members = {}
for wheel in sorted(wheels):
    with zipfile.ZipFile(wheel) as archive:
        for member, name in modules(archive.namelist()):
            members[pyc_name(name)] = compile_pyc(archive.read(member), f"{SITE_PACKAGES}/{name}")
size = write_zip(target, members)
print(f"{target}: {len(members)} files, {size} bytes")
