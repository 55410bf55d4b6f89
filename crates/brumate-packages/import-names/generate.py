"""Makes `import-names.tsv`, what module comes from which project, from published metadata.

    python3 generate.py [--wheels DIRECTORY]… [--index] [--pyodide-lock FILE] [--stubs DIRECTORY] [--only PROJECT]…
                        [--ranking FILE --modules FILE]

`projects.txt` names the projects, the most downloaded first: where two provide the same module, the first has it. What a
project provides is read from the first of these that knows it:

- a wheel in a directory (`pip download --no-deps` puts them there),
- with `--index`, the newest wheel on the index that pip is set to (`PIP_INDEX_URL`, `PIP_CERT`): of the wheel only its list of
  files and `METADATA` are fetched, by requests for ranges,
- the `stubs` directory of a checkout of typeshed,
- `pyodide-lock.json` of a Pyodide distribution.

A project that none of them knows keeps the rows that it has.

Other modules have rows from two files, which are given together. Without them these rows stay.

- `--ranking` has the most downloaded projects of PyPI, one a line: name, tab, rank.
- `--modules` is the database of the PyPI package `pigar` (`.db.sqlite3` in its wheel): the top-level modules of all
  projects of PyPI.

`choose` says which project is meant of those that provide a module.

Needs Python 3.12 and nothing else.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sqlite3
import ssl
import sys
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

HERE = Path(__file__).parent
TABLE = HERE / 'import-names.tsv'
PROJECTS = HERE / 'projects.txt'

# Directories that many projects install beside their package by mistake.
BYSTANDERS = {
    'benchmark', 'benchmarks', 'bin', 'build', 'config', 'dist', 'doc', 'docs', 'example', 'examples', 'licenses', 'manual_test',
    'notebooks', 'resources', 'sample', 'samples', 'scripts', 'setup', 'share', 'src', 'static', 'test', 'testing', 'tests', 'tools',
}
# Modules of tests.
TESTS = re.compile(r'tests?_.*|.*_tests?|conftest')
# Shared by many projects: what a coarse source says of them names no project.
NAMESPACES = {
    'azure', 'azureml', 'backports', 'google', 'google.cloud', 'jaraco', 'opentelemetry', 'paste', 'ruamel', 'sphinxcontrib',
    'zope',
}
# How deep a namespace is looked into, and how many modules one project may have.
MAX_DEPTH = 4
MAX_MODULES = 64
# What is fetched of a wheel at once, and at most.
PIECE = 64 << 10
MAX_FETCHED = 32 << 20
# Projects that an index is asked for at once.
AT_ONCE = 8

# A module with at most so many providers on PyPI is believed of each of them.
FEW_PROVIDERS = 5
# A module with more providers is of no project, unless one is named like it.
MAX_PROVIDERS = 30
# A module with more providers (`utils`, `core`) is not of a project that is named like it either.
MAX_PROVIDERS_NAMED = 300
# Projects that get their module from a package that they require.
BY_REQUIREMENT = {'airflow': 'apache-airflow'}
# A project with more modules has installed some by mistake.
MAX_UNLIKE_MODULES = 12
# Of projects with a higher rank only modules of their own name are believed.
MAX_UNLIKE_RANK = 8000
# A project is preferred to the one that is called as the module if its rank is so many times better: the first factor
# counts if its name is like the module's, otherwise the second.
CLEARLY = 1.4
VERY_CLEARLY = 5
# So many projects called `module-…` make a module a namespace.
FAMILY = 4


def normal(name: str) -> str:
    """The form of a project's name that compares equal (PEP 503)."""
    return re.sub(r'[-_.]+', '-', name).lower()


def is_module_name(name: str) -> bool:
    return name.isidentifier() and not name.startswith('_') and name not in sys.stdlib_module_names and name not in BYSTANDERS


