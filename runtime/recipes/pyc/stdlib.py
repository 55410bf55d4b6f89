"""stdlib.py <python_stdlib.zip of the npm package> <output zip>

The standard library as the engine mounts it at /lib/python3.14: every file of the published
archive plus the .pyc of every module, so that no import compiles.
Sources are deflated (read for tracebacks only); bytecode is stored, so that the engine serves it
from the binary's own pages, shared by all machines, without a copy.
"""

import sys
import zipfile

from bytecode import compile_pyc, pyc_name, write_zip

MOUNT = "/lib/python3.14"

source, target = sys.argv[1:]
members = {}
with zipfile.ZipFile(source) as archive:
    for info in archive.infolist():
        if not info.is_dir():
            members[info.filename] = archive.read(info)
for name in [name for name in members if name.endswith(".py")]:
    members[pyc_name(name)] = compile_pyc(members[name], f"{MOUNT}/{name}")
size = write_zip(target, members, stored_suffix=".pyc")
print(f"{target}: {len(members)} files, {size} bytes")
