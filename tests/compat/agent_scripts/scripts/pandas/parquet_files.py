from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(3)
df = pd.DataFrame(
    {
        'id': np.arange(1000, dtype='int64'),
        'value': rng.normal(size=1000).round(4),
        'city': rng.choice(['Paris', 'Tokyo', 'Lagos'], 1000),
        'when': pd.date_range('2025-01-01', periods=1000, freq='min'),
        'flag': rng.random(1000) > 0.5,
    }
)
path = Path('data.parquet')
try:
    df.to_parquet(path)
    print('saved with the default engine', path.exists())
except ImportError as e:
    print('ImportError:', e)
    df.to_parquet(path, engine='fastparquet')
for compression in ('snappy', 'gzip', 'zstd', None):
    try:
        df.to_parquet('c.parquet', engine='fastparquet', compression=compression, index=False)
        back = pd.read_parquet('c.parquet', engine='fastparquet')
        print(compression, back.shape, back['value'].equals(df['value']), back['when'].dtype)
    except Exception as e:
        print(compression, type(e).__name__, e)
part = pd.read_parquet('c.parquet', engine='fastparquet', columns=['city', 'value'])
print(part.groupby('city')['value'].agg(['count', 'mean']).round(4))
print(part.dtypes)
print(pd.read_parquet('c.parquet', engine='fastparquet', filters=[('id', '>', 990)]).shape)
try:
    df.to_feather('x.feather')
except ImportError as e:
    print(type(e).__name__, e)
pd.read_parquet('c.parquet', engine='pyarrow')
