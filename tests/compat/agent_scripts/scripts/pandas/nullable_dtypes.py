import numpy as np
import pandas as pd

df = pd.DataFrame(
    {
        'a': pd.array([1, 2, None, 4], dtype='Int64'),
        'b': pd.array([True, None, False, True], dtype='boolean'),
        'c': pd.array([1.5, np.nan, None, 2], dtype='Float64'),
        'd': pd.array(['x', None, 'z', ''], dtype='string'),
        'e': pd.Categorical(['lo', 'hi', None, 'lo'], categories=['lo', 'hi'], ordered=True),
    }
)
print(df)
print(df.dtypes)
df.info(memory_usage=False)
print(df['a'].sum(), df['a'].mean(), df['a'].sum(skipna=False))
print((df['a'] > 2).tolist(), (df['b'] | True).tolist(), (df['b'] & True).tolist())
print(df['a'] / 0)
print(df.fillna({'a': 0, 'd': 'missing'}))
print(df.convert_dtypes().dtypes.astype(str).to_dict())
try:
    df['a'].astype('int64')
except ValueError as e:
    print('ValueError:', e)
try:
    pd.array([1.5, 2.5], dtype='Int64')
except TypeError as e:
    print('TypeError:', e)
try:
    if pd.NA:
        print('yes')
except TypeError as e:
    print('TypeError:', e)
print(pd.array([2**62, 2**62], dtype='Int64').sum(), pd.Series([255], dtype='UInt8') + 1)
print(df['e'].min(), df['e'].cat.codes.tolist(), df.sort_values('e')['a'].tolist())
