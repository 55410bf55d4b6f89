#!/usr/bin/python3
"""rustc's linker: what it would link as a shared library becomes a side module of the interpreter's ABI."""

import os
import re
import sys

# The main module has these: their symbols are resolved when the side module is loaded.
LIBRARIES = {"-lc", "-lm", "-lrt", "-ldl", "-lutil", "-lpthread", "-lunwind", "-lc++", "-lc++abi", "-lstdc++"}
SIDE_MODULE = [
    "-O2", "-g0", "-sSIDE_MODULE=2", "-sWASM_BIGINT",
    "-fwasm-exceptions", "-sSUPPORT_LONGJMP=wasm", "-sWASM_LEGACY_EXCEPTIONS=1",
]  # fmt: skip


def kept(arg: str) -> str:
    """Of all that rustc exports, what Python looks for."""
    option, found, names = arg.partition("EXPORTED_FUNCTIONS=")
    return option + found + ",".join(re.findall(r"_PyInit_\w+", names)) if found else arg


args = [kept(arg) for arg in sys.argv[1:] if arg not in LIBRARIES]
os.execvp("emcc", ["emcc", *args, *SIDE_MODULE])
