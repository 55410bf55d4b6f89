"""System calls and databases that this platform's build leaves out: done, or refused as Linux would."""

import dbm.dumb
import faulthandler
import grp
import locale
import os
import pwd
import resource
import shelve
import signal
import stat
import sys
import tempfile
import time
from pathlib import Path

import psutil
from checks import equal, raises


class Expired(Exception):
    pass


def expire(number, frame):
    raise Expired(signal.Signals(number).name)


def test_alarms_end_computing_and_sleeping():
    equal(signal.signal(signal.SIGALRM, expire), signal.SIG_DFL)
    equal(signal.getsignal(signal.SIGALRM), expire)
    equal(signal.alarm(100), 0)
    equal(signal.alarm(0), 100)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with raises(Expired, "SIGALRM"):
        while True:
            pass
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with raises(Expired, "SIGALRM"):
        time.sleep(100)
    equal(signal.getitimer(signal.ITIMER_REAL), (0.0, 0.0))
    ticks = []
    signal.signal(signal.SIGALRM, lambda *_: ticks.append(time.monotonic()))
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    time.sleep(0.3)
    # Handlers run, and the sleep goes on.
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(ticks) >= 2 and time.monotonic() - began >= 0.3 and left > 0, ticks
    equal(round(interval, 6), 0.02)
    with raises(OSError):
        signal.setitimer(signal.ITIMER_PROF, 1)
    with raises(OSError):
        signal.setitimer(signal.ITIMER_REAL, -1)
    equal(signal.signal(signal.SIGALRM, signal.SIG_DFL).__name__, "<lambda>")


def test_the_user_is_known():
    user = pwd.getpwuid(os.getuid())
    equal((user.pw_name, user.pw_dir), ("user", os.path.expanduser("~")))
    equal((pwd.getpwnam("user"), grp.getgrgid(os.getgid()).gr_name), (user, "user"))
    for function, key in (
        (pwd.getpwnam, "nobody2"),
        (pwd.getpwuid, 4711),
        (grp.getgrnam, "wheel2"),
        (grp.getgrgid, 4711),
    ):
        with raises(KeyError):
            function(key)
    equal(Path("/tmp").owner(), "user")
    for function, argument in ((pwd.getpwuid, 3.14), (grp.getgrgid, None), (resource.getrlimit, "0")):
        with raises(TypeError):
            function(argument)
    for function in (resource.getrlimit, grp.getgrgid):
        with raises(OverflowError):
            function(2**1000)
    for function in (pwd.getpwnam, grp.getgrnam):
        with raises(ValueError, "null byte"):
            function("user\0")
    with raises(ValueError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (-5, -1))
    home = os.environ.pop("HOME")
    try:
        equal((pwd.getpwuid(os.getuid()).pw_dir, os.path.expanduser("~")), (home, home))
    finally:
        os.environ["HOME"] = home


def test_what_is_used_is_told():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    assert usage.ru_utime > 0 and usage.ru_maxrss > 10_000, usage
    assert psutil.virtual_memory().total >= psutil.Process().memory_info().rss > 10_000_000
    equal(
        [process.info for process in psutil.process_iter(["pid", "num_threads"])],
        [{"pid": os.getpid(), "num_threads": 1}],
    )
    with raises(psutil.NoSuchProcess):
        psutil.Process(os.getpid() + 1)
    with raises(psutil.AccessDenied):
        psutil.Process().kill()


def test_files_that_other_systems_have():
    with tempfile.TemporaryDirectory() as directory:
        name = os.path.join(directory, "shelf")
        with shelve.open(name) as shelf:
            shelf["numbers"] = [1, 2]
        with shelve.open(name) as shelf:
            equal(dict(shelf), {"numbers": [1, 2]})
        with dbm.dumb.open(os.path.join(directory, "dumb"), "c") as database:
            database[b"key"] = b"value"
            equal(database[b"key"], b"value")
        path = Path(directory, "file")
        path.touch()
        os.utime(path, ns=(1234567891234567891, -1))
        equal((path.stat().st_atime_ns, path.stat().st_mtime_ns), (1234567891234567891, -1))
        with raises(FileNotFoundError):
            os.utime(path.with_name("absent"), ns=(1, 1))
        with raises(FileNotFoundError, "absent' -> '"):
            os.link(path.with_name("absent"), path)
        with raises(PermissionError):
            os.mkfifo(path.with_name("pipe"))


