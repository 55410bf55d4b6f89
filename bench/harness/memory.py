"""Peak memory of a contestant that has done its work and waits for input."""

import json

from .contestants import BENCH, output
from .processes import Partner, command_line, memory, tree

# What the script does before it waits, by which packages it needs.
WORK = {
    "plain": "inside/first_result.py",
    "numpy": "inside/numpy_import.py",
    "all": "inside/figure.py",
}
WAIT = 'import sys\nprint("{}", flush=True)\nsys.stdin.readline()\n'


def role(contestant, contestants, pid, depth):
    """What a process of the tree is, for people."""
    if contestant is not contestants.brumate:
        return "process"
    line = command_line(pid)
    if " internal " not in line:
        return "server"
    return "zygote" if depth else "machine"


def of_contestant(contestant, script, which):
    """`[(command line, memory)]` of all its processes, parents first, while the script waits for input."""
    with Partner(contestant.execute(script, which)) as partner:
        partner.read()
        return [(command_line(pid), memory(pid)) for pid in tree(partner.pid)]


def table_of_memory(section, contestants, which):
    """Adds a table of peaks to a section."""
