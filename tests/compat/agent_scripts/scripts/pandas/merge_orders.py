import pandas as pd
from pandas.errors import MergeError

customers = pd.DataFrame(
    {'id': [1, 2, 3, 4], 'name': ['Ann', 'Bob', 'Cid', 'Dee'], 'city': ['Oslo', 'Rome', None, 'Lima']}
)
orders = pd.DataFrame(
    {'order': range(100, 106), 'customer_id': [1, 1, 2, 5, 3, 1], 'amount': [20.0, 35.5, 12, 8, 99.9, 5]}
)

left = customers.merge(orders, left_on='id', right_on='customer_id', how='left', indicator=True)
print(left)
print(left['_merge'].value_counts())
outer = customers.merge(orders, left_on='id', right_on='customer_id', how='outer')
print(outer.drop(columns='customer_id'))
print(outer.isna().sum())

try:
    customers.merge(orders, left_on='id', right_on='customer_id', validate='one_to_one')
except MergeError as e:
    print('validation failed:', e)
try:
    customers.merge(orders, on='customer_id')
except KeyError as e:
    print('KeyError:', e)
try:
    customers.merge(orders.rename(columns={'customer_id': 'name'}), on='name')
except Exception as e:
    print(type(e).__name__, e)

anti = customers[~customers['id'].isin(orders['customer_id'])]
print('No orders:', anti['name'].tolist())
print(customers.set_index('id').join(orders.groupby('customer_id')['amount'].agg(['count', 'sum'])))
print(customers.merge(customers, how='cross', suffixes=('_a', '_b')).query('id_a < id_b').shape)
