"""What psutil can say inside the sandbox: about its memory, its file system and its one process.

psutil itself reads more of `/proc` than is there. What nobody in here can know raises `AccessDenied` or is empty.
"""

import collections
import os
import resource
import shutil
import sys
import threading
import time

__version__ = "7.0.0"
version_info = (7, 0, 0)

LINUX, POSIX = False, True
WINDOWS = MACOS = OSX = FREEBSD = OPENBSD = NETBSD = BSD = SUNOS = AIX = False
STATUS_RUNNING, STATUS_SLEEPING, STATUS_ZOMBIE, STATUS_STOPPED = "running", "sleeping", "zombie", "stopped"
CONN_ESTABLISHED, CONN_LISTEN, CONN_NONE = "ESTABLISHED", "LISTEN", "NONE"
POWER_TIME_UNKNOWN, POWER_TIME_UNLIMITED = -1, -2

_started = time.time()
_NAME = "python"

svmem = collections.namedtuple("svmem", "total available percent used free")
sswap = collections.namedtuple("sswap", "total used free percent sin sout")
sdiskusage = collections.namedtuple("sdiskusage", "total used free percent")
sdiskpart = collections.namedtuple("sdiskpart", "device mountpoint fstype opts")
scputimes = collections.namedtuple("scputimes", "user system idle")
pcputimes = collections.namedtuple("pcputimes", "user system children_user children_system")
pmem = collections.namedtuple("pmem", "rss vms")
scpustats = collections.namedtuple("scpustats", "ctx_switches interrupts soft_interrupts syscalls")
pthread = collections.namedtuple("pthread", "id user_time system_time")


class Error(Exception):
    """Base of this module's errors."""


class NoSuchProcess(Error):
    """There is no process of this number."""

    def __init__(self, pid, name=None, msg=None):
        super().__init__(msg or f"process PID not found (pid={pid})")
        self.pid, self.name, self.msg = pid, name, msg


class ZombieProcess(NoSuchProcess):
    """A process that has ended; there is none."""


class AccessDenied(Error):
    """The sandbox does not let this be known or done."""

    def __init__(self, pid=None, name=None, msg=None):
        super().__init__(msg or f"(pid={pid}): not to be known inside this sandbox")
        self.pid, self.name, self.msg = pid, name, msg


class TimeoutExpired(Error):
    """A process did not end in time."""


def cpu_count(logical=True):
    """The number of processors that are told; one of them is used."""
    return os.cpu_count()


def cpu_percent(interval=None, percpu=False):
    """The share of this program's own work in `interval` seconds, in per cent."""
    if interval:
        before = time.process_time()
        time.sleep(interval)
        share = round(min(100.0, (time.process_time() - before) / interval * 100), 1)
    else:
        share = 0.0
    return [share] + [0.0] * (cpu_count() - 1) if percpu else share


def cpu_times(percpu=False):
    """The times that this program has used."""
    used = time.process_time()
    times = scputimes(used, 0.0, max(0.0, time.time() - _started - used))
    return [times] if percpu else times


def cpu_times_percent(interval=None, percpu=False):
    """As `cpu_times`, in per cent."""
    share = cpu_percent(interval)
    times = scputimes(share, 0.0, round(100.0 - share, 1))
    return [times] if percpu else times


def cpu_stats():
    """Nothing is counted."""
    return scpustats(0, 0, 0, 0)


def cpu_freq(percpu=False):
    """Unknown inside."""
    return [] if percpu else None


def getloadavg():
    """The load is unknown inside."""
    return 0.0, 0.0, 0.0


