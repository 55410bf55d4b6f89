"""json: writing and reading nested documents."""

import json


def document(size):
    return [
        {
            "id": number,
            "name": f"item {number} \u00e9\u4e16",
            "tags": ["a", "b", str(number % 7)],
            "price": number / 8,
            "stock": {"here": number % 3 == 0, "there": None, "count": [number, number * 2, -number]},
        }
        for number in range(size)
    ]


def run():
    original = document(900)
    length = 0
    for options in ({}, {"ensure_ascii": False}, {"sort_keys": True, "separators": (",", ":")}):
        text = json.dumps(original, **options)
        length += len(text)
        if json.loads(text) != original:
            raise AssertionError("json changed the document")
    pretty = json.dumps(original[:150], indent=2)
    return [length, len(pretty)]
