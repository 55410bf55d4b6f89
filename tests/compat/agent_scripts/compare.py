"""Runs scripts as agents write them in the sandbox, and compares with what native Python gave, as text.

    compare.py --brumate BINARY [--only PATTERN] [--part K/N]
    compare.py --native PYTHON --record [--only PATTERN]

The second form runs the scripts natively and writes `native.json`. PYTHON is a CPython 3.14 on x86-64 Linux with the
bundle's versions of all packages. The first form ends with status 1 when a script differs in a way that
`differences.toml` does not list, and prints the difference. `--part 2/10` takes each tenth script, from the second on.
"""

import argparse
import difflib
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = HERE / 'scripts'
RECORDED = HERE / 'native.json'
# Seconds for one script, on either side.
LIMIT = 300
# What a script may expect in the environment of a terminal.
ENVIRONMENT = {
    'PATH': '/usr/bin:/bin',
    'LANG': 'C.UTF-8',
    'PYTHONDONTWRITEBYTECODE': '1',
    'TZ': 'UTC',
    'MPLBACKEND': 'agg',
}


def outcome(command: list[str], script: Path, environment: dict[str, str]) -> dict[str, object]:
    """What a user sees of one run: the status, the output, and the errors without frames; of the script's path the name."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [*command, str(script)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=directory,
            env={**ENVIRONMENT, 'HOME': directory, **environment},
            timeout=LIMIT,
            check=False,
        )
    return {
        # As a shell says it, also when a signal ended the process.
        'status': done.returncode if done.returncode >= 0 else 128 - done.returncode,
        'output': done.stdout.decode(errors='replace').replace(str(script), script.name),
        'errors': messages(done.stderr.decode(errors='replace')),
    }


def messages(text: str) -> list[str]:
    """The warnings and the exceptions, one line each."""
    found = re.findall(
        r'^(?:[^\n]*?: )?((?:\w+\.)*\w*(?:Warning|Error|Exception|Interrupt|Exit)\b(?::[^\n]*)?)$', text, re.MULTILINE
    )
    return sorted(set(found))


def natively(python: Path, script: Path) -> dict[str, object]:
    return outcome([str(python), '-P'], script, {})


def in_sandbox(brumate: Path, script: Path) -> dict[str, object]:
    cache = os.environ.get('BRUMATE_CACHE_DIR')
    environment = {'BRUMATE_NO_LEARNED_IMAGES': 'true', **({'BRUMATE_CACHE_DIR': cache} if cache else {})}
    return outcome([str(brumate), 'exec', '--offline'], script, environment)


def as_text(run: dict[str, object]) -> list[str]:
    """The lines that are compared. The numbers of errors are Emscripten's in the sandbox, whatever the error."""
    lines = [f'status {run["status"]}', *str(run['output']).splitlines()]
    lines += [f'stderr: {line}' for line in run['errors']]
    return [re.sub(r'\[Errno \d+\]', '[Errno]', line) for line in lines]


def difference(native: dict[str, object], here: dict[str, object]) -> list[str]:
    """The lines that differ, as `diff` writes them."""
    lines = difflib.unified_diff(as_text(native), as_text(here), 'natively', 'here', lineterm='', n=0)
    return [line for line in lines if not line.startswith(('---', '+++', '@@'))]


def listed(name: str, lines: list[str], known: list[dict[str, str]]) -> str | None:
    """Why this difference is expected, if it is."""
    for entry in known:
        if fnmatch.fnmatch(name, entry['script']) and all(re.search(entry['lines'], line) for line in lines):
            return entry['reason']
    return None


def chosen(only: str, part: str) -> list[Path]:
    first, step = (int(number) for number in part.split('/'))
    scripts = [path for path in sorted(SCRIPTS.glob('*/*.py')) if fnmatch.fnmatch(name_of(path), only)]
    return scripts[first - 1 :: step]


def name_of(script: Path) -> str:
    return str(script.relative_to(SCRIPTS).with_suffix(''))


def record(python: Path, scripts: list[Path]) -> None:
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda script: natively(python, script), scripts)
        recorded.update(zip(map(name_of, scripts), runs, strict=True))
    there = {name_of(script) for script in chosen('*', '1/1')}
    kept = {name: recorded[name] for name in sorted(recorded) if name in there}
    RECORDED.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + '\n')
    print(f'{len(scripts)} scripts recorded')


def compare(brumate: Path, scripts: list[Path]) -> bool:
    recorded = json.loads(RECORDED.read_text())
    known = tomllib.loads((HERE / 'differences.toml').read_text()).get('difference', [])
    same, expected, unexpected = 0, 0, 0
    with ThreadPoolExecutor(2) as pool:
        for script, here in zip(scripts, pool.map(lambda script: in_sandbox(brumate, script), scripts), strict=True):
            name = name_of(script)
            if name not in recorded:
                sys.exit(f'{name} is not recorded: run `compare.py --native PYTHON --record --only {name}`')
            lines = difference(recorded[name], here)
            if not lines:
                same += 1
            elif listed(name, lines, known):
                expected += 1
            else:
                unexpected += 1
                print(f'--- {name}', *lines, sep='\n', flush=True)
    print(f'{len(scripts)} scripts: {same} the same, {expected} differ as listed, {unexpected} otherwise')
    return unexpected == 0 and same > expected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--brumate', type=Path)
    parser.add_argument('--native', type=Path)
    parser.add_argument('--record', action='store_true')
    parser.add_argument('--only', default='*', help='a pattern of names, such as "files/*"')
    parser.add_argument('--part', default='1/1')
    options = parser.parse_args()
    scripts = chosen(options.only, options.part)
    if options.record:
        record(options.native, scripts)
    else:
        sys.exit(0 if compare(options.brumate.absolute(), scripts) else 1)


if __name__ == '__main__':
    main()
