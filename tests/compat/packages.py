"""packages.py BRUMATE [--only REQUIREMENT]… [--state FILE] [--write] [-- FLAG…]: which packages of an index work in the sandbox.

Each of those in `packages` is installed by a script of its own that states it as its dependency, imported and used. Says for each
whether it worked, else why not; with `--write` also in `docs/compatibility.md`. With `--state` the outcomes are kept in a file, and a
later run goes on where this one ended. What follows `--` goes to `brumate exec` (`--find-links`, say). Needs an index, so no
test runs it.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
BUNDLE = HERE.parents[1] / 'runtime' / 'wheels'
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
# Longest time of one package in seconds, its downloads included: the first of a family compiles for all.
SECONDS = 1200
# Of that, for the script itself.
SCRIPT_SECONDS = 600
# How the reason begins when time was up: such a package is tried again.
TIME_IS_UP = 'not ready after'


# What Brumate says where no wheel fits: of what, and by what it is required.
NO_WHEEL = re.compile(
    r'`([^`]+)` (?:\S+ )?(?:has no wheel for th(?:is|e) sandbox'
    r'|comes as source code and has parts that the sandbox cannot compile)'
    r'.*?(?:; (required by .*))?\.$'
)
SOURCE_ONLY = re.compile(r'`([^`]+)` comes as source code only.*?(?:; (required by .*))?\.$')


@dataclasses.dataclass
class Outcome:
    """Whether a package works; its version or the reason; why no newer version is taken."""

    works: bool
    text: str
    newer: str = ''


@dataclasses.dataclass
class Entry:
    """What shows that a package works; what of it does not; why all of it does not."""

    code: str
    missing: str = ''
    why: str = ''


def entries(only: list[str] | None) -> Iterator[tuple[str, Entry]]:
    """What is to be tried, each requirement once."""
    seen = set()
    for path in sorted((HERE / 'packages').glob('*.toml')):
        for requirement, entry in tomllib.loads(path.read_text()).items():
            if requirement in seen:
                raise SystemExit(f'{path.name}: {requirement} is listed twice')
            seen.add(requirement)
            if isinstance(entry, str):
                entry = {'code': entry}
            if not only or requirement in only:
                yield requirement, Entry(entry['code'].strip(), entry.get('not', ''), entry.get('why', ''))


def project(requirement: str) -> str:
    return re.match(r'[A-Za-z0-9._-]+', requirement)[0]


def execute(brumate: str, flags: list[str], script: str) -> tuple[bool, str]:
    """Whether it prints `works`, and what else; or the reason."""
    command = [brumate, 'exec', '--timeout', f'{SCRIPT_SECONDS}s', '--cpu-timeout', f'{SCRIPT_SECONDS}s', *flags, '-']
    try:
        done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False, f'{TIME_IS_UP} {SECONDS} s'
    found = re.search(r'^works (\S+)$', done.stdout, re.MULTILINE)
    if done.returncode == 0 and found:
        return True, found[1]
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    # A traceback says what is wrong in its last line, an installation that failed in those before its hints.
    told = [line for line in lines if not line.startswith('hint:')]
    reason = lines[-1] if any(line.startswith('Traceback') for line in lines) else ' '.join(told[:3])
    return False, reason[:300] or f'exit status {done.returncode}'


def attempt(brumate: str, flags: list[str], requirement: str, code: str) -> Outcome:
    """Installs and uses it; where that works, asks for a newer version than the one that was taken."""
    name = project(requirement)
    good, text = execute(brumate, flags, SCRIPT.format(requirement=requirement, code=code, project=name))
    # An upper bound is meant, and of our own wheels there is one version.
    if not good or '<' in requirement or name in bundled(Path(flag) for flag in flags if not flag.startswith('-')):
        return Outcome(good, text)
    newer, reason = execute(brumate, flags, SCRIPT.format(requirement=f'{name}>{text}', code='', project=name))
    beside = newer or reason.startswith('there is no') or 'was withdrawn' in reason
    return Outcome(good, text, '' if beside else reason)


def bundled(directories: Iterable[Path] = ()) -> set[str]:
    """The projects of the bundle and of the directories."""
    wheels = (wheel for directory in (BUNDLE, *directories) for wheel in directory.glob('*.whl'))
    return {wheel.name.partition('-')[0].replace('_', '-').lower() for wheel in wheels}


def readable(reason: str) -> str:
    """A reason as a cell of a table, without what holds for the whole table."""
    if found := NO_WHEEL.match(reason) or SOURCE_ONLY.match(reason):
        kind = 'source code only' if SOURCE_ONLY.match(reason) else 'no wheel'
        if project(found[1]) in bundled():
            kind = 'the sandbox has another version'
        reason = f'`{found[1]}`: {kind}' + (f', {found[2]}' if found[2] else '')
    parts = reason.replace('|', '/').split('`')
    # Between backticks Markdown shows `<` as it is.
    return '`'.join(part if number % 2 else part.replace('<', '&lt;') for number, part in enumerate(parts))


def table(outcomes: dict[str, Outcome], listed: dict[str, Entry], version: str) -> str:
    """The section of the document."""
    works, partly, older, compiled, source, fails = [], [], [], [], [], []
    for name, outcome in outcomes.items():
        entry, with_version = listed[name], f'{name} ({outcome.text})'
        own = next(
            (kind for kind in (NO_WHEEL, SOURCE_ONLY) if (found := kind.match(outcome.text)) and not found[2]), None
        )
        if outcome.works and outcome.newer:
            older.append(
                (
                    with_version,
                    readable(outcome.newer) + (f'. It does not have: {entry.missing}' if entry.missing else ''),
                )
            )
        elif outcome.works and entry.missing:
            partly.append((with_version, entry.missing))
        elif outcome.works:
            works.append(with_version)
        elif not outcome.works and own and not entry.why:
            (compiled if own is NO_WHEEL else source).append(name)
        elif not outcome.works:
            fails.append((name, entry.why or readable(outcome.text)))
    lines = [
        '## Packages of PyPI',
        '',
        'Of science, of data and among the most downloaded: each installed from the index by a script that states it as its dependency,',
        'imported and used (`tests/compat/packages.py`). What wants a network, threads, processes or a program of its own does not have',
        f'them here, either; that is not repeated. Of {len(outcomes)}, {sum(outcome.works for outcome in outcomes.values())} work: {len(works)} fully,',
        f'{len(partly)} partly, {len(older)} in an older version ({version}, {datetime.date.today()}).',
        '',
        '**These work:** ' + ', '.join(works) + '.',
    ]
    for heading, rows in (('| works partly | not |', partly), ('| works in an older version | newer ones |', older)):
        if rows:
            lines += ['', heading, '|---|---|', *(f'| {name} | {text} |' for name, text in rows)]
    if compiled:
        lines += [
            '',
            f'**These have compiled parts and no wheel for this platform** ({len(compiled)}): '
            + ', '.join(compiled)
            + '.',
        ]
    if source:
        lines += ['', f'**These are published as source code only** ({len(source)}): ' + ', '.join(source) + '.']
    if fails:
        lines += ['', '| works not | why |', '|---|---|', *(f'| {name} | {text} |' for name, text in fails)]
    return '\n'.join(lines)


def save(path: Path, known: dict[str, list]) -> None:
    """Writes the outcomes; whoever stops the script finds the old file or the new one."""
    kept = {name: record for name, record in known.items() if not record[2].startswith(TIME_IS_UP)}
    new = path.with_suffix('.new')
    new.write_text(json.dumps(kept, indent=1))
    new.replace(path)


def main() -> None:
    own, flags = sys.argv[1:], []
    if '--' in own:
        at = own.index('--')
        own, flags = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('brumate')
    parser.add_argument('--only', action='append')
    parser.add_argument('--state', type=Path, help='file of outcomes; those in it are not tried again')
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args(own)
    if arguments.write and arguments.only:
        parser.error('--write is for all of them')

    outcomes, known, listed = {}, {}, dict(entries(arguments.only))
    if arguments.state and arguments.state.exists():
        known = json.loads(arguments.state.read_text())
    for requirement, entry in listed.items():
        # An outcome is kept with the code it is of.
        if known.get(requirement, [''])[0] != entry.code:
            known[requirement] = [
                entry.code,
                *dataclasses.astuple(attempt(arguments.brumate, flags, requirement, entry.code)),
            ]
            if arguments.state:
                save(arguments.state, known)
        outcome = outcomes[requirement] = Outcome(*known[requirement][1:])
        newer = f'; not newer: {outcome.newer}' if outcome.newer else ''
        print(f'{requirement}: {"works, " if outcome.works else ""}{outcome.text}{newer}', flush=True)
    print(f'{sum(outcome.works for outcome in outcomes.values())} of {len(outcomes)} work')
    if arguments.write:
        version = subprocess.run(
            [arguments.brumate, '--version'], capture_output=True, text=True, check=True
        ).stdout.strip()
        text = DOCUMENT.read_text()
        before, begin, rest = text.partition(BEGIN)
        if begin:
            after = rest.partition(END)[2]
        else:
            before, next_section, rest = text.partition(NEXT)
            after = f'\n\n{next_section}{rest}'
        DOCUMENT.write_text(f'{before}{BEGIN}\n\n{table(outcomes, listed, version)}\n\n{END}{after}')


if __name__ == '__main__':
    main()
