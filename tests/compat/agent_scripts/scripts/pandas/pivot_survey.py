import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
n = 200
df = pd.DataFrame(
    {
        'gender': rng.choice(['F', 'M', 'X'], n, p=[0.48, 0.48, 0.04]),
        'age_group': rng.choice(['18-24', '25-34', '35-44', '45+'], n),
        'score': rng.integers(1, 6, n),
        'minutes': rng.exponential(12, n).round(1),
    }
)
pivot = pd.pivot_table(df, index='age_group', columns='gender', values='score', aggfunc='mean', margins=True)
print(pivot.round(2))
print()
print(
    pd.pivot_table(
        df, index='age_group', values=['score', 'minutes'], aggfunc={'score': ['min', 'max'], 'minutes': 'median'}
    )
)
print()
ct = pd.crosstab(df['age_group'], df['score'], normalize='index')
print((ct * 100).round(1).astype(str) + '%')
print(pd.crosstab(df.gender, df.age_group, margins=True, margins_name='Total'))
print(df.pivot_table(index='gender', columns='age_group', aggfunc='size', fill_value=0))
