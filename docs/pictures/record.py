"""Records the terminal session of README.md: runs each command and writes `session.svg`, in which the lines appear.

    python3 docs/pictures/record.py --brumate target/release/brumate

The picture has no script and no font of its own. Where nothing moves (no CSS, or less motion is wanted), all lines are
there. The same answers give the same bytes: no line has a time or a name that changes. Run `brumate warmup` before, or
the binary says that it compiles.
"""

import argparse
import code
import contextlib
import io
import os
import subprocess
import sys
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Lines of a shell, then those of an interpreter of Python.
SHELL = [
    "echo 'import numpy; print(numpy.arange(3) ** 2)' | brumate exec -",
    "echo 'open(\"/etc/shadow\")' | brumate exec - 2>&1 | tail -1",
]
PYTHON = [
    "from brumate import Sandbox",
    "session = Sandbox(timeout=2).session()",
    'session["sales"] = {"north": [3, 4], "south": [5, 1]}',
    'print(session.run("import pandas as pd; frame = pd.DataFrame(sales); frame.sum()").text)',
    'session.run("frame.plot.bar()").figures[0].name',
    'session.run("while True: pass").stopped',
    'session.run("len(frame)").value',
    "session.delete()",
]

# Seconds: typing a letter, before a command, until it answers, after everything.
LETTER, BEFORE, ANSWER = 0.02, 0.6, 0.3
# Pixels.
COLUMN, ROW, MARGIN, TITLE = 8.0, 20, 16, 30

STYLE = """
text { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 13px; fill: #d6deeb; }
text { white-space: pre; }
.prompt { fill: #7fdbca; }
.typed { fill: #ffffff; }
g { animation: appear 0.15s both; }
@keyframes appear { from { opacity: 0; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { g { animation: none; } }
"""


def shell(line, binary):
    """Runs a line of a shell, for which `brumate` is the binary."""
    function = f'brumate() {{ "{binary}" "$@"; }}\n'
    done = subprocess.run(["bash", "-c", function + line], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{line}: status {done.returncode}\n{done.stderr}")
    return done.stdout.splitlines()


def python(console, line):
    """Runs a line of an interpreter."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        console.push(line)
    if err.getvalue():
        sys.exit(f"{line}:\n{err.getvalue()}")
    return out.getvalue().splitlines()


def record(binary):
    """Returns the commands: prompt, line, what it answers."""
    steps = [("$ ", line, shell(line, binary)) for line in SHELL]
    os.environ["BRUMATE_BINARY"] = str(binary)
    sys.path.insert(0, str(HERE.parent.parent / "python" / "src"))
    console = code.InteractiveConsole()
    steps.append(("$ ", "python", []))
    return steps + [(">>> ", line, python(console, line)) for line in PYTHON]


def draw(steps):
    """Returns the picture, and how many seconds it takes."""
    lines, seconds = [], 0.0

    def add(content):
        top = TITLE + MARGIN + ROW * len(lines)
        lines.append(f'<g style="animation-delay:{seconds:.2f}s"><text x="{MARGIN}" y="{top}">{content}</text></g>')

    for prompt, line, answers in steps:
        seconds += BEFORE
        # A line appears when it has been typed.
        seconds += LETTER * len(line)
        add(f'<tspan class="prompt">{escape(prompt)}</tspan><tspan class="typed">{escape(line)}</tspan>')
        seconds += ANSWER
        for answer in answers:
            add(escape(answer))
    widest = max(len(text) for prompt, line, answers in steps for text in [prompt + line, *answers])
    width = round(widest * COLUMN + 2 * MARGIN)
    height = TITLE + 2 * MARGIN + ROW * (len(lines) - 1)
    buttons = "".join(
        f'<circle cx="{MARGIN + 4 + 18 * place}" cy="{TITLE // 2}" r="5" fill="{colour}"/>'
        for place, colour in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))
    )
    size = f'width="{width}" height="{height}"'
    picture = "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" {size} viewBox="0 0 {width} {height}">',
            "<title>Brumate in a terminal: code that runs, and code that is held back</title>",
            f"<style>{STYLE}</style>",
            f'<rect {size} rx="8" fill="#011627"/>',
            buttons,
            *lines,
            "</svg>",
        ]
    )
    return picture + "\n", seconds


def main():
    parser = argparse.ArgumentParser(description="Records the terminal session of README.md.")
    parser.add_argument("--brumate", type=Path, required=True, help="the binary")
    parser.add_argument("--out", type=Path, default=HERE / "session.svg")
    options = parser.parse_args()
    picture, seconds = draw(record(options.brumate.resolve()))
    options.out.write_text(picture)
    print(f"{options.out}: {len(picture)} bytes, {seconds:.0f} s")


if __name__ == "__main__":
    main()
