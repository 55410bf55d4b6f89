import numpy as np
import pandas as pd

df = pd.DataFrame(np.arange(600).reshape(20, 30) / 7, columns=[f'column_{i:02d}' for i in range(30)])
print(df)
with pd.option_context('display.max_columns', 6, 'display.width', 60, 'display.precision', 2):
    print(df.head())
with pd.option_context('display.max_rows', 4, 'display.max_columns', None, 'display.width', 120):
    print(df)
pd.set_option('display.float_format', '{:,.1f}'.format)
print(df.iloc[:3, :4] * 1e6)
pd.reset_option('display.float_format')
long = pd.DataFrame({'text': ['word ' * 30, 'short', '日本語のテキスト'], 'n': [1e-10, 1e10, np.inf]})
print(long)
with pd.option_context('display.max_colwidth', 15, 'display.unicode.east_asian_width', True):
    print(long)
print(pd.Series(range(100)))
print(pd.Series([0.1 + 0.2, 1 / 3, 1e-8, 123456789.123456789]))
print(pd.DataFrame(), pd.Series(dtype=float), pd.DataFrame(columns=['a', 'b']), sep='\n')
try:
    pd.set_option('display.nonsense', 1)
except Exception as e:
    print(type(e).__name__, e)
print(pd.get_option('display.max_rows'))
