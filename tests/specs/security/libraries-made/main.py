"""Shared objects made by hand: what no compiler would emit."""

import ctypes
import pathlib
import sys

I32, I64, F64, FUNC, EXTERN = 0x7F, 0x7E, 0x7C, 0x70, 0x6F


def number(value):
    """Unsigned LEB128."""
    out = bytearray()
    while True:
        value, low = value >> 7, value & 127
        out.append(low | (128 if value else 0))
        if not value:
            return bytes(out)


def signed(value):
    out = bytearray()
    while True:
        low = value & 127
        value >>= 7
        done = value in (0, -1) and bool(low & 64) == (value == -1)
        out.append(low if done else low | 128)
        if done:
            return bytes(out)


def name(text):
    text = text if isinstance(text, bytes) else text.encode()
    return number(len(text)) + text


def vector(items):
    return number(len(items)) + b"".join(items)


def section(kind, content):
    return bytes([kind]) + number(len(content)) + content


def kind(parameters=(), results=()):
    return b"\x60" + vector([bytes([p]) for p in parameters]) + vector([bytes([r]) for r in results])


def library(
    code=b"",
    *,
    memory=0,
    memory_align=0,
    table=0,
    table_align=0,
    needed=(),
    subsections=b"",
    types=(kind(),),  # noqa: B008 - a constant
    imports=(),
    exports=(),
    functions=(0,),
    bodies=None,
    extra=b"",
    start=None,
    tail=b"",
    own_memory=b"",
    own_table=b"",
    constructor="__wasm_call_ctors",
    elements=b"",
    data=b"",
):
    """A side module whose constructor is `code`."""
    dylink = section(1, number(memory) + number(memory_align) + number(table) + number(table_align))
    if needed:
        dylink += section(2, vector([name(entry) for entry in needed]))
    bodies = bodies if bodies is not None else [b"\0" + code + b"\x0b"]
    imported = sum(1 for entry in imports if entry.endswith(b"\0FUNC"))
    imports = [entry[:-5] if entry.endswith(b"\0FUNC") else entry for entry in imports]
    exports = [name(constructor) + b"\0" + number(imported), *exports] if functions else list(exports)
    out = b"\0asm\1\0\0\0" + section(0, name("dylink.0") + dylink + subsections)
    out += section(1, vector(list(types)))
    out += section(2, vector(imports)) if imports else b""
    out += section(3, vector([number(entry) for entry in functions]))
    out += own_table + own_memory + extra
    out += section(7, vector(exports)) + (section(8, number(start)) if start is not None else b"") + elements
    return out + section(10, vector([number(len(body)) + body for body in bodies])) + data + tail


def imported_memory(minimum=0, maximum=None):
    return (
        name("env")
        + name("memory")
        + b"\2"
        + (b"\0" + number(minimum) if maximum is None else b"\1" + number(minimum) + number(maximum))
    )


def imported_function(label, signature, module="env"):
    return name(module) + name(label) + b"\0" + number(signature) + b"\0FUNC"


def imported_global(label, content=I32, mutable=0, module="env"):
    return name(module) + name(label) + b"\3" + bytes([content, mutable])


def open_library(content, label=[0]):  # noqa: B006 - counts the calls
    label[0] += 1
    path = pathlib.Path(f"/tmp/made{label[0]}.so")
    path.write_bytes(content)
    return ctypes.CDLL(str(path))


def refused(content, part=""):
    try:
        open_library(content)
    except OSError as error:
        assert part in str(error), error
        return
    raise AssertionError("it loaded")


LOOP = b"\x03\x40\x0c\0\x0b"


def empty():
    open_library(library())
    open_library(library(functions=(), bodies=[]))
    print("ok")


def trapping():
    refused(library(b"\0"))
    refused(library(b"\x41\1\x41\0\x6d\x1a"))
    refused(library(b"\0", constructor="__wasm_apply_data_relocs"))
    refused(library(b"\0", start=0))
    print("ok")


def looping():
    open_library(library(LOOP))


def looping_start():
    open_library(library(LOOP, start=0))


def recursing():
    # The native stack ends, not the process.
    refused(library(b"\x10\0"))
    print("ok")


