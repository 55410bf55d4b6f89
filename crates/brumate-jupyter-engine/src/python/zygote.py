"""The zygote: a Python process that has imported the modules of kernels, and forks kernels into jails. The first part is `kernel.py`.

It runs code of the virtual environment only, and nothing of a stranger. Each order comes on descriptor 3, as JSON with descriptors:
the socket for answers about this kernel, and the door of its jail (workspace, sockets, namespaces, rules of Landlock).
A child, forked before its order came, joins the jail's namespaces and forks once more, since a process namespace begins with the
next child.
"""

import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket

CONTROL = 3
"""Descriptor of the socket to the server."""
MAX_ORDER = 1 << 20
"""Longest order, in bytes."""
MAX_DESCRIPTORS = 32
"""Most descriptors of an order."""

PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
LAST_CAPABILITY = 63
CAPABILITY_VERSION_3 = 0x20080522

libc = ctypes.CDLL(None, use_errno=True)


class Instruction(ctypes.Structure):
    """An instruction of a filter (`sock_filter`)."""

    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class Program(ctypes.Structure):
    """A filter (`sock_fprog`)."""

    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction))]


def check(status, step):
    """Raises OSError if a call of the C library failed."""
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{step}: {os.strerror(number)}")


def preload():
    """Imports the modules that kernels and their first cells need. A module that is missing is no error."""
    for name in (
        "ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell", "ipykernel.control", "ipykernel.heartbeat", "ipykernel.debugger",
        "ipykernel.iostream", "ipykernel.datapub", "ipykernel.subshell_manager", "IPython.core.completer",
        "IPython.core.oinspect", "IPython.core.debugger", "IPython.extensions.storemagic", "IPython.core.magics",
        "IPython.core.completerlib", "IPython.core.magics.ast_mod", "IPython.core.magics.execution",
        "IPython.utils.module_paths", "faulthandler",
        "tornado.platform.asyncio", "zmq.eventloop.zmqstream", "zmq.asyncio", "jupyter_client.session", "pdb",
        "comm", "matplotlib_inline.backend_inline", "numpy", "pandas", "matplotlib", "PIL.PngImagePlugin",
    ):
        try:
            __import__(name)
        except Exception:
            pass
    if "matplotlib" in sys.modules:
        try:
            draw()
        except Exception:
            pass
    try:
        from ipykernel import ipkernel
        # The debugger costs a kernel 50 ms and 10 MB. `import debugpy` still works.
        ipkernel._is_debugpy_available = False
    except Exception:
        pass


def draw():
    """Draws a figure and throws it away: fonts and renderers are loaded then."""
    import io

    import matplotlib
    matplotlib.use("Agg")
    try:
        from matplotlib.backends.registry import backend_registry
        # Reads the entry points of all packages. Versions before 3.9 have no registry.
        backend_registry.list_all()
    except ImportError:
        pass
    from matplotlib import pyplot
    figure, axes = pyplot.subplots()
    axes.plot([1, 2], [1, 2])
    axes.set_title("0")
    figure.savefig(io.BytesIO(), format="png")
    pyplot.close(figure)


def enter(door, namespaces):
    """Joins a jail's namespaces. The caller's next child is in all of them."""
    for name, namespace in zip(door["namespaces"], namespaces):
        check(libc.setns(namespace, 0), f"setns {name}")


def wall(order, rules):
    """Puts up the walls of this process, for good."""
    walls = order["door"]["walls"]
    os.setsid()
    os.chdir(order["directory"])
    for capability in range(LAST_CAPABILITY + 1):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    if os.getuid() == 0 and walls["uid"] != 0:
        os.setgroups([])
        os.setresgid(walls["gid"], walls["gid"], walls["gid"])
        os.setresuid(walls["uid"], walls["uid"], walls["uid"])
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    check(libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    # The change of the user has hidden this process from itself: `/proc/self` would be root's.
    check(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable")
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    for number, value in walls["limits"]:
        hard = resource.getrlimit(number)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(number, (value, value))
    if rules is not None:
        check(libc.syscall(ctypes.c_long(walls["landlock_restrict_self"]), rules, 0), "Landlock")
        os.close(rules)
    for lines in walls["filters"]:
        instructions = (Instruction * len(lines))(*(Instruction(*line) for line in lines))
        program = Program(len(lines), instructions)
        check(libc.syscall(ctypes.c_long(walls["seccomp"]), SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(program)), "seccomp")


def silence():
    """Puts /dev/null in the place of the standard streams."""
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def failed(answers, error):
    """Tells the server why there is no kernel."""
    text = f"{type(error).__name__}: {error}"[:4000]
    try:
        answers.send(json.dumps({"error": text}).encode())
    finally:
        os._exit(1)


def make(app, order, descriptors):
    """Makes a kernel. Runs in a child of the zygote, and does not return."""
    answers = socket.socket(fileno=descriptors[0])
    try:
        door = order["door"]
        namespaces = descriptors[3:3 + len(door["namespaces"])]
        rules = descriptors[-1] if door["landlock"] else None
        enter(door, namespaces)
        child = os.fork()
        if child:
            with_pid = json.dumps({"pid": child}).encode()
            socket.send_fds(answers, [with_pid], [os.pidfd_open(child)])
            os._exit(0)
        for descriptor in [*descriptors[1:3], *namespaces]:
            os.close(descriptor)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        silence()
        wall(order, rules)
        serve_kernel(app, order, answers)
        os._exit(0)
    except SystemExit as error:
        os._exit(error.code if isinstance(error.code, int) else 0)
    except BaseException as error:
        failed(answers, error)


def reap(control):
    """Tells the server how kernels ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        control.send(json.dumps({"ended": pid, "status": os.waitstatus_to_exitcode(status)}).encode())


def fork_ahead(app, inherited):
    """Forks the child that makes the next kernel, and returns the socket for its order. A fork takes a tenth of a kernel's start."""
    ours, order = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        order.close()
        return ours
    ours.close()
    for descriptor in inherited:
        os.close(descriptor)
    text, descriptors, _, _ = socket.recv_fds(order, MAX_ORDER, MAX_DESCRIPTORS)
    if not text:
        # The zygote has ended.
        os._exit(0)
    order.close()
    make(app, json.loads(text), descriptors)


def main():
    """Serves orders until the server hangs up."""
    control = socket.socket(fileno=CONTROL)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    preload()
    app = make_app()
    gc.collect()
    # Collections of a kernel do not touch the objects that it shares with the others.
    gc.freeze()
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    versions = {name: getattr(sys.modules.get(name), "__version__", None) for name in ("ipykernel", "numpy", "pandas")}
    inherited = (CONTROL, read, write)
    child = fork_ahead(app, inherited)
    control.send(json.dumps({"zygote": versions}).encode())
    while True:
        ready, _, _ = select.select([control, read], [], [])
        if read in ready:
            os.read(read, 4096)
        reap(control)
        if control not in ready:
            continue
        text, descriptors, _, _ = socket.recv_fds(control, MAX_ORDER, MAX_DESCRIPTORS)
        if not text:
            os._exit(0)
        try:
            socket.send_fds(child, [text], descriptors)
        except OSError:
            # It has ended, for example for lack of memory on the host.
            child.close()
            child = fork_ahead(app, inherited)
            socket.send_fds(child, [text], descriptors)
        child.close()
        for descriptor in descriptors:
            os.close(descriptor)
        child = fork_ahead(app, inherited)


main()