def test_locales_that_are_not_there_are_refused():
    for name in ("de_DE.UTF-8", "nonsense"):
        with raises(locale.Error):
            locale.setlocale(locale.LC_ALL, name)
    equal(locale.setlocale(locale.LC_ALL, "C.UTF-8"), "C.UTF-8")
    equal(locale.setlocale(locale.LC_TIME, "C"), "C")
    equal(locale.setlocale(locale.LC_ALL, ""), "C.UTF-8")
    # What it was, as code puts it back.
    locale.setlocale(locale.LC_NUMERIC, "C")
    before = locale.setlocale(locale.LC_ALL)
    assert before.startswith("LC_CTYPE=C.UTF-8;LC_NUMERIC=C;LC_TIME=C.UTF-8;"), before
    equal((locale.setlocale(locale.LC_ALL, "C"), locale.setlocale(locale.LC_ALL, before)), ("C", before))
    with raises(locale.Error):
        locale.setlocale(locale.LC_ALL, "LC_CTYPE=C.UTF-8;LC_NUMERIC=de_DE")
    locale.setlocale(locale.LC_ALL, "")


def test_there_is_no_terminal():
    for mode in ("r", "w", "a", "r+b"):
        with raises(OSError, "No such device or address", error="ENXIO"):
            open("/dev/tty", mode, buffering=0 if "b" in mode else -1)
    assert stat.S_ISCHR(os.stat("/dev/tty").st_mode)
    with raises(OSError):
        os.ctermid() and os.open(os.ctermid(), os.O_RDWR)


def test_proc_tells_of_the_guest_alone():
    here = Path("/proc/self")
    if sys.platform == "emscripten":
        equal(sorted(os.listdir("/proc")), sorted(["cpuinfo", "meminfo", "self", str(os.getpid())]))
    equal((os.readlink(here), os.path.realpath("/proc/self/cwd")), (str(os.getpid()), os.getcwd()))
    command = (here / "cmdline").read_bytes().decode().split("\0")[:-1]
    if sys.platform == "emscripten":
        equal(command, sys.orig_argv)
        equal((psutil.Process().cmdline(), psutil.Process().name()), (command, (here / "comm").read_text().strip()))
    status = dict(line.split(":", 1) for line in (here / "status").read_text().splitlines())
    equal((int(status["Pid"]), int(status["PPid"])), (os.getpid(), os.getppid()))
    resident, unit = status["VmRSS"].split()
    assert unit == "kB" and int(resident) > 10_000
    fields = (here / "stat").read_text().rpartition(")")[2].split()
    equal((len(fields), fields[0], int(fields[1])), (50, "R", os.getppid()))
    clock = os.sysconf("SC_CLK_TCK")
    assert abs((int(fields[11]) + int(fields[12])) / clock - time.process_time()) < 1
    pages = int((here / "statm").read_text().split()[1])
    assert abs(pages * os.sysconf("SC_PAGE_SIZE") // 1024 - int(resident)) < 100_000
    memory = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    total = int(memory["MemTotal"].split()[0])
    assert total >= int(memory["MemFree"].split()[0]) > 0
    assert abs(total * 1024 / (os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) - 1) < 0.02
    processors = Path("/proc/cpuinfo").read_text().count("processor\t:")
    equal(processors, os.cpu_count())
    for line in (here / "maps").read_text().splitlines():
        first, last = (int(end, 16) for end in line.split()[0].split("-"))
        assert first < last
    with open("/proc/self/status") as file:
        equal(os.readlink(f"/proc/self/fd/{file.fileno()}"), f"/proc/{os.getpid()}/status")


def test_the_time_limits_of_test_runners_do_no_harm():
    faulthandler.dump_traceback_later(1000)
    faulthandler.cancel_dump_traceback_later()
    with raises(ValueError, "timeout must be greater than 0"):
        faulthandler.dump_traceback_later(0)


def test_sockets_have_the_constants_of_linux():
    import socket

    numbers = [socket.SO_REUSEADDR, socket.SO_REUSEPORT, socket.SO_RCVTIMEO, socket.INADDR_BROADCAST, socket.NI_MAXHOST]
    equal(numbers, [2, 15, 20, 0xFFFFFFFF, 1025])
    equal((socket.AF_UNIX, type(socket.AF_UNIX)), (1, socket.AddressFamily))


def test_rubbish_is_no_certificate():
    import ssl

    context = ssl.create_default_context()
    with raises(ssl.SSLError, "no start line: cadata does not contain a certificate"):
        context.load_verify_locations(cadata="rubbish")
    with raises(ValueError, "Invalid PEM encoding"):
        ssl.PEM_cert_to_DER_cert("rubbish")
    with raises(FileNotFoundError):
        ssl.create_default_context(cafile="missing.pem")
    with raises(ssl.SSLError, "NO_CERTIFICATE_OR_CRL_FOUND"):
        context.load_verify_locations(os.__file__)
    import certifi

    context.load_verify_locations(certifi.where())
