"""The processes of this host, read from /proc: machines that test have no `ps`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def children() -> set[int]:
    """Processes that this one has started."""
    found = set()
    for task in Path('/proc/self/task').iterdir():
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in (task / 'children').read_text().split()}
    return found or _children_by_scan()


def _children_by_scan() -> set[int]:
    # Kernels without CONFIG_PROC_CHILDREN.
    return {pid for pid, parent in parents().items() if parent == os.getpid()}


def parents() -> dict[int, int]:
    """The parents of all processes of this host."""
    found = {}
    for entry in Path('/proc').iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name in parentheses may hold anything, so fields are counted from its end.
                found[int(entry.name)] = int((entry / 'stat').read_text().rpartition(')')[2].split()[1])
    return found


def descendants(pid: int) -> list[int]:
    """A process, and all that descend from it."""
    known = parents()
    found = [pid]
    for candidate in found:
        found.extend(child for child, parent in known.items() if parent == candidate)
    return found


def resident_bytes(pid: int) -> int | None:
    """Nothing for a process that has ended meanwhile."""
    try:
        status = Path(f'/proc/{pid}/status').read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith('VmRSS:'):
            return int(line.split()[1]) * 1024
    return None


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits for its parent only."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] in 'ZX'
    except (FileNotFoundError, ProcessLookupError):
        return True


def proportional_bytes(processes: list[int]) -> int:
    """Memory of processes, shared pages counted once."""
    total = 0
    for process in processes:
        try:
            with open(f'/proc/{process}/smaps_rollup') as rollup:
                total += sum(int(line.split()[1]) * 1024 for line in rollup if line.startswith('Pss:'))
        except OSError:
            continue  # it has ended
    return total