def recursing_with_locals():
    refused(library(bodies=[b"\1" + number(40_000) + bytes([I64]) + b"\x10\0\x0b"]))
    print("ok")


def growing():
    # A constructor that takes all the memory there is, then loops.
    body = b"\x03\x40\x41\1\x40\0\x41\0\x4e\x0d\0\x0b"
    open_library(library(body, imports=[imported_memory()]))
    print("ok")


def writing_everywhere():
    body = b"\x03\x40\x20\0\x41\0\x36\2\0\x20\0\x41" + signed(-4) + b"\x6b\x21\0\x0c\0\x0b"
    open_library(library(imports=[imported_memory()], bodies=[b"\1\1" + bytes([I32]) + body + b"\x0b"]))


def memory_needs():
    for size in [1 << 20, 64 << 20]:
        open_library(library(memory=size))
    for size in [600 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]:
        refused(library(memory=size))
    for align in [25, 31, 32, 63, 64, 200]:
        refused(library(memory=16, memory_align=align))
    print("ok")


def table_needs():
    open_library(library(table=1000))
    for slots in [1 << 20, 10_000_001, (1 << 31) - 1, (1 << 32) - 1]:
        refused(library(table=slots))
    for align in [32, 64, 255]:
        refused(library(table=16, table_align=align))
    print("ok")


def table_exhausted():
    try:
        for _ in range(100):
            open_library(library(table=1 << 18))
    except OSError:
        print("ok")


def own_memories():
    refused_or_contained = [
        library(own_memory=section(5, vector([b"\0" + number(65_536)]))),
        library(own_memory=section(5, vector([b"\0\1"]))),
        library(own_memory=section(5, vector([b"\0\1"] * 50))),
        library(own_table=section(4, vector([bytes([FUNC, 0]) + number(10_000_000)]))),
        library(own_table=section(4, vector([bytes([FUNC, 0]) + number(0xFFFFFFFF)]))),
        library(own_table=section(4, vector([bytes([EXTERN, 0]) + number(1)] * 50))),
        library(imports=[imported_memory(65_536)]),
        library(imports=[imported_memory(1, 1)]),
        library(
            imports=[name("env") + name("__indirect_function_table") + b"\1" + bytes([FUNC, 0]) + number(10_000_000)]
        ),
    ]
    for content in refused_or_contained:
        try:
            open_library(content)
        except OSError:
            pass
    print("ok")


def own_memory_fills():
    # Memories of a library's own count as well as the guest's.
    body = b"\x03\x40\x41" + signed(1024) + b"\x40\0\x41\0\x4e\x0d\0\x0b"
    kept = []
    try:
        for _ in range(20):
            kept.append(open_library(library(body, own_memory=section(5, vector([b"\0\1"])))))
    except (OSError, MemoryError):
        pass
    print("ok")


def unknown_imports():
    # An unknown function loads and traps when it is called; anything else unknown does not load.
    open_library(library(imports=[imported_function("no_such_function", 0)]))
    for module in ["", "js", "wasi_snapshot_preview1", "env.evil", "GOT.mem.x", "\u202e"]:
        refused(library(imports=[imported_global("x", module=module)]))
    refused(library(imports=[imported_global("no_such_data", mutable=1, module="GOT.mem")]), "undefined symbol")
    print("ok")


def unknown_import_called():
    refused(library(b"\x10\0", imports=[imported_function("no_such_function", 0)]))
    print("ok")


def wrong_types():
    for entry in [
        imported_function("malloc", 1),
        imported_global("__memory_base", I64),
        imported_global("__stack_pointer", F64, 1),
        imported_global("memory"),
        imported_function("memory", 0),
        imported_global("__table_base", I32, 1),
        name("env") + name("memory") + b"\1" + bytes([FUNC, 0, 0]),
        imported_function("__syscall_openat", 1),
        name("env") + name("__cpp_exception") + b"\4\0" + number(1),
        imported_global("PyLong_Type", I32, 0, "GOT.func"),
    ]:
        try:
            open_library(library(b"\x01", types=(kind(), kind([F64, I64], [F64])), imports=[entry]))
        except OSError:
            continue
    print("ok")


