import warnings

import pandas as pd

df = pd.DataFrame({'name': ['a', 'b', 'c'], 'score': [10, 20, 30]})
df['score'][df['name'] == 'a'] = 99
print(df)
subset = df[df['score'] > 15]
subset['grade'] = 'pass'
subset.loc[:, 'score'] += 1
print(subset)
print(df)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    df['score'].fillna(0, inplace=True)
    df['score'].replace(10, 11, inplace=True)
for w in caught:
    print(w.category.__name__, str(w.message).splitlines()[0])
view = df['score']
view.iloc[0] = -1
print(df['score'].tolist(), view.tolist())
values = df['score'].to_numpy()
try:
    values[0] = 5
except ValueError as e:
    print('ValueError:', e)
df['score'] = df['score'].astype('int8')
df.loc[0, 'score'] = 'text'
print(df)
