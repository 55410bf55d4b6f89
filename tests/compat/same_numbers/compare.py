"""Compares what the sandbox computes with what native Python computes, as text.

    compare.py --brumate BINARY --python NATIVE [--seed N] [--expressions 5000] [--programs 300]

NATIVE is a CPython on x86-64 Linux with the bundle's versions of numpy and pandas. Ends with status 1 when a case differs in
a way that `differences.toml` does not list, and prints it.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from expressions import expressions
from programs import programs

HERE = Path(__file__).parent
# Cases of one run of the sandbox.
PIECE = 1000


def natively(python: Path, cases: Path) -> list[str]:
    done = subprocess.run([python, '-I', HERE / 'evaluate.py', cases], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def in_sandbox(brumate: list[str], cases: Path) -> list[str]:
    command = [*brumate, 'exec', '--offline', '--timeout', '20m', '--cpu-timeout', '20m', '--output-limit', '64MiB']
    command += ['--mount', f'{cases.parent}:/cases:ro', str(HERE / 'evaluate.py'), f'/cases/{cases.name}']
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def listed() -> list[dict[str, str]]:
    """The known differences: patterns of the source and of each line that differs, and the reason."""
    return tomllib.loads((HERE / 'differences.toml').read_text())['difference']


def changed(native: str, here: str) -> list[str]:
    """The lines that only one of the two has."""
    first, second = native.split('\n'), here.split('\n')
    return [line for line in first if line not in second] + [line for line in second if line not in first]


def reason(known: list[dict[str, str]], source: str, lines: list[str]) -> str | None:
    """Why the two differ, if that is listed."""
    for entry in known:
        of_case = re.search(entry.get('source', ''), source)
        if of_case and all(re.search(entry.get('lines', ''), line) for line in lines):
            return entry['reason']
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--brumate', type=Path, required=True)
    parser.add_argument('--python', type=Path, required=True)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--expressions', type=int, default=5000)
    parser.add_argument('--programs', type=int, default=300)
    options = parser.parse_args()
    cases = [
        '(np.__version__, pd.__version__)',
        *expressions(options.seed, options.expressions),
        *programs(options.seed, options.programs),
    ]
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(2) as pool:
        files = []
        for start in range(0, len(cases), PIECE):
            files.append(Path(directory) / f'{start}.json')
            files[-1].write_text(json.dumps(cases[start : start + PIECE]))
        here = pool.map(lambda file: in_sandbox([str(options.brumate)], file), files)
        native = pool.map(lambda file: natively(options.python, file), files)
        pairs = list(zip(sum(native, []), sum(here, []), strict=True))
    known, reasons, unknown = listed(), {}, 0
    for source, (native, here) in zip(cases, pairs, strict=True):
        if native == here:
            continue
        lines = changed(native, here)
        why = reason(known, source, lines)
        if why:
            reasons[why] = reasons.get(why, 0) + 1
            continue
        unknown += 1
        print(f'--- {source}\nnatively:\n{native}\nhere:\n{here}')
    for why, count in sorted(reasons.items(), key=lambda item: -item[1]):
        print(f'{count:5} {why}')
    same = sum(native == here for native, here in pairs)
    print(
        f'seed {options.seed}: {len(cases)} cases, {same} the same, {sum(reasons.values())} differ as listed, {unknown} otherwise'
    )
    sys.exit(1 if unknown or same < len(cases) * 0.9 else 0)


if __name__ == '__main__':
    main()
