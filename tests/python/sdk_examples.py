"""Runs every example of the crate `brumate-mcp` under the Python SDK's client. Exit status 0: every case passed."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio

import sdk_feature_examples
import sdk_http_examples
import sdk_tool_examples
from harness import SDK_MAJOR
from sdk_connections import OPTIONS

MODULES = [sdk_tool_examples, sdk_feature_examples, sdk_http_examples]


def cases(module: ModuleType) -> list[Callable[[], Any]]:
    """The coroutine functions without parameters that the module defines."""
    functions = [found for found in vars(module).values() if inspect.iscoroutinefunction(found)]
    own = [function for function in functions if function.__module__ == module.__name__]
    return [function for function in own if not inspect.signature(function).parameters]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--examples', type=Path, required=True, help='the directory of the built examples')
    parser.add_argument('--era', choices=['auto', 'legacy'], default='auto')
    parser.add_argument('--sdk', type=int, required=True, help='major version of `mcp` that this interpreter must have')
    parser.add_argument('cases', nargs='*', help='only these')
    options = parser.parse_args()
    if options.sdk != SDK_MAJOR:
        parser.error(f'this interpreter has mcp {SDK_MAJOR}.x, not {options.sdk}.x')
    OPTIONS.examples, OPTIONS.era = options.examples, options.era
    known = {case.__name__: case for module in MODULES for case in cases(module)}
    for name in options.cases or known:
        if name not in known:
            parser.error(f'there is no case {name!r}')
        print(name, flush=True)
        anyio.run(known[name])


if __name__ == '__main__':
    main()
