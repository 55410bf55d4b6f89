"""packages.py BRUMATE [--only REQUIREMENT]… [--write] [-- FLAG…]: which packages of an index install and work in the sandbox.

Each of those in `packages` is installed by a script of its own that states it as its dependency, imported and used. Says for each
whether it worked, else why not; with `--write` also in `docs/compatibility.md`. What follows `--` goes to `brumate exec`
(`--find-links`, say). Needs an index, so no test runs it.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / 'docs' / 'compatibility.md'
BEGIN, END = '<!-- packages.py writes from here -->', '<!-- to here -->'
# The section after ours.
NEXT = '## Upstream test suites'
SCRIPT = """# /// script
# dependencies = [{requirement!r}]
# ///
{code}
import importlib.metadata
print('works', importlib.metadata.version({project!r}))
"""
# Longest time of one package, its downloads included.
SECONDS = 600


@dataclasses.dataclass
class Outcome:
    """Whether a package works; its version or the reason; what of it does not work although the rest does."""

    works: bool
    text: str
    missing: str


def entries(only: list[str] | None) -> Iterator[tuple[str, str | dict[str, str]]]:
    """What is to be tried, each requirement once."""
    seen = set()
    for path in sorted((HERE / 'packages').glob('*.toml')):
        for requirement, entry in tomllib.loads(path.read_text()).items():
            if requirement in seen:
                raise SystemExit(f'{path.name}: {requirement} is listed twice')
            seen.add(requirement)
            if not only or requirement in only:
                yield requirement, entry


def attempt(brumate: str, flags: list[str], requirement: str, code: str) -> tuple[bool, str]:
    """Whether it works, and the version or the reason."""
    project = re.match(r'[A-Za-z0-9._-]+', requirement)[0]
    script = SCRIPT.format(requirement=requirement, code=code.strip(), project=project)
    command = [brumate, 'exec', '--timeout', '120s', *flags, '-']
    try:
        done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False, f'not ready after {SECONDS} s'
    found = re.search(r'^works (\S+)$', done.stdout, re.MULTILINE)
    if done.returncode == 0 and found:
        return True, found[1]
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    # A traceback says what is wrong in its last line, an installation that failed in those before its hints.
    told = [line for line in lines if not line.startswith('hint:')]
    reason = lines[-1] if any(line.startswith('Traceback') for line in lines) else ' '.join(told[:3])
    return False, reason[:300] or f'exit status {done.returncode}'


def table(outcomes: dict[str, Outcome], version: str) -> str:
    """The section of the document."""
    good = {name: outcome for name, outcome in outcomes.items() if outcome.works}
    works = [f'{name} ({outcome.text})' for name, outcome in good.items() if not outcome.missing]
    partly = [(f'{name} ({outcome.text})', outcome.missing) for name, outcome in good.items() if outcome.missing]
    fails = [(name, outcome.text) for name, outcome in outcomes.items() if not outcome.works]
    lines = [
        '## Packages of PyPI',
        '',
        'Of science, of data and among the most downloaded: each installed from the index by a script that states it as its dependency,',
        f'imported and used (`tests/compat/packages.py`). Of {len(outcomes)}, {len(works)} work and {len(partly)} work partly ({version},',
        f'{datetime.date.today()}).',
        '',
        ', '.join(works) + '.',
    ]
    for heading, rows in (('| partly | not |', partly), ('| not | why |', fails)):
        if rows:
            lines += ['', heading, '|---|---|']
            lines += [f'| {name} | {text.replace("|", "/").replace("<", "&lt;")} |' for name, text in rows]
    return '\n'.join(lines)


def main() -> None:
    own, flags = sys.argv[1:], []
    if '--' in own:
        at = own.index('--')
        own, flags = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('brumate')
    parser.add_argument('--only', action='append')
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args(own)
    if arguments.write and arguments.only:
        parser.error('--write is for all of them')

    outcomes = {}
    for requirement, entry in entries(arguments.only):
        code, missing = (entry['code'], entry['not']) if isinstance(entry, dict) else (entry, '')
        good, text = attempt(arguments.brumate, flags, requirement, code)
        outcomes[requirement] = Outcome(good, text, missing)
        print(f'{requirement}: {"works, " if good else ""}{text}', flush=True)
    print(f'{sum(outcome.works for outcome in outcomes.values())} of {len(outcomes)} work')
    if arguments.write:
        version = subprocess.run([arguments.brumate, '--version'], capture_output=True, text=True, check=True).stdout.strip()
        text = DOCUMENT.read_text()
        before, begin, rest = text.partition(BEGIN)
        if begin:
            after = rest.partition(END)[2]
        else:
            before, next_section, rest = text.partition(NEXT)
            after = f'\n\n{next_section}{rest}'
        DOCUMENT.write_text(f'{before}{BEGIN}\n\n{table(outcomes, version)}\n\n{END}{after}')


if __name__ == '__main__':
    main()
