"""Speaks the protocol itself, reading `sys.stdin`."""

import json
import sys

RESULTS = {
    'initialize': {
        'protocolVersion': '2025-06-18',
        'capabilities': {'tools': {}},
        'serverInfo': {'name': 'raw', 'version': '1'},
    },
    'tools/list': {'tools': []},
}


def answer(line: str | bytes) -> None:
    message = json.loads(line)
    if 'id' in message:
        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': RESULTS[message['method']]}), flush=True)


if __name__ == '__main__':
    for text in sys.stdin:
        answer(text)
