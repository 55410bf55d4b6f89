import json
from dataclasses import asdict, dataclass, field
from datetime import date
from decimal import Decimal


@dataclass(order=True)
class Item:
    sku: str
    price: Decimal = field(compare=False)
    added: date = field(compare=False, default=date(2024, 1, 1))
    tags: set[str] = field(default_factory=set, compare=False)


class Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, Decimal):
            return str(o)
        if isinstance(o, date):
            return o.isoformat()
        if isinstance(o, set):
            return sorted(o)
        return super().default(o)


items = [Item('B-2', Decimal('9.90'), tags={'x', 'a'}), Item('A-1', Decimal('120')), Item('Ü-3', Decimal('0.1'))]
text = json.dumps([asdict(i) for i in sorted(items)], cls=Encoder, indent=2, ensure_ascii=False)
print(text)
with open('items.json', 'w', encoding='utf-8') as f:
    f.write(text)
print(json.load(open('items.json', encoding='utf-8'), parse_float=Decimal)[0])
print(json.dumps({'nan': float('nan'), 'big': 10**25, 'tiny': 5e-324, None: True, 1.5: 'é😀'}, sort_keys=False))
for bad in ('{"a": 1,}', "{'a': 1}", '[1, 2', '', '{"a": tru}', '"\x01"'):
    try:
        json.loads(bad)
    except json.JSONDecodeError as e:
        print(f'{bad!r:14} {e.msg} (line {e.lineno} column {e.colno})')
try:
    json.dumps({'s': {1, 2}})
except TypeError as e:
    print('TypeError:', e, getattr(e, '__notes__', None))
loop: dict = {}
loop['self'] = loop
json.dumps(loop)
