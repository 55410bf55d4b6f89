"""The binary with a package index of our own (`package_index.py`) and an empty cache of packages."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cases import contains
from harness import Setup, connect
from package_index import Index, serving

# Environment that switches off this machine's own settings of pip and uv.
CLEAN = {
    'PIP_CONFIG_FILE': '/dev/null',
    'UV_NO_CONFIG': '1',
    'PIP_FIND_LINKS': '',
    'UV_FIND_LINKS': '',
    'PIP_INDEX_URL': '',
    'PIP_EXTRA_INDEX_URL': '',
    'NO_PROXY': '127.0.0.1',
    'HOME': '/nonexistent',
}


def script(dependencies: list[str], code: str) -> str:
    """The code below inline metadata (PEP 723) that states its dependencies."""
    return f'# /// script\n# dependencies = {json.dumps(dependencies)}\n# ///\n{code}'


def published() -> Path:
    """The directory of downloaded wheels: published ones, made by others."""
    return Path(os.environ['BRUMATE_TEST_WHEELS']).parent / 'downloads'


@dataclass
class PackageSetup:
    """How to start the binary with an index, and with a cache that has no package of it."""

    setup: Setup
    index: Index

    def server(self, *flags: str, **options: Any) -> Any:
        return connect(self.setup, '--index', self.index.url, *flags, environment=CLEAN, **options)

    def run(self, *arguments: str, stdin: str = '', **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs the binary to its end, as a shell does. `environment` is added to the cleaned one."""
        command = [
            str(self.setup.brumate),
            '--cache-dir',
            str(self.setup.cache_dir),
            '--index',
            self.index.url,
            *arguments,
        ]
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, **CLEAN, **environment},
            check=False,
        )


@contextlib.contextmanager
def package_setup(setup: Setup) -> Iterator[PackageSetup]:
    """Serves an empty index. The cache is a new directory; compiled modules and images of the shared cache are linked into it."""
    parent = setup.cache_dir.parent
    with tempfile.TemporaryDirectory(prefix='packages-', dir=parent) as directory, serving(Index()) as index:
        cache = Path(directory) / 'cache'
        skip = shutil.ignore_patterns('packages-*', 'index-*')
        # Files that another test is writing or removing are left out.
        with contextlib.suppress(shutil.Error):
            shutil.copytree(setup.cache_dir, cache, copy_function=os.link, ignore=skip)
        yield PackageSetup(replace(setup, cache_dir=cache), index)


def failure(text: str) -> str:
    """The error in the answer of a run whose installation failed."""
    contains(text, '<status>install-error</status>')
    return text.split('<error>')[1]
