import json

import pandas as pd

payload = json.loads("""
{"status": "ok", "results": [
  {"id": 1, "user": {"name": "Ann", "address": {"city": "Oslo", "zip": "0150"}}, "tags": ["a", "b"],
   "orders": [{"sku": "X1", "qty": 2}, {"sku": "X2", "qty": 1}]},
  {"id": 2, "user": {"name": "Bob", "address": {"city": "Rome"}}, "tags": [], "orders": []},
  {"id": 3, "user": {"name": "Cid"}, "tags": ["b"], "orders": [{"sku": "X1", "qty": 5, "gift": true}]}
]}
""")
flat = pd.json_normalize(payload['results'])
print(flat.columns.tolist())
print(flat.drop(columns=['orders']).to_string())
print(pd.json_normalize(payload['results'], max_level=1).iloc[0].to_dict())
orders = pd.json_normalize(
    payload, record_path=['results', 'orders'], meta=['status', ['results', 'id'], ['results', 'user', 'name']]
)
print(orders)
exploded = flat[['id', 'tags']].explode('tags', ignore_index=True)
print(exploded, exploded['tags'].value_counts(dropna=False), sep='\n')
try:
    pd.json_normalize(payload['results'], record_path='orders', meta=['email'])
except KeyError as e:
    print('KeyError', e)
print(pd.json_normalize(payload['results'], 'orders', ['email'], errors='ignore', record_prefix='o_'))
print(pd.Series({'a': {'b': 1}, 'c': [1, 2]}).to_json())
