from io import StringIO

import pandas as pd

events = [
    {'id': 9007199254740993, 'ts': 1735689600, 'ms': 1735689600123, 'user': 'ann'},
    {'id': 2**63 - 1, 'ts': 1751328000, 'ms': 1751328000999, 'user': 'bob'},
    {'id': -(2**40), 'ts': 0, 'ms': 1, 'user': None},
]
df = pd.DataFrame(events)
print(df, df.dtypes, sep='\n')
df['when'] = pd.to_datetime(df['ts'], unit='s')
df['precise'] = pd.to_datetime(df['ms'], unit='ms', utc=True)
print(df[['when', 'precise']])
print(df['when'].astype('int64').tolist(), df['when'].dtype)
print((df['when'] - pd.Timestamp('1970-01-01')) // pd.Timedelta('1s'))
text = df.to_json(orient='records', date_unit='s')
print(text)
back = pd.read_json(StringIO(text))
print(back, back.dtypes, sep='\n')
big = pd.Series([2**64, 1])
print(big.dtype, (big * 2).tolist())
print(pd.Series([2**63, 1]).dtype, pd.Series([2**31 - 1]).add(1).tolist(), pd.Series([2**63 - 1]).add(1).tolist())
print(pd.to_datetime(2**40, unit='s'))
try:
    print(pd.to_datetime(10**18, unit='s'))
except Exception as e:
    print(type(e).__name__, e)
print(pd.Timestamp.max, pd.Timedelta.min, pd.Timedelta(days=1.5).total_seconds(), pd.Timedelta('1h30m').isoformat())
print(pd.to_numeric(pd.Series(['1', '2.5', 'x', '99999999999999999999']), errors='coerce'))
