from io import StringIO

import pandas as pd

DATA = """Date,Temp (C),Humidity
2025-07-01,21.5,45
2025-07-02,23.1,50
2025-07-03,19.8,61
"""


def load(text: str) -> pd.DataFrame:
    df = pd.read_csv(StringIO(text), parse_dates=['Date'], index_col='Date')
    return df.rename(columns=lambda c: c.split(' (')[0].strip().lower())


df = load(DATA)
print(df)
print(df.loc['2025-07-02':'2025-07-03', 'temp'].mean())
for key in ('2025-08-01', pd.Timestamp('2025-07-01 12:00')):
    try:
        print(df.loc[key])
    except KeyError as e:
        print('KeyError:', e)
try:
    df.temperature
except AttributeError as e:
    print('AttributeError:', e)
try:
    df.iloc[10]
except IndexError as e:
    print('IndexError:', e)
try:
    df[['temp', 'rain']]
except KeyError as e:
    print('KeyError:', e)
print('Average rain:', df['rain'].mean())
