"""What a sandbox without processes and network answers: an error that says so, never a hang."""

import importlib.util
import io
import multiprocessing
import os
import runpy
import socket
import subprocess
import sys
import urllib.request
from concurrent.futures import ProcessPoolExecutor

from checks import equal, raises


def test_processes():
    with raises(OSError):
        subprocess.run(["ls"])
    with raises(OSError):
        os.popen("ls")
    with raises(OSError):
        os.fork()
    with raises(OSError):
        os.execv("/bin/ls", ["ls"])
    assert os.system("ls") != 0
    for start in (multiprocessing.Process(target=print).start, multiprocessing.Manager):
        with raises((OSError, ImportError)):
            start()
    with raises(OSError, error="ENOSYS"):
        os.waitpid(-1, 0)
    with multiprocessing.Lock() as held:
        assert held


def test_environments():
    for name in ("venv", "ensurepip"):
        with raises(
            ModuleNotFoundError, f"No module named '{name}': each sandbox is an environment of its own; install"
        ):
            importlib.import_module(name)
        equal(importlib.util.find_spec(name), None)
        with raises(SystemExit, f"No module named '{name}': each sandbox is"):
            runpy.run_module(name, run_name="__main__")


def test_pools_run_in_the_caller():
    with multiprocessing.Pool(3) as pool:
        equal(pool.map(str.upper, "abc"), ["A", "B", "C"])
        equal(pool.apply_async(os.getpid).get(), os.getpid())
        equal(sorted(pool.imap_unordered(abs, [-2, 1])), [1, 2])
    with ProcessPoolExecutor() as pool:
        equal((pool.submit(len, "x").result(), list(pool.map(abs, [-1]))), (1, [1]))


def test_the_network():
    with raises(PermissionError):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    with raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", 80), timeout=1)
    with raises(OSError, error="EADDRNOTAVAIL"):
        socket.create_server(("192.0.2.1", 0))
    with raises(socket.gaierror):
        socket.getaddrinfo("python.org", 80)
    with raises(OSError):
        urllib.request.urlopen("http://127.0.0.1/", timeout=1)
    assert isinstance(socket.gethostname(), str)
    assert socket.getfqdn()


def test_the_system():
    if sys.platform == "emscripten":
        for name in ("pipe2", "posix_spawn"):
            assert not hasattr(os, name), name
    with raises(OSError, error="EPERM"):
        os.kill(12345, 9)
    with raises(OSError):
        os.get_terminal_size()
    assert not os.isatty(1)


def test_bars_of_notebooks_are_text():
    from tqdm.autonotebook import tqdm as automatic
    from tqdm.notebook import tqdm, trange

    for bar in (tqdm, automatic):
        written = io.StringIO()
        equal(list(bar(range(3), file=written)), [0, 1, 2])
        assert "100%" in written.getvalue(), written.getvalue()
    equal(list(trange(2, file=io.StringIO())), [0, 1])
