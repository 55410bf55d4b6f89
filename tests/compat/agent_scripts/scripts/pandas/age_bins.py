import numpy as np
import pandas as pd

rng = np.random.default_rng(2024)
ages = pd.Series(rng.normal(40, 15, 60).clip(1, 95).round().astype(int), name='age')
bins = [0, 12, 18, 35, 60, np.inf]
labels = ['child', 'teen', 'young', 'adult', 'senior']
groups = pd.cut(ages, bins=bins, labels=labels, right=False)
print(groups.value_counts(sort=False))
print(groups.dtype)
print(pd.cut(ages, 4).value_counts().sort_index())
quartiles, edges = pd.qcut(ages, 4, retbins=True)
print(quartiles.cat.categories)
print(edges)
print(pd.qcut(ages, [0, 0.1, 0.9, 1], labels=['low', 'mid', 'high']).value_counts())
table = pd.DataFrame({'age': ages, 'group': groups}).groupby('group', observed=False)['age'].describe()
print(table.round(2))
try:
    pd.qcut(pd.Series([1, 1, 1, 1, 2]), 4)
except ValueError as e:
    print('ValueError:', e)
try:
    pd.cut(ages, bins=[10, 5, 1])
except ValueError as e:
    print('ValueError:', e)
print(pd.IntervalIndex.from_breaks([0, 1, 2]).contains(0.5))
print(groups.iloc[0] in labels, pd.Interval(0, 5, closed='left').overlaps(pd.Interval(5, 6)))
