"""Runs one case of `cases.py`, or of another module of cases, against a server binary. Exit status 0: every promise was kept."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

import anyio

from harness import SDK_MAJOR, Setup


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--brumate', type=Path, required=True, help='the server binary')
    parser.add_argument('--cache-dir', type=Path, required=True, help='its cache of compiled modules')
    parser.add_argument('--era', choices=['auto', 'legacy'], default='auto')
    parser.add_argument('--transport', choices=['stdio', 'http', 'http-stateless', 'sse'], default='stdio')
    parser.add_argument('--sdk', type=int, required=True, help='major version of `mcp` that this interpreter must have')
    parser.add_argument('--cases', default='cases', help='module of the case')
    parser.add_argument('case')
    options = parser.parse_args()
    if options.sdk != SDK_MAJOR:
        parser.error(f'this interpreter has mcp {SDK_MAJOR}.x, not {options.sdk}.x')
    case = getattr(importlib.import_module(options.cases), options.case, None)
    if case is None:
        parser.error(f'there is no case {options.case!r}')
    anyio.run(case, Setup(options.brumate, options.cache_dir, options.era, options.transport))


if __name__ == '__main__':
    main()
