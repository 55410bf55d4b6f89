import numpy as np
import pandas as pd

idx = pd.MultiIndex.from_product([['2024', '2025'], ['Q1', 'Q2'], ['EU', 'US']], names=['year', 'quarter', 'market'])
df = pd.DataFrame({'sales': np.arange(8) * 10.5, 'cost': np.arange(8)[::-1] ** 2}, index=idx)
print(df)
print(df.loc['2025'])
print(df.loc[('2024', 'Q2')])
print(df.xs('US', level='market'))
print(df.loc[pd.IndexSlice[:, 'Q1', :], 'sales'])
print(df.unstack('market'))
print(df.unstack(['quarter', 'market']).to_string())
print(df.stack().head(4))
print(df.groupby(level=['year', 'market']).sum())
print(df.swaplevel('year', 'market').sort_index().index.tolist()[:3])
print(df.reset_index().set_index(['market', 'year']).loc[('EU', '2024'), 'cost'].sum())
wide = df.unstack('market')
wide.columns = ['_'.join(c).lower() for c in wide.columns]
print(wide)
try:
    df.loc[('2026', 'Q1')]
except KeyError as e:
    print('KeyError', e)
unsorted = df.iloc[[3, 0, 5, 1]]
try:
    unsorted.loc[('2024', 'Q1') : ('2025', 'Q1')]
except Exception as e:
    print(type(e).__name__, e)
print(df.index.levels, df.index.nlevels, idx.get_level_values(1).unique())
