"""Reads, checks and rewrites JSON documents."""

import datetime
import decimal
import json

import jsonschema
import orjson

TEXT = '{"name": "Caf\\u00e9", "sizes": [1, 2.50, 1e3, -0.0, 12345678901234567890], "ok": true, "none": null}'
value = json.loads(TEXT)
print(value, json.loads(TEXT, parse_float=decimal.Decimal)['sizes'])
print(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False))
print(
    json.dumps({1: 'a', None: 2, 1.5: float('inf')}),
    json.dumps([], indent=4),
    json.dumps((1, (2,)), separators=(',', ':')),
)
print(
    orjson.dumps(
        {'when': datetime.datetime(2025, 1, 2, 3, 4), 'n': [1.0, 2]}, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
    ).decode()
)
for text in ('{"a": 1,}', "{'a': 1}", '[1 2]', '', '"\\x"', '[1]]', 'NaN', '{"a" 1}'):
    try:
        print(json.loads(text))
    except json.JSONDecodeError as error:
        print(f'{text!r}: {error} ({error.pos})')
schema = {
    'type': 'object',
    'required': ['age'],
    'properties': {'age': {'type': 'integer', 'minimum': 0}, 'tags': {'type': 'array', 'uniqueItems': True}},
}
for document in ({'age': 3}, {'age': -1, 'tags': [1, 1]}, {}, {'age': 'x'}):
    errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(document), key=str)
    print(document, [f'{list(e.absolute_path)}: {e.message}' for e in errors])
try:
    json.dumps({'s': {1, 2}})
except TypeError as error:
    print(error, error.__notes__)