def virtual_memory():
    """The memory that a program can have here, and what this one has."""
    used = _memory()
    total = max(used, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return svmem(total, total - used, round(used / total * 100, 1) if total else 0.0, used, total - used)


def swap_memory():
    """There is none."""
    return sswap(0, 0, 0, 0.0, 0, 0)


def disk_usage(path):
    """The room in the sandbox's file system."""
    usage = shutil.disk_usage(path)
    return sdiskusage(*usage, round(usage.used / usage.total * 100, 1) if usage.total else 0.0)


def disk_partitions(all=False):
    """One file system."""
    return [sdiskpart("sandbox", "/", "tmpfs", "rw")]


def disk_io_counters(perdisk=False, nowrap=True):
    """Nothing is counted."""
    return {} if perdisk else None


def net_io_counters(pernic=False, nowrap=True):
    """There is no network."""
    return {} if pernic else None


def net_connections(kind="inet"):
    """There is no network."""
    return []


def net_if_addrs():
    """There is no network."""
    return {}


def net_if_stats():
    """There is no network."""
    return {}


def sensors_temperatures(fahrenheit=False):
    """Unknown inside."""
    return {}


def sensors_fans():
    """Unknown inside."""
    return {}


def sensors_battery():
    """Unknown inside."""
    return None


def boot_time():
    """When this module was imported."""
    return _started


def users():
    """Nobody is logged in."""
    return []


def pids():
    """This program's number."""
    return [os.getpid()]


def pid_exists(pid):
    """Whether it is this program's number."""
    return pid == os.getpid()


def process_iter(attrs=None, ad_value=None):
    """This program. With `attrs`, what they are is in the attribute `info`."""
    process = Process()
    if attrs is not None:
        process.info = process.as_dict(attrs, ad_value)
    yield process


def wait_procs(procs, timeout=None, callback=None):
    """Nothing ends."""
    return [], list(procs)


def _memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Process:
    """This program."""

    def __init__(self, pid=None):
        self.pid = os.getpid() if pid is None else pid
        if self.pid != os.getpid():
            raise NoSuchProcess(self.pid)

    def __repr__(self):
        return f"psutil.Process(pid={self.pid}, name={_NAME!r}, status='running')"

    def __eq__(self, other):
        return isinstance(other, Process) and other.pid == self.pid

    def __hash__(self):
        return hash(self.pid)

    def __getattr__(self, name):
        if name.startswith("_") or name == "info":
            raise AttributeError(name)
        if name not in _UNKNOWN:
            raise AttributeError(f"'Process' object has no attribute {name!r}")

        def unknown(*arguments, **options):
            raise AccessDenied(self.pid, _NAME, f"{name}: not to be known or done inside this sandbox")

        return unknown

    def oneshot(self):
        """Groups questions; they are answered one by one."""
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def as_dict(self, attrs=None, ad_value=None):
        """Several facts by their names."""
        facts = {}
        for name in attrs if attrs is not None else _FACTS:
            try:
                facts[name] = self.pid if name == "pid" else getattr(self, name)()
            except AccessDenied:
                facts[name] = ad_value
        return facts

    def name(self):
        """The interpreter's name."""
        return _NAME

    def exe(self):
        """Where the interpreter is said to be."""
        import sys

        return sys.executable or ""

    def cmdline(self):
        """How the program was started."""
        import sys

        return list(sys.orig_argv)

    def status(self):
        """It runs."""
        return STATUS_RUNNING

    def is_running(self):
        """It runs."""
        return True

    def create_time(self):
        """When this module was imported."""
        return _started

    def cwd(self):
        """The current directory."""
        return os.getcwd()

    def username(self):
        """The sandbox's user."""
        return os.environ.get("USER", "user")

    def ppid(self):
        """The number of a process that is not there."""
        return os.getppid()

    def parent(self):
        """There is none."""
        return None

    def parents(self):
        """There are none."""
        return []

    def children(self, recursive=False):
        """There are none."""
        return []

    def num_threads(self):
        """The threads that are alive."""
        return len(sys._current_frames())

    def threads(self):
        """The threads that are alive. The time of all is counted for the first."""
        main = threading.main_thread().ident
        others = [pthread(ident, 0.0, 0.0) for ident in sys._current_frames() if ident != main]
        return [pthread(self.pid, time.process_time(), 0.0), *others]

    def nice(self, value=None):
        """The priority."""
        return os.nice(0 if value is None else value - os.nice(0))

    def cpu_percent(self, interval=None):
        """As the function of this name."""
        return cpu_percent(interval)

    def cpu_times(self):
        """The times that the program has used."""
        return pcputimes(time.process_time(), 0.0, 0.0, 0.0)

    def cpu_affinity(self, cpus=None):
        """The processors that are told."""
        return list(range(cpu_count()))

    def memory_info(self):
        """Bytes that the interpreter has."""
        return pmem(_memory(), _memory())

    memory_full_info = memory_info

    def memory_percent(self, memtype="rss"):
        """The share of the memory that a program can have here."""
        return virtual_memory().percent

    def environ(self):
        """The environment's variables."""
        return dict(os.environ)

    def open_files(self):
        """Unknown inside."""
        return []

    def net_connections(self, kind="inet"):
        """There is no network."""
        return []

    connections = net_connections


_FACTS = (
    "pid",
    "name",
    "status",
    "username",
    "create_time",
    "cpu_percent",
    "memory_info",
    "memory_percent",
    "num_threads",
    "cmdline",
)
_UNKNOWN = frozenset(
    "kill terminate suspend resume send_signal wait io_counters num_fds num_ctx_switches ionice rlimit terminal uids "
    "gids memory_maps cpu_num".split()
)
