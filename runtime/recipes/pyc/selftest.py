"""selftest.py <python_stdlib.zip of the npm package>

Bytecode must depend on its source alone: compiles modules in a fresh process and, in the other
order, in one that holds many more objects, and compares.
"""

import marshal
import sys
import zipfile

from bytecode import compile_pyc

MODULES = 150

with zipfile.ZipFile(sys.argv[1]) as archive:
    names = [name for name in archive.namelist() if name.endswith(".py")][:MODULES]
    sources = {name: archive.read(name) for name in names}


def plain(name: str) -> bytes:
    return marshal.dumps(compile(sources[name], name, "exec", dont_inherit=True, optimize=0))


plain_before = {name: plain(name) for name in names}
before = {name: compile_pyc(sources[name], name) for name in names}
kept = [compile(source, name, "exec") for name, source in sources.items()]
import asyncio, decimal, email.mime.text, http.client, logging.config, sqlite3, unittest  # noqa: E401, E402

changed = [name for name in reversed(names) if compile_pyc(sources[name], name) != before[name]]
if changed:
    sys.exit(f"bytecode depends on the process: {changed}")
# The comparison says something only if CPython's own output did vary.
if all(plain(name) == plain_before[name] for name in names):
    sys.exit("marshal.dumps() no longer varies: the canonical form may go")
print(f"{len(names)} modules: bytecode is the same in both processes")
