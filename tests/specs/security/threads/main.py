"""Threads that get nonsense, that are too many, that are too deep, and that load modules made for them."""

import _thread
import ctypes
import sys
import threading

# `_Py_tss_tstate` of the interpreter: the address of the state of the thread that runs.
ATTACHED = 4001308


def semaphores():
    """Addresses that are no semaphore and no lock, in a thread while another one waits."""
    waiting = threading.Thread(target=threading.Event().wait, args=(30,), daemon=True)
    waiting.start()
    wait = ctypes.pythonapi._PySemaphore_Wait
    wait.argtypes = ctypes.c_uint32, ctypes.c_int64, ctypes.c_int
    acquire = ctypes.pythonapi.PyThread_acquire_lock_timed
    acquire.argtypes = ctypes.c_uint32, ctypes.c_int64, ctypes.c_int

    def work():
        for address in (0, 1, 3, 0x7FFFFFFF, 0xFFFFFFB8, 0xFFFFFFFF):
            wait(address, 1000, 0)
            if address < 0x7FFFFFFF:
                acquire(address, 1, 0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    work()
    print("ok")


def functions():
    """A thread that begins at a slot which has no function."""
    start = ctypes.pythonapi.PyThread_start_new_thread
    start.argtypes = ctypes.c_uint32, ctypes.c_uint32
    start.restype = ctypes.c_uint32
    start(0xFFFFFFFF, 0)
    threading.Event().wait(1)


def types():
    """A thread that begins at a function of another type."""
    start = ctypes.pythonapi.PyThread_start_new_thread
    start.argtypes = ctypes.c_void_p, ctypes.c_uint32
    start.restype = ctypes.c_uint32
    start(ctypes.cast(ctypes.CDLL(None).pow, ctypes.c_void_p), 0)
    threading.Event().wait(1)


def states():
    """The word that the host reads while a thread's time is over, and that says who has the interpreter."""
    threading.Thread(target=threading.Event().wait, args=(30,), daemon=True).start()
    word = ctypes.c_uint32.from_address(ATTACHED)
    before = word.value
    for value in (1, 3, 0x7FFFFFF0, 0xFFFFFFF0, 0xFFFFFFFC):
        word.value = value
        # Nothing of Python's own runs here: C computes for longer than a slice.
        word.value = before
        sum(range(300_000))
    print("ok")


def flood():
    started, end = [], threading.Event()
    try:
        while True:
            thread = threading.Thread(target=end.wait)
            thread.start()
            started.append(thread)
    except RuntimeError as error:
        print(error, len(started))
    for _ in range(1000):
        try:
            _thread.start_new_thread(end.wait, ())
        except RuntimeError:
            pass
    end.set()
    for thread in started:
        thread.join()


def free_chain(length):
    chain = None
    for _ in range(length):
        chain = [chain]


def deepest():
    """Native stack without end, in a thread."""
    thread = threading.Thread(target=free_chain, args=(8_000_000,))
    thread.start()
    thread.join()


def deep():
    """Much native stack, in a thread: a chain of objects that are freed, and calls through C."""

    def work():
        free_chain(500_000)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
        nested = kind(lambda depth: nested(depth + 1) if depth < 100 else depth)
        print(nested(0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def endless():
    """Calls through C without end, in a thread: the guest ends."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    sys.setrecursionlimit(1_000_000)
    nested = kind(lambda depth: nested(depth + 1))
    thread = threading.Thread(target=nested, args=(0,))
    thread.start()
    thread.join()


def number(value):
    out = bytearray()
    while True:
        value, low = value >> 7, value & 127
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def section(kind, content):
    return bytes([kind]) + number(len(content)) + content


def text(value):
    return number(len(value)) + value.encode()


# memory.grow(512); memory[(memory.size << 16) - 4] = 7; memory[0] = memory[0]
GROWS = b"\x41\x80\x04\x40\0\x1a\x3f\0\x41\x10\x74\x41\x04\x6b\x41\x07\x36\2\0\x41\0\x41\0\x28\2\0\x36\2\0\x0b"
# if (memory[ATTACHED] == 0) memory[0xFFFFFFF0 + 31 MiB]: only where the memory is not the guest's
READS_BEYOND = b"\x41\x9c\x9c\xf4\x01\x28\2\0\x45\x04\x40\x41\x70\x28\2\x80\x80\xc0\x0f\x1a\x0b\x0b"


def made(path, code=GROWS):
    """Writes a library with this start function."""
    dylink = section(0, text("dylink.0") + b"\1" + number(4) + b"\0\0\0\0")
    types = section(1, b"\1" + b"\x60\0\0")
    memory = text("env") + text("memory") + b"\2\0\0"
    imports = section(2, b"\1" + memory)
    functions = section(3, b"\1\0")
    start = section(8, b"\0")
    body = b"\0" + code
    module = b"\0asm\1\0\0\0" + dylink + types + imports + functions + start
    module += section(10, b"\1" + number(len(body)) + body)
    with open(path, "wb") as file:
        file.write(module)


def starts():
    """A module with a start function, which runs once more in the store of each thread: over memory of its own."""
    made("start.so")
    try:
        library = ctypes.CDLL("./start.so")
    except OSError as error:
        print("refused", str(error)[:200])
        return
    kept = bytearray(b"kept") * 1000
    seen = []
    threads = [threading.Thread(target=seen.append, args=(index,)) for index in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(library is not None, kept == b"kept" * 1000, sorted(seen) == list(range(20)))


def late():
    """The same, loaded while threads are alive, by one of them."""
    made("late.so")
    end, seen = threading.Event(), []
    threads = [threading.Thread(target=lambda: (end.wait(), seen.append(1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    loading = threading.Thread(target=lambda: seen.append(ctypes.CDLL("./late.so")))
    loading.start()
    loading.join()
    end.set()
    for thread in threads:
        thread.join()
    print(len(seen))


def beyond():
    """A start function that reads behind the memory in the store of a thread, as far as machine code leaves checks out."""
    made("beyond.so", READS_BEYOND)
    library = ctypes.CDLL("./beyond.so")
    print(library is not None, flush=True)
    thread = threading.Thread(target=list)
    thread.start()
    thread.join()
    print("not stopped")


globals()[sys.argv[1]]()
