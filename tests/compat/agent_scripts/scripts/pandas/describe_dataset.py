import io

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
df = pd.DataFrame(
    {
        'height': rng.normal(170, 10, 500).round(1),
        'weight': rng.normal(70, 12, 500).round(1),
        'smoker': rng.random(500) < 0.2,
        'group': rng.choice(list('ABC'), 500),
        'visit': pd.Timestamp('2025-01-01') + pd.to_timedelta(rng.integers(0, 365, 500), unit='D'),
    }
)
df.loc[rng.choice(500, 25, replace=False), 'weight'] = np.nan
buffer = io.StringIO()
df.info(buf=buffer, memory_usage=False)
print(buffer.getvalue())
print(df.describe())
print(df.describe(include='all').to_string())
print(df.describe(percentiles=[0.05, 0.95]).loc[['5%', '95%']])
print(df.corr(numeric_only=True).round(4))
print(df.groupby('group')[['height', 'weight']].describe().round(2).to_string())
print(df['weight'].skew().round(4), df['weight'].kurt().round(4), df['weight'].sem().round(4))
print(df.nunique())
print(df.select_dtypes('number').quantile([0.25, 0.75]))
print(df.isna().mean().mul(100).map('{:.1f}%'.format))
q1, q3 = df['height'].quantile([0.25, 0.75])
print('outliers:', ((df['height'] < q1 - 1.5 * (q3 - q1)) | (df['height'] > q3 + 1.5 * (q3 - q1))).sum())
print(df.sample(5, random_state=1))
df.info()
df.mean()
