import numpy as np
import pandas as pd

rng = np.random.default_rng(99)
users = pd.DataFrame(
    {'user': np.arange(120), 'signup': pd.Timestamp('2025-01-01') + pd.to_timedelta(rng.integers(0, 90, 120), unit='D')}
)
visits = users.loc[users.index.repeat(rng.integers(1, 8, 120))].reset_index(drop=True)
visits['visit'] = visits['signup'] + pd.to_timedelta(rng.exponential(40, len(visits)).astype(int), unit='D')
visits['cohort'] = visits['signup'].dt.to_period('M')
visits['age'] = (visits['visit'].dt.to_period('M') - visits['cohort']).map(lambda d: d.n)
matrix = visits.groupby(['cohort', 'age'])['user'].nunique().unstack()
print(matrix)
size = users.groupby(users['signup'].dt.to_period('M'))['user'].nunique()
print(size)
retention = matrix.div(size, axis=0).round(3)
print(retention.to_string(na_rep='', float_format='{:.1%}'.format))
print(retention.iloc[:, :4].mean().round(4))
gap = visits.sort_values(['user', 'visit']).groupby('user')['visit'].diff()
print(gap.describe())
print(gap.max(), gap.dropna().median().components)
visits['n'] = visits.groupby('user').cumcount() + 1
print(visits.loc[visits['n'] == 3, 'visit'].dt.to_period('Q').value_counts())
