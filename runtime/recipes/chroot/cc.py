#!/usr/bin/python3 -IS
"""Compiler driver for extension modules: takes the command lines that meson and setuptools make for
a native platform and runs Emscripten's tool for a side module of the interpreter's ABI.

Installed as cc, c++, ar, ranlib and strip. RUNTIME_PATH in its environment is where modules look for the shared libraries that
they name.
"""

import os
import sys

CLANG = "/usr/lib/llvm-21/bin/clang"
#: What emcc gives clang for this ABI; cross-env.sh asks it.
CFLAGS = "/w/cross/cflags"
PYTHON_INCLUDE = "/w/cross/pyinc"

# The ABI: legacy WebAssembly exceptions, also for setjmp.
EXCEPTIONS = ["-fwasm-exceptions", "-sSUPPORT_LONGJMP=wasm", "-sWASM_LEGACY_EXCEPTIONS=1"]
CODEGEN = ["-fPIC", "-g0", *EXCEPTIONS]

# What means nothing to wasm-ld or to a side module.
DROPPED = {"-pthread", "-rdynamic", "-g"}
DROPPED_LINKER = (
    "--start-group", "--end-group", "--as-needed", "--no-as-needed", "--no-undefined",
    "--allow-shlib-undefined", "-rpath", "-soname", "-z",
)  # fmt: skip
# These live in the main module, OpenBLAS in a module that is loaded before: symbols are resolved at load time.
DROPPED_LIBRARIES = {
    "-lpthread", "-lm", "-ldl", "-lutil", "-lrt", "-lc", "-lstdc++", "-lgcc", "-lpython3.14",
    "-lc++", "-lc++abi", "-lopenblas",
}  # fmt: skip


def translate(args: list[str]) -> tuple[list[str], bool]:
    """The arguments that stay, and whether they ask for a shared object."""
    kept, shared = [], False
    for arg in args:
        if arg in DROPPED:
            continue
        if arg in ("-shared", "-bundle") or arg.startswith("-sSIDE_MODULE"):
            shared = True
            continue
        if arg.startswith("-I/usr/include") and "python3" in arg:
            arg = f"-I{PYTHON_INCLUDE}"
        elif arg.startswith(("-I/usr/", "-L/usr/")):
            continue
        elif arg.startswith("-Wl,"):
            options = [o for o in arg.split(",")[1:] if not o.startswith(DROPPED_LINKER)]
            if not options:
                continue
            arg = "-Wl," + ",".join(options)
        kept.append(arg)
    return kept, shared


def command(name: str, args: list[str]) -> list[str]:
    is_cxx = name == "c++" or any(arg.endswith((".cpp", ".cc", ".cxx")) for arg in args)
    tool = "em++" if is_cxx else "emcc"
    if args in (["--version"], ["-v"], ["-dumpmachine"], ["-dumpversion"]):
        return [tool, *args]
    kept, shared = translate(args)
    if "-c" in args and not any(arg[:2] == "-s" and arg[2:3].isupper() for arg in args):
        # The same object file without emcc's start, which takes longer than many a compilation.
        with open(CFLAGS) as flags:
            abi = flags.read().split()
        return [CLANG + ("++" if is_cxx else ""), *abi, *kept, f"-I{PYTHON_INCLUDE}", "-fPIC", "-g0", "-fwasm-exceptions"]
    # Python's include directory comes last: its refcount.h must not shadow numpy's.
    if {"-c", "-S", "-E", "-M", "-MM"} & set(args):
        return [tool, *kept, f"-I{PYTHON_INCLUDE}", *CODEGEN]
    if shared:
        module = os.path.basename(kept[kept.index("-o") + 1]).split(".")[0]
        if runtime_path := os.environ.get("RUNTIME_PATH"):
            kept.append(f"-Wl,-rpath,{runtime_path}")
        return [
            tool, *(arg for arg in kept if arg not in DROPPED_LIBRARIES and not arg.endswith("/libopenblas.a")),
            "-O2", "-g0", "-sSIDE_MODULE=2", "-sWASM_BIGINT",
            f"-sEXPORTED_FUNCTIONS=_PyInit_{module}", "-Wno-unused-command-line-argument",
            *EXCEPTIONS,
        ]  # fmt: skip
    # A configure check's executable, run by node.
    return [tool, *kept, f"-I{PYTHON_INCLUDE}", *CODEGEN, "-sEXIT_RUNTIME=1", "-sALLOW_MEMORY_GROWTH=1"]


def main() -> int:
    name, args = os.path.basename(sys.argv[0]), sys.argv[1:]
    if name in ("ar", "ranlib"):
        os.execvp(f"em{name}", [f"em{name}", *args])
    if name == "strip":
        return 0  # emstrip would drop the dylink.0 section
    tool, *rest = command(name, args)
    os.execvp(tool, [tool, *rest])


sys.exit(main())
