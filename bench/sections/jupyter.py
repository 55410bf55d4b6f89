"""Jupyter kernels: Brumate's kernel beside ipykernel under the same client, and native kernels behind the tools of sessions."""

import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from harness.contestants import BENCH
from harness.figures import Summary, decimal, paired_ratio
from harness.mcp import Client
from harness.memory import megabytes
from harness.processes import Failed, Partner, memory, tree
from harness.report import Section

CELLS = 30
# Sessions whose memory is measured together.
SESSIONS = 10
IPYKERNEL, SANDBOX, NATIVE = "ipykernel", "Brumate's kernel", "native kernel, MCP on pipes"
KINDS = {"1+1": "`1+1`", "figure": "a figure", "frame": "a frame of 100 rows"}
TOOL_CELLS = {
    "1+1": "1+1",
    "figure": "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [2, 1, 3])\nplt.show()",
    "frame": "import pandas as pd\npd.DataFrame({'a': range(100), 'b': range(100)})",
}


class Kernel(Partner):
    """A kernel and its client."""

    def __init__(self, options, name, environment):
        command = ["env", *(f"{key}={value}" for key, value in environment.items())]
        super().__init__([*command, options.kernel, str(BENCH / "inside" / "jupyter_kernel.py"), name, str(CELLS)])


def share(pid):
    """Proportional share of the memory of a process and of those below it, in bytes."""
    shares = [memory(process)["share"] for process, _ in tree(pid)]
    return None if None in shares else sum(shares)


def of_kernel(options, name, environment, sample, contestant):
    with Kernel(options, name, environment) as kernel:
        found = kernel.read()
        sample[contestant, "described"].append(found["described"])
        sample[contestant, "first"].append(found["first"])
        for kind, seconds in found["cells"].items():
            sample[contestant, kind].append(statistics.median(seconds))
        sample[contestant, "memory"].append(share(found["pid"]))


def of_sessions(command, sample, ready):
    """New sessions and cells through MCP, and the memory that a session adds."""
    with Client(command) as server:
        first = server.tool("execute_code", {"code": "1+1", "session_id": ""})[1]
        session = first["session_info"]["session_id"]
        for kind, code in TOOL_CELLS.items():
            seconds = []
            for number in range(CELLS + 1):
                took, answer = server.tool("execute_code", {"code": code, "session_id": session})
                if not answer["success"]:
                    raise Failed(f"a cell said {answer}")
                if number:
                    seconds.append(took)
            sample[NATIVE, kind].append(statistics.median(seconds))
        before = share(server.pid)
        for _ in range(SESSIONS):
            sample[NATIVE, ready].append(server.tool("execute_code", {"code": "1+1", "session_id": ""})[0])
        after = share(server.pid)
        if None not in (before, after):
            sample[NATIVE, "memory"].append((after - before) / SESSIONS)


def measure(contestants, options):
    if options.kernel is None:
        raise Failed("--kernel is missing: a Python with ipykernel, matplotlib and pandas")
    sample = defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        brumate = contestants.brumate
        environment = {"JUPYTER_PATH": f"{place}/share/jupyter", "BRUMATE_CACHE_DIR": brumate.cache}
        subprocess.run(
            [brumate.binary, "kernel", "install", "--prefix", place],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        engine = ["--engine", "jupyter", "--python", str(Path(options.kernel)), "--tools", "interpreter"]
        for number in range(options.rounds):
            of_kernel(options, "python3", {}, sample, IPYKERNEL)
            of_kernel(options, "brumate", environment, sample, SANDBOX)
            data = f"{place}/data-{number}"
            of_sessions([*brumate.stdio(), *engine, "--data-dir", data, "--ready", "0"], sample, "first")
            of_sessions([*brumate.stdio(), *engine, "--data-dir", data], sample, "ready")
    result = Section("Jupyter kernels")
    rows = []
    for kind, title in {"described": "start → description", "first": "start → first `1+1`", **KINDS}.items():
        row = [title]
        for contestant in (IPYKERNEL, SANDBOX, NATIVE):
            values = sample[contestant, kind]
            row.append(Summary.of(values).milliseconds() if values else "")
        both = sample[SANDBOX, kind], sample[IPYKERNEL, kind]
        rows.append([*row, decimal(paired_ratio(*both))])
    rows.append(
        ["a session with a kernel that is ready", "", "", Summary.of(sample[NATIVE, "ready"]).milliseconds(), ""]
    )
    row = ["memory of an idle kernel, proportional share, MB"]
    for contestant in (IPYKERNEL, SANDBOX, NATIVE):
        values = [value for value in sample[contestant, "memory"] if value is not None]
        row.append(megabytes(statistics.median(values)) if values else "?")
    rows.append([*row, ""])
    result.table(["ms", IPYKERNEL, SANDBOX, NATIVE, "Brumate's kernel ÷ ipykernel"], rows)
    result.notes.append(
        f"One kernel at a time, over ipc, with jupyter_client; a cell is the time until its reply. {CELLS} cells of each kind in {options.rounds} rounds; "
        "median and quartiles of the rounds' medians. Native kernels are forks with numpy, pandas and matplotlib imported, each in a jail; their times are "
        "those of calls of `execute_code`, and their start is the first call of a session, with no kernel ready. The memory of a native kernel is what "
        f"each of {SESSIONS} sessions adds to the server's processes."
    )
    result.raw = {f"{contestant}: {kind}": values for (contestant, kind), values in sample.items()}
    return result
