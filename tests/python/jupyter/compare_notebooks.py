"""Runs the notebooks of `notebooks.py` in two kernels, and compares what their cells show.

    python compare_notebooks.py [--only NAME] [--list] [--verbose] REFERENCE KERNEL

REFERENCE and KERNEL are names of kernels that Jupyter finds, such as `python3` and `brumate`. The reference needs the
packages of the notebooks in the versions of the bundle; numbers, tables and HTML are equal then. The exit status is 0
when all cells are equal but for `DIFFERENCES`, and each of those still occurs.
"""

import argparse
import base64
import json
import os
import queue
import re
import struct
import sys
import tempfile
import time

import nbformat
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from notebooks import NOTEBOOKS

# A cell that takes longer hangs.
HANG_SECONDS = 180
# How often a reply is looked for.
LOOK_SECONDS = 0.5
# Pixels that widths and heights of pictures may differ by: letters are other ones where fonts differ.
PIXELS = 4
# Characters of a value that are printed.
SHOWN = 400

# Accepted differences: notebook, cell (the number in the notebook, from 1; 0 are the widgets' models), a pattern for
# the parts that differ, and the reason. Every entry must occur.
PYTHON = "another version of Python"
GROUPS = "ipykernel prints groups of exceptions on stderr, and sends no error"
THREADS = "there are no threads"
PROCESSES = "there are no processes: only `!`, `%%bash` and the like have a shell"
TWICE = "a figure that a cell shows and leaves open: ipykernel shows it twice"
DEBUGGER = "nobody talks to a debugger"
STDERR = "`!command` has no terminal: stderr stays stderr"
WIDTHS = "another FreeType: letters have other widths"
BETTER = "ipykernel fails"
PICTURE = "a picture and a text beside plotly's JSON: other clients show these"
OWN_BACKEND = "the backend has another name"
EMPTY = "rich displays nothing, which is left out"
LOOP = "the session's loop runs only while a cell awaits"
NO_IPYKERNEL = "there is no ipykernel"
DIFFERENCES = [
    ("pandas_tables", 4, "output 1 / text", "addresses have 32 bits: less memory"),
    ("pandas_tables", 23, "output 1 / traceback", PYTHON),
    ("matplotlib_figures", 18, "output 1 / data / text/plain", OWN_BACKEND),
    ("matplotlib_formats", 16, "output 1 / text", OWN_BACKEND),
    ("matplotlib_figures", 6, "output 2", TWICE),
    ("matplotlib_formats", 9, "output 2", "an open figure is shown when it was changed, not only when it was drawn"),
    ("matplotlib_formats", 13, "output 1 / text", "what no font has is said once, not for each letter"),
    ("matplotlib_formats", 17, "reply / status|output 1", "%matplotlib says that there are no windows"),
    ("seaborn", 4, "output 2 / data / image/png", WIDTHS),
    ("seaborn", 9, "output 2 / data / image/png", WIDTHS),
    *(("plotly", cell, "output 1 / data / (image/png|text/plain)", PICTURE) for cell in (1, 2, 3, 4, 5, 16)),
    ("plotly", 13, "output 1 / evalue", "messages of errors are bounded"),
    ("plotly", 12, "reply / status|output 1", "the bundle draws pictures of plotly without kaleido"),
    ("errors", 7, "output 1 / .*", PYTHON),
    ("errors", 14, "output 1 / .*", "the library's modules in C are built in"),
    ("errors", 16, "output 1 / traceback", "other frames below a cell's: another depth of recursion"),
    ("errors", 22, "output 1 / .*", "errno 2 is EACCES in WASI"),
    ("errors", 32, "output 1 / .*", PYTHON),
    ("rich", 0, "model .*", "live displays are shown once, and are no widgets"),
    ("rich", 1, "output 1 / data / text/plain", "links have other numbers"),
    ("rich", 8, "output [12]", EMPTY),
    ("rich", 10, "output .*", "live displays are shown once, and are no widgets"),
    ("rich", 12, "output [23]", EMPTY),
    ("rich", 16, "output [12]", EMPTY),
    ("errors_special", 6, "output 1 / text", "IPython's own lines have other numbers"),
    ("errors_special", 7, "output .*", BETTER),
    ("errors_special", 28, "output 2", "no advice after SystemExit"),
    ("errors_groups", 1, "output .*", GROUPS),
    ("errors_groups", 2, "output .*", GROUPS),
    ("errors_groups", 3, "output .*", GROUPS),
    ("errors_groups", 4, "output .*", GROUPS),
    ("display_updates", 23, "reply / status|output .*", "sys.stdout has a buffer"),
    ("magics", 33, "output 1 / data / text/plain", "no magics of frontends, consoles and conda"),
    ("magics", 40, "reply / status|output .*", "no %autosave: it is for Notebook before 7"),
    ("magics", 41, "output 1 / text", "other classes"),
    ("magics", 45, "reply / payload", "no magics of frontends, consoles and conda"),
    ("magics", 50, "reply / payload", "no magics of frontends, consoles and conda"),
    ("magics_files", 20, "output 1 / text", "sys.argv is that of `python -`"),
    ("magics_files", 23, "output 2 / .*", "the error has the script as text, not as bytes"),
    ("magics_files", 30, "reply / .*|output .*", "no editor"),
    ("magics_files", 31, "output 1", "%notebook says what it wrote"),
    ("magics_files", 41, "output 1 / traceback", "frozen modules have their source"),
    ("magics_files", 45, "output .*", DEBUGGER),
    ("shell", 9, "output 1 / name", STDERR),
    ("shell", 12, "output 1 / .*", "other words, and " + STDERR),
    ("shell", 13, "output .*", PROCESSES),
    ("shell", 14, "reply / status|output 1", PROCESSES),
    ("shell", 15, "reply / status|output .*", PROCESSES),
    ("shell", 25, "output 1 / name", STDERR),
    ("input_refused", 1, "output 1 / traceback", "no frame of ipykernel"),
    ("input_refused", 2, "output 1 / traceback", "no frame of ipykernel"),
    ("input_refused", 5, "output 1 / traceback", "no frame of ipykernel"),
    ("input_refused", 6, "output 1", DEBUGGER),
    ("input_refused", 7, "reply / status|output .*", DEBUGGER),
    ("asynchronous", 10, "reply / status|output 1", "asyncio.run() works in a cell"),
    ("asynchronous", 11, "reply / status|output 1", LOOP),
    ("asynchronous", 20, "output 1 / text", "another name of the function that runs cells"),
    ("asynchronous", 25, "output 1 / data / text/plain", LOOP),
    ("asynchronous", 15, "reply / status|output 1", THREADS),
    ("asynchronous", 18, "reply / status|output 1", THREADS),
    ("files", 6, "output 1 / traceback", PYTHON),
    ("files", 21, "output 1 / traceback", PYTHON),
    ("logging", 7, "output 1 / text", PYTHON),
    ("numbers", 34, "output 1 / .*", PYTHON),
    ("shell_api", 29, "output [12] / .*", PYTHON),
    ("shell_api", 38, "output 1 / data / text/plain", NO_IPYKERNEL),
    ("shell_api", 47, "output 1 / data / text/plain", NO_IPYKERNEL),
    ("representations", 16, "output 2", "no warning of jupyter_client"),
]

