"""Sends and receives messages of given sizes with the Python SDK's client, from the example `interop` of `brumate-mcp`.

    python sizes.py --transport stdio|http --era legacy|modern --steps JSON --target COMMAND…|ADDRESS

A step is `["answer", letters, log messages before it]` or `["request", letters]`. Each step has its own connection, on which one
more call follows. Prints a JSON object for each step: `said` is `ok` or the error, `goes_on` says whether the last call was answered.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import anyio

from harness import PATIENCE, text_of
from interop import Client, connect, parse, told


async def said(client: Client, kind: str, letters: int, log: int = 0) -> str:
    if kind == 'request':
        result = await client.call('length', text='x' * letters)
        return 'ok' if text_of(result) == str(letters) else text_of(result)[:300]
    result = await client.call('letters', number=letters, log=log)
    text = text_of(result)
    return 'ok' if text == 'x' * letters else text[:300]


async def try_step(options: argparse.Namespace, step: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {'said': None, 'goes_on': False}
    try:
        with anyio.fail_after(PATIENCE):
            async with connect(options) as client:
                try:
                    found['said'] = await said(client, *step)
                except Exception as error:
                    found['said'] = told(error)
                try:
                    with anyio.fail_after(5):
                        found['goes_on'] = (await client.call('add', a=1))['structuredContent'] == {'sum': 2}
                except Exception as error:
                    found['after'] = told(error)
    except Exception as error:
        # Closing a connection that has ended may fail.
        found['said'] = found['said'] or told(error)
    return found


async def run(options: argparse.Namespace) -> None:
    for step in json.loads(options.steps):
        print(json.dumps(await try_step(options, step)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--transport', required=True, choices=['stdio', 'http'])
    parser.add_argument('--era', required=True, choices=['legacy', 'modern'])
    parser.add_argument('--steps', required=True)
    anyio.run(run, parse(parser))
    sys.stdout.flush()


if __name__ == '__main__':
    main()
