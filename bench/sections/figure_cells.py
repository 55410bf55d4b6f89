"""Cells of a session that draw, through MCP, beside a bare Jupyter kernel."""

import json
import subprocess
import tempfile

from harness.contestants import BENCH
from harness.figures import Summary, decimal, paired_ratio
from harness.mcp import Client
from harness.processes import Failed
from harness.report import Section

CELLS = {
    "a line": "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [2, 1, 3])\nplt.title('Title')\nplt.show()",
    "four axes, 20,000 points": (
        "import matplotlib.pyplot as plt, numpy as np\n"
        "figure, axes = plt.subplots(2, 2, figsize=(10, 8))\n"
        "for number, each in enumerate(axes.flat):\n"
        "    each.scatter(np.arange(5000), np.sin(np.arange(5000) * number), s=2, label='data')\n"
        "    each.legend()\n"
        "plt.tight_layout()\nplt.show()"
    ),
    "bars of a frame": (
        "import matplotlib.pyplot as plt, pandas as pd\n"
        "pd.DataFrame({'a': range(12), 'b': range(12, 24)}).plot.bar(stacked=True)\nplt.show()"
    ),
    "saved and shown": "import matplotlib.pyplot as plt\nplt.hist([1, 2, 2, 3] * 50)\nplt.savefig('a.png')\nplt.show()",
}
# Of each round: cells of each kind.
CELLS_A_ROUND = 5


def measure(contestants, options):
    result = Section("Cells that draw")
    if options.kernel is None:
        raise Failed("--kernel is missing: a Python with ipykernel, matplotlib and pandas")
    ours, theirs = {name: [] for name in CELLS}, {name: [] for name in CELLS}
    with tempfile.TemporaryDirectory() as data:
        command = [*contestants.brumate.stdio(), "--tools", "interpreter", "--data-dir", data]
        with Client(command) as server:
            session = cell(server, "None", "")[1]
            for code in CELLS.values():
                cell(server, code, session, pictures=1)
            for _ in range(options.rounds):
                of_round = kernel(options)
                for name, code in CELLS.items():
                    theirs[name] += of_round[name]
                    ours[name] += [cell(server, code, session, pictures=1)[0] for _ in range(CELLS_A_ROUND)]
    rows = []
    for name in CELLS:
        times = (Summary.of(side[name]).milliseconds() for side in (ours, theirs))
        rows.append([name, *times, decimal(paired_ratio(ours[name], theirs[name]))])
    result.table(["cell", "Brumate, MCP on pipes, ms", "ipykernel, its own client, ms", "Brumate ÷ ipykernel"], rows)
    result.notes.append(
        "Each answer has one picture as PNG: Brumate's of 100 dots an inch, the kernel's as matplotlib-inline draws it. Median and quartiles; "
        f"{CELLS_A_ROUND} cells of each kind in {options.rounds} rounds, one at a time; a kernel for each round, which runs each cell once before."
    )
    result.raw = {"brumate_seconds": ours, "ipykernel_seconds": theirs}
    return result


def cell(client, code, session, pictures=0):
    """Runs a cell; returns the seconds and the session."""
    seconds, answer = client.tool("execute_code", {"code": code, "session_id": session})
    shown = [file for file in answer["files"] if file["mime_type"] == "image/png"]
    if not answer["success"] or len(shown) != pictures:
        raise Failed(f"a cell said {answer}")
    return seconds, session or answer["session_info"]["session_id"]


def kernel(options):
    command = [options.kernel, str(BENCH / "inside" / "kernel_figures.py"), str(CELLS_A_ROUND)]
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run(
            command, input=json.dumps(CELLS), stdout=subprocess.PIPE, check=True, text=True, cwd=directory
        )
    return json.loads(run.stdout)
