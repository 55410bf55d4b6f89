import csv
import random
from pathlib import Path

import pandas as pd

random.seed(11)
path = Path('/tmp') / 'big_transactions.csv'
with path.open('w', newline='') as f:
    writer = csv.writer(f)
    writer.writerow(['account', 'amount', 'currency'])
    for _ in range(20_000):
        writer.writerow(
            [random.randint(1000, 1020), round(random.gauss(50, 30), 2), random.choice(['EUR', 'USD', 'JPY'])]
        )

totals: dict[str, float] = {}
rows = 0
for chunk in pd.read_csv(path, chunksize=6000, dtype={'account': 'int32', 'currency': 'category'}):
    rows += len(chunk)
    for currency, amount in chunk.groupby('currency', observed=True)['amount'].sum().items():
        totals[currency] = totals.get(currency, 0) + amount
print(rows, {k: round(v, 2) for k, v in sorted(totals.items())})
df = pd.read_csv(path)
print(df.memory_usage(deep=False).to_dict())
top = df[df['amount'] > 0].groupby('account')['amount'].sum().nlargest(3)
print(top.round(2))
print(df['amount'].between(40, 60).sum(), df['amount'].lt(0).mean())
print(df.groupby('currency', as_index=False).agg(low=('amount', 'min'), high=('amount', 'max')))
print(pd.read_csv(path, nrows=3, usecols=lambda c: c != 'currency', skiprows=range(1, 10)))
print(df.iloc[::5000])
path.unlink()
print(path.exists())
