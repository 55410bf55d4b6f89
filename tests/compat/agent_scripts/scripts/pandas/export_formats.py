from pathlib import Path

import pandas as pd

df = pd.DataFrame(
    {
        'item': ['Café', 'Tea <green>', '水'],
        'price': [3.5, 2.25, None],
        'when': pd.to_datetime(['2025-01-01 00:00:00', '2025-06-30 12:34:56', None]),
        'qty': [1, 20, 300],
    }
)
print(df.to_csv(index=False))
print(df.to_csv(sep='\t', na_rep='NULL', float_format='%.3f', date_format='%d.%m.%Y'))
print(df.to_json(orient='records'))
print(df.to_json(orient='split', date_format='iso', force_ascii=False, indent=2))
print(df.to_markdown(index=False))
print(df.to_html(index=False, border=0, classes=['table', 'striped'], na_rep='-'))
print(df.to_dict(orient='list'))
try:
    print(df.to_latex(index=False))
except ImportError as e:
    print('ImportError', e)
for name, kind in [('out.csv.gz', 'csv'), ('out.pkl', 'pickle'), ('out.jsonl', 'json')]:
    path = Path(name)
    if kind == 'csv':
        df.to_csv(path, index=False)
        back = pd.read_csv(path, parse_dates=['when'])
    elif kind == 'pickle':
        df.to_pickle(path)
        back = pd.read_pickle(path)
    else:
        df.to_json(path, orient='records', lines=True)
        back = pd.read_json(path, lines=True, convert_dates=['when'])
    print(name, path.exists(), back.equals(df), back.dtypes.astype(str).tolist())