def host_functions():
    # Functions of the host are imported by name; here with arguments out of this world.
    types = (kind(), kind([I32, I32, I32, I32], [I32]), kind([I32, I32, I32], [I32]), kind([I32], [I32]))
    for label, signature in [
        ("__syscall_openat", 1),
        ("__syscall_getdents64", 2),
        ("emscripten_resize_heap", 3),
        ("_dlopen_js", 3),
    ]:
        arguments = {1: 4, 2: 3, 3: 1}[signature]
        body = b"".join(b"\x41" + signed(-1 - argument) for argument in range(arguments)) + b"\x10\0\x1a"
        try:
            open_library(library(body, types=types, imports=[imported_function(label, signature)]))
        except OSError:
            pass
    print("ok")


def needs_itself():
    path = pathlib.Path("/tmp/cycle.so")
    path.write_bytes(library(needed=["/tmp/cycle.so"]))
    try:
        ctypes.CDLL(str(path))
    except OSError:
        pass
    for number_ in range(40):
        pathlib.Path(f"/tmp/chain{number_}.so").write_bytes(library(needed=[f"/tmp/chain{number_ + 1}.so"]))
    try:
        ctypes.CDLL("/tmp/chain0.so")
    except OSError:
        pass
    refused(library(needed=["../../etc/passwd"]))
    refused(library(needed=["x" * 5000]))
    refused(library(needed=["missing.so"] * 1000))
    print("ok")


def strange_sections():
    for tail in [
        section(0, name("dylink.0")),
        section(0, b"\xff\xff\xff\xff\x0f"),
        section(11, b"\1\0\x41\0\x0b\xff\xff\xff\xff\x0f"),
        b"\x0e\0",
        b"\xff" * 100,
        section(0, name("name") + b"\1\xff\xff\xff\xff\x0f"),
    ]:
        try:
            open_library(library(tail=tail))
        except OSError:
            continue
    for sub in [b"\1\0", b"\x7f\1\0", b"\3" + number(1 << 30), b"\4\1\xff", b"\2\2\1\xff"]:
        refused(library(subsections=sub))
    print("ok")


def many_functions():
    # As many functions as fit in a few megabytes.
    count = 20_000
    open_library(library(functions=(0,) * count, bodies=[b"\0\x0b"] * count))
    print("ok")


def deep_blocks():
    # A hundred thousand blocks in each other: the compiler's own recursion is not to end it.
    try:
        open_library(library(b"\x02\x40" * 100_000 + b"\x0b" * 100_000))
    except OSError:
        pass
    print("ok")


def long_function():
    # Megabytes of straight code with many locals: hard for a register allocator, bounded all the same.
    step = b"\x20\0\x20\1\x6a\x21\2\x20\2\x20\3\x6c\x21\0"
    try:
        open_library(library(bodies=[b"\1" + number(200) + bytes([I32]) + step * 60_000 + b"\x0b"]))
    except OSError:
        pass
    print("ok")


def many_libraries():
    # Each is a file, an instance and a compilation; there is a limit.
    content = library()
    try:
        while True:
            open_library(content)
    except OSError:
        print("ok")


def exported_nonsense():
    exports = [
        name("PyInit_x") + b"\0\0",
        name("__wasm_apply_data_relocs") + b"\3\0",
        name("memory") + b"\0\0",
        name("malloc") + b"\0\0",
    ]
    try:
        made = open_library(
            library(
                types=(kind([I64] * 20, [F64]),),
                exports=exports,
                constructor="f",
                bodies=[b"\0\x44" + bytes(8) + b"\x0b"],
            )
        )
        made.PyInit_x()
    except OSError:
        pass


def global_symbols():
    # A library that says it is the C library changes nothing for what is linked already.
    pathlib.Path("/tmp/evil.so").write_bytes(
        library(exports=[name("malloc") + b"\0\0", name("PyObject_Call") + b"\0\0"])
    )
    ctypes.CDLL("/tmp/evil.so", mode=ctypes.RTLD_GLOBAL)
    import numpy

    assert numpy.arange(4).sum() == 6 and [bytearray(100) for _ in range(1000)]
    print("ok")


globals()[sys.argv[1]]()
