"""Runs the notebooks of `notebooks.py` with `brumate exec`, and compares their outputs with nbclient's in a kernel.

    python exec_notebooks.py [--only NAME] [--kernel KERNEL] BRUMATE

The written files are checked by nbformat. With the kernel `brumate` all outputs are equal; with ipykernel they are equal
but for `DIFFERENCES` of `compare_notebooks.py`.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from compare_notebooks import HANG_SECONDS, Normal, accepted, differences, excerpt, merged, models_of, run
from notebooks import NOTEBOOKS

# Characters of a value that are printed.
SHOWN = 400


def executed(cells, brumate):
    """The cells' numbers and outputs, and the models of the widgets, of a file that `brumate exec` has written."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        file = Path(folder, "a.ipynb")
        nbformat.write(notebook, file)
        line = [brumate, "exec", "--offline", file, "-o", file, "--allow-errors", "--active-output"]
        subprocess.run(line, check=True, timeout=HANG_SECONDS)
        written = nbformat.read(file, 4)
    nbformat.validate(written)
    assert [cell.id for cell in written.cells] == [cell.id for cell in notebook.cells], "ids are kept"
    return [models_of(written), *({"count": cell.execution_count, **outputs_of(cell)} for cell in written.cells)]


def outputs_of(cell):
    return {f"output {number}": output for number, output in enumerate(merged(cell.outputs), 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("brumate", help="the program")
    parser.add_argument("--kernel", default="brumate", help="nbclient's kernel")
    parser.add_argument("--only", action="append", choices=NOTEBOOKS, metavar="NAME", help="only this notebook")
    options = parser.parse_args()
    bad = 0
    for name in options.only or list(NOTEBOOKS):
        first = run(NOTEBOOKS[name], options.kernel)
        second = executed(NOTEBOOKS[name], options.brumate)
        # Files have the models in the order of their ids, which are made by chance.
        first[0], second[0] = ({"models": sorted(name.split()[-1] for name in one[0])} for one in (first, second))
        for parts in first[1:]:
            parts["count"] = parts.pop("reply")["execution_count"]
        runs = []
        for one in (first, second):
            normal = Normal()
            runs.append(
                [
                    {part: normal.output(value) if isinstance(value, dict) else value for part, value in parts.items()}
                    for parts in one
                ]
            )
        found = [
            (cell, *difference)
            for cell, both in enumerate(zip(*runs, strict=True))
            for difference in differences(*both)
        ]
        if options.kernel != "brumate":
            found = [entry for entry in found if not accepted(name, *entry[:2])]
        for cell, part, *values in found:
            print(f"{name}, cell {cell}: {part}", *excerpt(*values, SHOWN), sep="\n    ", flush=True)
        bad += len(found)
        print(f"{name}: {len(found)} differences", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