# Cells' files have names of IPython's, not of ipykernel's: with those IPython (9.18) takes cells for large files, and
# shows tracebacks through them without colors, with other lines around, and with wrong numbers of lines.
NAMES_OF_FILES = """
if type(get_ipython().compile).__module__.startswith("ipykernel"):
    del type(get_ipython().compile).get_code_name
"""


# Running.


def run(cells, kernel):
    """The cells' outputs and replies, and the models of the widgets, of a fresh kernel."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    replies = {}

    def keep(cell, cell_index, execute_reply):
        replies[cell_index] = execute_reply["content"]

    made = tempfile.TemporaryDirectory
    with made(prefix="notebook-") as folder, made(prefix="profile-", ignore_cleanup_errors=True) as profile:
        client = NotebookClient(
            notebook,
            kernel_name=kernel,
            timeout=HANG_SECONDS,
            allow_errors=True,
            resources={"metadata": {"path": folder}},
            on_cell_executed=keep,
        )
        client.create_kernel_manager()
        # IPython's history is a file; kernels that have the same one may wait for each other.
        client.start_new_kernel(cwd=folder, env={**os.environ, "IPYTHONDIR": profile})
        client.start_new_kernel_client()
        look_again(client.kc.shell_channel)
        run_sync(client.kc.execute_interactive)(NAMES_OF_FILES, silent=True, store_history=False, timeout=HANG_SECONDS)
        client.execute()
    shown = []
    for index, cell in enumerate(notebook.cells):
        reply = replies.get(index, {})
        parts = {"reply": {name: reply.get(name) for name in ("status", "execution_count", "payload")}}
        for number, output in enumerate(merged(cell.outputs), 1):
            parts[f"output {number}"] = output
        shown.append(parts)
    return [models_of(notebook), *shown]


def models_of(notebook):
    """The models of a notebook's widgets, by number and name."""
    widgets = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    models = {}
    for model in widgets.get("state", {}).values():
        models[f"model {len(models) + 1} {model['model_name']}"] = model
    return models