def modules_of(paths: Iterable[str], suffixes: tuple[str, ...] = ('.py', '.so', '.pyd'), namespaces: set[str] = frozenset()) -> set[str]:
    """Modules that files provide: packages and modules at the top, or in the first level below a namespace that has any."""
    tree: dict = {}
    for path in paths:
        parts = path.split('/')
        if parts[0].endswith('.data'):
            # An installer moves these two to the root.
            if len(parts) < 3 or parts[1] not in ('purelib', 'platlib'):
                continue
            parts = parts[2:]
        if parts[0].endswith(('.dist-info', '.egg-info')):
            continue
        node = tree
        for part in parts[:-1]:
            node = node.setdefault(part, {})
        node[parts[-1]] = None

    def below(node: dict, prefix: str, depth: int) -> set[str]:
        found = set()
        for name, content in node.items():
            stem = name.partition('.')[0]
            if content is None:
                if name.endswith(suffixes) and stem != '__init__' and is_module_name(stem):
                    found.add(prefix + stem)
            elif is_module_name(name) or (prefix and name.isidentifier() and not name.startswith('_') and name not in BYSTANDERS):
                whole = prefix + name
                # A directory with modules is a package, with `__init__` or without, unless many projects share it.
                is_package = any(entry.endswith(suffixes) for entry, inner in content.items() if inner is None)
                if is_package and whole not in namespaces and whole not in NAMESPACES:
                    found.add(whole)
                elif depth < MAX_DEPTH:
                    found |= below(content, whole + '.', depth + 1)
        return found

    return below(tree, '', 1)


def of_wheel(wheel: zipfile.ZipFile) -> tuple[str, set[str]]:
    """A wheel's project, spelled as it spells itself, and its modules."""
    names = wheel.namelist()
    own = next(name for name in names if re.fullmatch(r'[^/]+\.dist-info/METADATA', name)).rpartition('/')[0]
    metadata = BytesHeaderParser().parsebytes(wheel.read(f'{own}/METADATA'))
    # Metadata 2.5 (PEP 794).
    stated = {name.partition(';')[0].strip() for name in metadata.get_all('Import-Name', [])} - {''}
    if stated:
        return metadata['Name'], {name for name in stated if is_module_name(name.partition('.')[0])}
    declared = f'{own}/namespace_packages.txt'
    namespaces = set(wheel.read(declared).decode().split()) if declared in names else set()
    return metadata['Name'], modules_of(names, namespaces=namespaces)


class Remote(io.RawIOBase):
    """A file on a server that serves ranges."""

    def __init__(self, url: str, fetch) -> None:
        self.url, self.fetch, self.position, self.pieces = url, fetch, 0, {}
        response = fetch(url, {'Range': 'bytes=-1'})
        if response.status != 206:
            raise OSError(f'{url}: its server does not serve ranges')
        self.size = int(response.headers['Content-Range'].rpartition('/')[2])

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = 0) -> int:
        self.position = offset + {0: 0, 1: self.position, 2: self.size}[whence]
        return self.position

    def piece(self, number: int) -> bytes:
        if number not in self.pieces:
            if len(self.pieces) * PIECE >= MAX_FETCHED:
                raise OSError(f'{self.url}: its directory is too large')
            first = number * PIECE
            last = min(first + PIECE, self.size) - 1
            self.pieces[number] = self.fetch(self.url, {'Range': f'bytes={first}-{last}'}).read()
        return self.pieces[number]

    def readinto(self, buffer) -> int:
        number, start = divmod(self.position, PIECE)
        if self.position >= self.size:
            return 0
        part = self.piece(number)[start : start + len(buffer)]
        buffer[: len(part)] = part
        self.position += len(part)
        return len(part)


class Index:
    """The index that pip is set to."""

    def __init__(self) -> None:
        base = os.environ.get('PIP_INDEX_URL')
        if not base:
            from pip._internal.models.index import PyPI

            base = PyPI.simple_url
        self.base = base if base.endswith('/') else base + '/'
        self.context = ssl.create_default_context(cafile=os.environ.get('PIP_CERT'))

    def fetch(self, url: str, headers: dict[str, str]):
        request = urllib.request.Request(url, headers={'User-Agent': 'brumate-import-names', **headers})
        return urllib.request.urlopen(request, context=self.context, timeout=60)

    def modules(self, project: str) -> tuple[str, set[str]] | None:
        url = f'{self.base}{normal(project)}/'
        response = self.fetch(url, {'Accept': 'application/vnd.pypi.simple.v1+json, text/html;q=0.1'})
        if 'json' in response.headers['Content-Type']:
            files = sorted(json.load(response)['files'], key=lambda file: file.get('upload-time', ''))
            links = [file['url'] for file in files if not file.get('yanked')]
        else:
            # No times here; the newest version is the last.
            links = re.findall(r'<a\s[^>]*href="([^"#]+)', response.read().decode())
        wheels = [link for link in links if link.endswith('.whl')]
        if not wheels:
            return None
        remote = Remote(urljoin(url, wheels[-1]), self.fetch)
        with zipfile.ZipFile(io.BufferedReader(remote, PIECE)) as wheel:
            return of_wheel(wheel)

    def all(self, projects: list[str]) -> dict[str, tuple[str, set[str]]]:
        """What the index says of these; it is asked for several at once, and says why it does not answer for one."""

        def ask(project: str) -> tuple[str, set[str]] | None:
            try:
                return self.modules(project)
            except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
                print(f'{project}: {error}', file=sys.stderr)
                return None

        with ThreadPoolExecutor(AT_ONCE) as threads:
            answers = zip(projects, threads.map(ask, projects), strict=True)
            return {normal(project): answer for project, answer in answers if answer}


