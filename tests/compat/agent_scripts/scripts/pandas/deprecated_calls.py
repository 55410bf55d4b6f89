import warnings

import pandas as pd

warnings.simplefilter('always')
df = pd.DataFrame({'a': [1, 2, 3], 'b': ['x', 'y', None]}, index=pd.date_range('2025-01-01', periods=3))


def attempt(label, function):
    try:
        result = function()
        print(label, '->', type(result).__name__, getattr(result, 'shape', result))
    except Exception as e:
        print(label, '->', type(e).__name__, e)


attempt('applymap', lambda: df.applymap(str))
attempt('ffill method', lambda: df.fillna(method='ffill'))
attempt('iteritems', lambda: list(df.iteritems()))
attempt('resample H', lambda: df['a'].resample('H').sum())
attempt('swapaxes', lambda: df.swapaxes(0, 1))
attempt('first', lambda: df.first('1D'))
attempt('ix', lambda: df.ix[0])
attempt('pad', lambda: df['a'].pad())
attempt('groupby axis', lambda: df.groupby({'a': 'g'}, axis=1).sum())
attempt('positional drop', lambda: df.drop('a', 1))
attempt('read_json literal', lambda: pd.read_json('{"a": {"0": 1}}'))
attempt('datetime infer', lambda: pd.to_datetime(['2025-01-01'], infer_datetime_format=True))
attempt('mixed formats', lambda: pd.to_datetime(['01/02/2025', '2025-03-04']))
attempt('day first', lambda: pd.to_datetime(['25/12/2025'], dayfirst=False))
attempt('no format', lambda: pd.to_datetime(['1 Jan 25', 'x'], errors='coerce'))
attempt('value_counts', lambda: pd.value_counts([1, 1]))
attempt('bool sum', lambda: df.sum())
attempt('select object', lambda: df.select_dtypes('object'))
attempt('idxmax', lambda: pd.Series([float('nan')]).idxmax())