def look_again(channel):
    """Lets a channel look for messages anew. jupyter_client (8.10) misses a reply that comes while it sends a message,
    as it does for the outputs of `widgets.Output`: it waits for it until its time is over, with any kernel.
    """
    get = channel.get_msg

    async def get_msg(timeout=None):
        until = time.monotonic() + (HANG_SECONDS if timeout is None else timeout)
        while True:
            try:
                return await get(timeout=LOOK_SECONDS)
            except queue.Empty:
                if time.monotonic() > until:
                    raise

    channel.get_msg = get_msg


def merged(outputs):
    """The outputs as plain values. Texts of streams without another output between them are one for each stream:
    when ipykernel sends them depends on the time.
    """
    found, streams = [], {}
    for output in json.loads(json.dumps(outputs)):
        if output["output_type"] != "stream":
            found += [streams[name] for name in sorted(streams)] + [output]
            streams = {}
        elif output["name"] in streams:
            streams[output["name"]]["text"] += output["text"]
        else:
            streams[output["name"]] = output
    return found + [streams[name] for name in sorted(streams)]


# What cannot be equal.

TIME = r"\d+(?:\.\d+)? ?(?:ns|[uµμ]s|ms|s|min)\b"
# What stands in texts, and what stands for it.
PATTERNS = [
    # The shell of `!command` is a terminal in ipykernel.
    (r"\r\n", "\n"),
    # Addresses.
    (r"\b0x[0-9a-f]+\b|(?<= object at )[0-9a-f]+\b", "<address>"),
    # Numbers of errors: those of WASI.
    (r"\[Errno \d+\]", "[Errno]"),
    # Names of cells' files, and folders.
    (r"/tmp/ipykernel_\d+/\d+\.py|<ipython-input-\d+-[0-9a-f]+>", "<cell>"),
    (r"(?<![~\w./-])[~\w./-]*/(?:site|dist)-packages/", "<packages>/"),
    (r"(?<![~\w./-])[~\w./-]*/(?:lib/python3\.\d+|python3\d+\.zip)/", "<library>/"),
    (r"/tmp/notebook-\w+|/workspace\b|(?<!~)~(?=/)|(?<=-> )~(?=\n)", "<folder>"),
    # Versions of Python.
    (r"\b3\.1\d(?:\.\d+)?\b(?= ?\(|\b)", "<version>"),
    # Times: of magics, and of bars.
    (r"(CPU times|Wall time): .*", r"\1: <time>"),
    (r"The slowest run took .* being cached\.\n", ""),
    (rf"{TIME} ± {TIME}", "<time> ± <time>"),
    (r"\d\d:\d\d<(?:\d\d:\d\d|\?)", "<time>"),
    (r"(?:[\d.]+(?:it/s|s/it)|\?it/s)(\] +(?=[\r\n]))?", lambda found: "<rate>]" if found[1] else "<rate>"),
    (r"\b0:00:0\d\b", "<time>"),
    (r"(Ran \d+ tests? in) [\d.]+s", r"\1 <time>"),
]
PATTERNS = [(re.compile(pattern), stands) for pattern, stands in PATTERNS]
# Names made by chance. They are numbered in the order in which they come, so that links are compared.
IDS = re.compile(
    r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])"
    r"|(?<=\bT_)[0-9a-f]{5}(?=_|\b)|(?<=\x1b\]8;id=)\d+"
)
PICTURE_IN_TEXT = re.compile(r"data:image/(png|jpeg);base64,([A-Za-z0-9+/=\s]+)")