def of_lock(path: Path) -> dict[str, tuple[str, set[str]]]:
    """What the lock of a Pyodide distribution says; of namespaces only their first level, which says nothing."""
    found = {}
    for package in json.loads(path.read_text())['packages'].values():
        if package['package_type'] != 'package' or package['name'].endswith('-tests'):
            continue
        modules = {name for name in package['imports'] if is_module_name(name.partition('.')[0])} - NAMESPACES
        if modules:
            found[normal(package['name'])] = (package['name'], modules)
    return found


def of_stubs(path: Path) -> dict[str, tuple[str, set[str]]]:
    """What the directories of typeshed say, which bear the names of projects."""
    found = {}
    for directory in path.iterdir():
        if (directory / 'METADATA.toml').exists():
            files = [file.relative_to(directory).as_posix() for file in directory.rglob('*.pyi') if '@tests' not in file.parts]
            found[normal(directory.name)] = (directory.name, modules_of(files, ('.pyi',)))
    return found


def parents(module: str) -> Iterable[str]:
    """The packages that a dotted name lies in."""
    while '.' in module:
        module = module.rpartition('.')[0]
        yield module


def of_wheels(directories: list[Path]) -> dict[str, tuple[str, set[str]]]:
    found = {}
    for path in sorted(path for directory in directories for path in directory.glob('*.whl')):
        with zipfile.ZipFile(path) as wheel:
            name, modules = of_wheel(wheel)
        found[normal(name)] = (name, modules)
    return found


def letters(name: str) -> str:
    """A name in lower case, without the signs between its words."""
    return re.sub(r'[-_.]+', '', name).lower()


class Provider(NamedTuple):
    """A project that provides a module."""

    rank: int
    project: str

    def is_like(self, module: str) -> bool:
        words = [sorted(normal(name).split('-')) for name in (module, self.project)]
        return words[0] == words[1] or letters(module) in letters(self.project)

    def is_called(self, module: str) -> bool:
        return letters(module) == letters(self.project)


