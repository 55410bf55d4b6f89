"""Code that reaches for other processes: signals, forks, programs. There are none."""

import errno
import os
import signal
import sys


def refused(function, *arguments, **options):
    try:
        result = function(*arguments, **options)
    except (OSError, AttributeError, NotImplementedError, ValueError, RuntimeError):
        return
    raise AssertionError(f"{function} gave {result!r}")


def kill_others():
    for process in [1, 2, 3, os.getppid(), os.getpid() + 1, 12345, -1, -os.getpid() - 1, -12345, 2**31 - 1]:
        for number in [0, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR1]:
            if process != os.getpid():
                refused(os.kill, process, number)
    if hasattr(os, "killpg"):
        for group in [1, 2, 12345]:
            refused(os.killpg, group, signal.SIGKILL)
    print("ok")


def kill_everything():
    for process in range(-3000, 3000):
        if process not in (os.getpid(), 0, -os.getpid()):
            try:
                os.kill(process, signal.SIGKILL)
            except OSError as error:
                assert error.errno in (errno.ESRCH, errno.EPERM, errno.EINVAL, errno.ENOSYS), error
            else:
                raise AssertionError(process)
    print("ok")


def kill_group():
    os.kill(0, signal.SIGKILL)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def terminate_self():
    os.kill(os.getpid(), signal.SIGTERM)


def stop_self():
    os.kill(os.getpid(), signal.SIGSTOP)


def interrupt_self():
    os.kill(os.getpid(), signal.SIGINT)


def raise_fault():
    signal.raise_signal(signal.SIGSEGV)


def raise_abort():
    signal.raise_signal(signal.SIGABRT)


def raise_bad_number():
    # The C library does not look at the number.
    for number in [0, 65, 1000, 2**31 - 1, -1]:
        try:
            signal.raise_signal(number)
        except (OSError, ValueError, OverflowError):
            pass


def alarm():
    import time

    if not hasattr(signal, "setitimer"):
        print("ok")
        return
    hits = []
    signal.signal(signal.SIGALRM, lambda *arguments: hits.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
    except OSError:
        pass
    time.sleep(0.05)
    print("ok")


def programs():
    import ctypes
    import subprocess

    refused(subprocess.run, ["/bin/sh", "-c", "id"])
    refused(subprocess.run, "id", shell=True)
    refused(subprocess.check_output, [sys.executable or "python", "-V"])
    for name in ["fork", "forkpty", "vfork"]:
        if hasattr(os, name):
            refused(getattr(os, name))
    for name in ["execv", "execvp"]:
        if hasattr(os, name):
            refused(getattr(os, name), "/bin/sh", ["sh"])
    if hasattr(os, "posix_spawn"):
        refused(os.posix_spawn, "/bin/sh", ["sh"], {})
    if hasattr(os, "system"):
        try:
            assert os.system("true") != 0
        except OSError:
            pass
    if hasattr(os, "popen"):
        refused(os.popen, "id")
    try:
        import multiprocessing

        multiprocessing.Process(target=print).start()
    except (ImportError, OSError):
        pass
    else:
        raise AssertionError("a process was started")
    library = ctypes.CDLL(None, use_errno=True)
    for name in ["fork", "vfork"]:
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        assert function() == -1, name
    for name in ["system", "popen", "execve", "posix_spawn"]:
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        assert function(b"/bin/sh", b"r", None, None, None, None) in (-1, 0, 52, 127) or name == "posix_spawn", name
    print("ok")


def privileges():
    for name, arguments in [
        ("setuid", (0,)),
        ("setgid", (0,)),
        ("chroot", ("/",)),
        ("mount", ("a", "b", "c", 0)),
        ("nice", (-20,)),
        ("setpriority", (0, 0, -20)),
        ("sethostname", ("x",)),
        ("unshare", (0,)),
        ("setns", (0,)),
        ("reboot", (0,)),
        ("mknod", ("device", 0o20666, os.makedev(1, 1))),
        ("mkfifo", ("pipe",)),
        ("sched_setaffinity", (0, {0})),
        ("pidfd_open", (1,)),
        ("ptrace", (0,)),
        ("memfd_create", ("m",)),
    ]:
        function = getattr(os, name, None)
        if function is None:
            continue
        try:
            function(*arguments)
        except (OSError, ValueError):
            continue
        # What is allowed is about the guest's own make-believe.
        assert name in ("setuid", "setgid", "mkfifo", "mknod", "nice", "setpriority", "sched_setaffinity"), name
    print("ok")


globals()[sys.argv[1]]()