class Normal:
    """Takes out of the values of one notebook what cannot be equal."""

    def __init__(self):
        self.ids = {}

    def value(self, value):
        if isinstance(value, dict):
            return {self.text(name): self.value(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def text(self, text):
        text = PICTURE_IN_TEXT.sub(lambda found: str(picture(f"image/{found[1]}", found[2])), text)
        for pattern, stands in PATTERNS:
            text = pattern.sub(stands, text)
        return IDS.sub(lambda found: f"<id {self.ids.setdefault(found[0], len(self.ids) + 1)}>", text)

    def output(self, output):
        """An output with pictures as their sizes."""
        output = dict(output)
        data = output.pop("data", None)
        output = self.value(output)
        if data is not None:
            output["data"] = {
                kind: picture(kind, payload) if is_picture(kind, payload) else self.value(payload)
                for kind, payload in data.items()
            }
        return output


def is_picture(kind, payload):
    return kind in ("image/png", "image/jpeg", "application/pdf") or (
        kind == "image/svg+xml" and "Matplotlib" in payload
    )


def picture(kind, payload):
    """What is compared of a picture: its kind, and its size if that is known."""
    if kind == "image/svg+xml":
        size = re.search(r'<svg[^>]* width="([\d.]+)pt" height="([\d.]+)pt"|viewBox="0 0 ([\d.]+) ([\d.]+)"', payload)
        return [kind, *(float(part) for part in size.groups() if part)]
    data = base64.b64decode(payload)
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return [kind, *struct.unpack(">II", data[16:24])]
    return [kind, *jpeg_size(data)] if data[:2] == b"\xff\xd8" else [kind, data[:4].decode("latin-1")]


def jpeg_size(data):
    """Width and height in the head of a JPEG."""
    position = 2
    while position + 9 <= len(data):
        marker, length = data[position + 1], int.from_bytes(data[position + 2 : position + 4], "big")
        if 0xC0 <= marker <= 0xC3:
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            return width, height
        position += 2 + length
    return ()


# Comparing.


def differences(first, second, where=""):
    """The parts in which two values differ: where, the first's value, the second's."""
    if isinstance(first, dict) and isinstance(second, dict) and first.get("output_type") == second.get("output_type"):
        found = []
        for name in [*first, *(name for name in second if name not in first)]:
            inner = f"{where} / {name}" if where else str(name)
            if name not in first or name not in second:
                found.append((inner, first.get(name, "(missing)"), second.get(name, "(missing)")))
            else:
                found += differences(first[name], second[name], inner)
        return found
    return [] if same(first, second) else [(where, first, second)]


def same(first, second):
    """Equal, or pictures of one kind and size."""
    if first == second:
        return True
    both = (first, second)
    if not all(isinstance(one, list) and one and str(one[0]).startswith("image/") for one in both):
        return False
    sizes = [one[1:] for one in both]
    return (
        first[0] == second[0]
        and len(sizes[0]) == len(sizes[1])
        and all(isinstance(size, (int, float)) for size in sizes[0] + sizes[1])
        and all(abs(one - other) <= PIXELS for one, other in zip(*sizes, strict=True))
    )


def compared(name, reference, kernel):
    """All differences of a notebook: cell, part, the reference's value, the kernel's."""
    runs = []
    for one in (reference, kernel):
        normal, began = Normal(), time.monotonic()
        runs.append(
            [{part: normal.output(value) for part, value in parts.items()} for parts in run(NOTEBOOKS[name], one)]
        )
        print(f"  {one}: {time.monotonic() - began:.1f} s", file=sys.stderr)
    return [
        (cell, *difference)
        for cell, (first, second) in enumerate(zip(*runs, strict=True))
        for difference in differences(first, second)
    ]


def accepted(name, cell, part):
    """The entries of `DIFFERENCES` for a part of a cell."""
    return [entry for entry in DIFFERENCES if entry[0] == name and entry[1] == cell and re.fullmatch(entry[2], part)]


def shown(value):
    """A value as text: lines as they are, all else as JSON."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def excerpt(first, second, width):
    """Two values from where they differ."""
    texts = [value if isinstance(value, str) else shown(value) for value in (first, second)]
    common = 0
    while common < min(map(len, texts)) and texts[0][common] == texts[1][common]:
        common += 1
    begin = max(0, common - 60) if common > 100 else 0
    return [("…" if begin else "") + repr(text[begin : begin + width]) for text in texts]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("reference", nargs="?", default="python3", help="the kernel that is right")
    parser.add_argument("kernel", nargs="?", default="brumate", help="the kernel that is tested")
    parser.add_argument("--only", action="append", choices=NOTEBOOKS, metavar="NAME", help="only this notebook")
    parser.add_argument("--list", action="store_true", help="print the names of the notebooks")
    parser.add_argument("--verbose", action="store_true", help="print accepted differences too, and values whole")
    options = parser.parse_args()
    if options.list:
        for name, cells in NOTEBOOKS.items():
            print(f"{name}: {len(cells)} cells")
        return 0
    names = options.only or list(NOTEBOOKS)
    bad, equal, used = 0, 0, []
    for name in names:
        print(name, file=sys.stderr)
        found = compared(name, options.reference, options.kernel)
        unexpected = 0
        for cell, part, first, second in found:
            entries = accepted(name, cell, part)
            used += entries
            if entries and not options.verbose:
                continue
            unexpected += not entries
            first, second = excerpt(first, second, sys.maxsize if options.verbose else SHOWN)
            print(f"{name}, cell {cell}: {part}{': ' + entries[0][3] if entries else ''}")
            print(f"    {options.reference}: {first}")
            print(f"    {options.kernel}: {second}", flush=True)
        bad += unexpected
        equal += not found
    for entry in DIFFERENCES:
        if entry[0] in names and entry not in used:
            print(f"{entry[0]}, cell {entry[1]}: no longer differs: remove the entry {entry[2]!r}")
            bad += 1
    print(f"{len(names)} notebooks, {equal} wholly equal; {bad} differences that are not accepted")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
