"""Child processes: whole runs by the clock, partners that answer line by line, memory of process trees."""

import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# Longest wait for a process to do what it is asked, in seconds.
PATIENCE = 900

# What a process that has answered may go on doing on its own (V8 optimises in threads of its own) is waited for, so
# that it does not take time from the next contestant: until it used no processor for this long, at most that long.
QUIET, MOST_UNREST = 0.05, 3.0


class Failed(Exception):
    """A contestant did not do what it was asked."""


@dataclass(frozen=True)
class Run:
    """A whole run: seconds from the start to the first line of output and to the end, and the lines after the first."""

    first: float
    whole: float
    rest: list


def run_once(command, expected):
    """Runs a command, whose first line must be `expected`."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        line = process.stdout.readline()
        first = time.perf_counter() - start
        rest = process.stdout.read()
        status = process.wait()
        whole = time.perf_counter() - start
        watchdog.cancel()
    if status != 0 or line.decode().strip() != expected:
        raise Failed(f"{command[0]}: status {status}, said {line!r} instead of {expected!r}")
    return Run(first, whole, rest.decode().splitlines())


class Partner:
    """A process that answers each line with a line."""

    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.watchdog = threading.Timer(PATIENCE, self.process.kill)
        self.watchdog.daemon = True
        self.watchdog.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.watchdog.cancel()

    @property
    def pid(self):
        return self.process.pid

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        """The next line, decoded; what is no JSON object (a contestant's own messages) is passed over."""
        for line in iter(self.process.stdout.readline, b""):
            if line.startswith(b"{"):
                return json.loads(line)
        raise Failed(f"{self.command[0]} ended with status {self.process.wait()}")

    def ask(self, message):
        self.write(message)
        return self.read()

    def timed(self, message, expected):
        """Seconds until the answer, which must be `expected`."""
        start = time.perf_counter()
        answer = self.ask(message)
        seconds = time.perf_counter() - start
        if answer != expected:
            raise Failed(f"{self.command[0]} said {answer} instead of {expected}")
        return seconds

    def settle(self):
        """Waits until the process does nothing any more."""
        end = time.monotonic() + MOST_UNREST
        before = None
        while (now := processor_time(self.pid)) != before and time.monotonic() < end:
            before = now
            time.sleep(QUIET)


def tree(pid):
    """`pid` and all its descendants, parents first, each with its depth."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (status := read_status(int(entry.name))):
            children.setdefault(int(status["PPid"]), []).append(int(entry.name))
    found = [(pid, 0)]
    for member, depth in found:
        found.extend((child, depth + 1) for child in children.get(member, []))
    return found


def read_status(pid):
    """`/proc/<pid>/status` as a dictionary; empty when the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def processor_time(pid):
    """Clock ticks that a process has used, in user and in system mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def kilobytes(text):
    return int(text.split()[0]) * 1024 if text else 0


def memory(pid):
    """Memory of a process: peak resident size, present resident size, proportional share (None if not readable),
    bytes."""
    status = read_status(pid)
    share = None
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                share = kilobytes(line.partition(":")[2].strip())
    except OSError:
        pass
    return {
        "peak": kilobytes(status.get("VmHWM")),
        "resident": kilobytes(status.get("VmRSS")),
        "share": share,
    }


class Watch(threading.Thread):
    """Samples the memory of a process tree until it is stopped.

    A process's peak is the kernel's own (VmHWM) and missed only by what it grows in its last moments; the sum over
    the tree is of samples.
    """

    INTERVAL = 0.05

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peaks, self.sum, self.over = pid, {}, 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(self.INTERVAL):
            total = 0
            for member, _ in tree(self.pid):
                status = read_status(member)
                peak = kilobytes(status.get("VmHWM"))
                if peak > self.peaks.get(member, 0):
                    self.peaks[member] = peak
                total += kilobytes(status.get("VmRSS"))
            self.sum = max(self.sum, total)

    def stop(self):
        self.over.set()
        self.join()
        return {"largest": max(self.peaks.values(), default=0), "sum": self.sum, "processes": len(self.peaks)}


def load():
    """The system's load average over one minute."""
    return os.getloadavg()[0]