class Downloads:
    """The most downloaded projects, and the top-level modules of all projects."""

    def __init__(self, ranking: Path, modules: Path) -> None:
        ranks = {}
        for line in ranking.read_text().splitlines():
            name, rank = line.split('\t')
            ranks[normal(name)] = int(rank)
        self.total: Counter[str] = Counter()
        self.providers: dict[str, list[Provider]] = {}
        spellings: dict[str, str] = {}
        with closing(sqlite3.connect(f'file:{modules}?mode=ro', uri=True)) as database:
            rows = database.execute(
                'SELECT distributions.name, top_level_module_names.name FROM top_level_module_names '
                'JOIN distributions ON distributions.id = distribution_id'
            )
            for project, module in rows:
                self.total[module] += 1
                rank = ranks.get(normal(project))
                if rank is not None and not project.startswith('types-') and not project.endswith('-stubs'):
                    spelling = spellings.setdefault(normal(project), project)
                    self.providers.setdefault(module, []).append(Provider(rank, spelling))
        for providers in self.providers.values():
            providers.sort()
        self.sizes = Counter(provider.project for providers in self.providers.values() for provider in providers)

    def choose(self, module: str) -> Provider | None:
        """The project that people mean who import a module; `None` if that is not clear.

        It is the most downloaded one that provides the module. One that is called as the module gives way only to one
        with a clearly better rank: `fpdf2` is meant by `fpdf`, `beautifulsoup4` by `bs4`.
        """
        providers = self.providers.get(module, [])
        if not providers or not is_module_name(module) or TESTS.fullmatch(module):
            return None
        called = next((provider for provider in providers if provider.is_called(module)), None)
        if not called:
            is_namespace = sum(provider.project.startswith(normal(module) + '-') for provider in providers) >= FAMILY
            return providers[0] if not is_namespace and self.is_believed(providers[0], module) else None
        for provider in providers:
            clearly = CLEARLY if provider.is_like(module) else VERY_CLEARLY
            if provider.rank * clearly < called.rank and self.is_believed(provider, module):
                return provider
        return called if self.is_believed(called, module) else None

    def is_believed(self, provider: Provider, module: str) -> bool:
        """Whether a project provides a module on purpose."""
        if provider.is_like(module):
            return self.total[module] <= MAX_PROVIDERS_NAMED
        if len(module) <= 2 or self.total[module] > MAX_PROVIDERS:
            return False
        is_known = self.sizes[provider.project] <= MAX_UNLIKE_MODULES and provider.rank <= MAX_UNLIKE_RANK
        return is_known or self.total[module] <= FEW_PROVIDERS

    def knows(self, project: str, module: str) -> bool:
        """Whether a row from a project's metadata was among the choices, so that a choice may replace it.

        A row whose project is called as the module is right anyway.
        """
        rows = [provider for provider in self.providers[module] if normal(provider.project) == normal(project)]
        return any(not row.is_called(module) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--wheels', type=Path, action='append', default=[])
    parser.add_argument('--pyodide-lock', type=Path)
    parser.add_argument('--stubs', type=Path)
    parser.add_argument('--index', action='store_true')
    parser.add_argument('--ranking', type=Path)
    parser.add_argument('--modules', type=Path)
    parser.add_argument('--only', action='append', default=[], help='leave all other projects as they are')
    arguments = parser.parse_args()
    if bool(arguments.ranking) != bool(arguments.modules):
        parser.error('--ranking and --modules are given together')

    projects = [line for line in PROJECTS.read_text().split('\n') if line and not line.startswith('#')]
    if len({normal(project) for project in projects}) != len(projects):
        sys.exit('a project is in projects.txt twice')
    only = {normal(project) for project in arguments.only}
    known: dict[str, tuple[str, set[str]]] = {}
    for line in TABLE.read_text().splitlines() if TABLE.exists() else []:
        module, project = line.split('\t')
        known.setdefault(normal(project), (project, set()))[1].add(module)

    wheels = of_wheels(arguments.wheels)
    coarse = of_lock(arguments.pyodide_lock) if arguments.pyodide_lock else {}
    coarse |= of_stubs(arguments.stubs) if arguments.stubs else {}
    asked = [project for project in projects if not only or normal(project) in only]
    indexed = Index().all(asked) if arguments.index else {}
    table: dict[str, str] = {}
    unknown = []
    for project in projects:
        key = normal(project)
        found = known.get(key)
        if not only or key in only:
            found = wheels.get(key) or indexed.get(key) or coarse.get(key) or found
        if not found or not found[1]:
            unknown.append(project)
            continue
        name, modules = found
        if len(modules) > MAX_MODULES:
            print(f'{project}: {len(modules)} modules, left out', file=sys.stderr)
            continue
        for module in sorted(modules):
            if module not in NAMESPACES:
                table.setdefault(module, name)
    listed = {normal(project) for project in projects}
    namespaces = NAMESPACES | {parent for module in table for parent in parents(module)}
    if arguments.ranking:
        downloads = Downloads(arguments.ranking, arguments.modules)
        for module in sorted(downloads.providers):
            chosen = downloads.choose(module)
            if chosen and module not in namespaces and (module not in table or downloads.knows(table[module], module)):
                if module in table and normal(table[module]) != normal(chosen.project):
                    print(f'{module}: {chosen.project} instead of {table[module]}', file=sys.stderr)
                    del table[module]
                table.setdefault(module, chosen.project)
        table |= BY_REQUIREMENT
    else:
        for key, (project, modules) in known.items():
            if key not in listed:
                for module in modules - namespaces:
                    table.setdefault(module, project)
    TABLE.write_text(''.join(f'{module}\t{project}\n' for module, project in sorted(table.items())))
    print(f'{len(table)} modules of {len(set(table.values()))} projects; not known: {len(unknown)}', file=sys.stderr)
    if unknown:
        print(' '.join(unknown), file=sys.stderr)


if __name__ == '__main__':
    main()
