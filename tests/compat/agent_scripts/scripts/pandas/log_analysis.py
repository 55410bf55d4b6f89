import re
from collections import Counter
from pathlib import Path

import pandas as pd

LOG = '\n'.join(
    f'10.0.0.{i % 5} - - [{1 + i % 28:02d}/Mar/2025:{i % 24:02d}:15:00 +0000] "GET /page{i % 7} HTTP/1.1" {code} {i * 37 % 5000}'
    for i, code in enumerate([200, 200, 404, 200, 500, 301, 200, 200, 403, 200] * 12)
)
Path('access.log').write_text(LOG)
PATTERN = re.compile(
    r'(?P<ip>\S+) - - \[(?P<time>[^]]+)\] "(?P<method>\w+) (?P<path>\S+) [^"]*" (?P<status>\d+) (?P<bytes>\d+)'
)
records = [m.groupdict() for line in Path('access.log').read_text().splitlines() if (m := PATTERN.match(line))]
df = pd.DataFrame.from_records(records)
df['time'] = pd.to_datetime(df['time'], format='%d/%b/%Y:%H:%M:%S %z')
df = df.astype({'status': 'int16', 'bytes': 'int32'})
print(df.head())
print(df.dtypes)
print(df['status'].value_counts())
print(df.groupby('path')['bytes'].agg(['sum', 'mean', 'max']).sort_values('sum', ascending=False).head(3))
errors = df.query('status >= 400 and method == "GET"')
print(errors.groupby(['status', 'ip']).size().unstack(fill_value=0))
print(df.set_index('time').sort_index()['bytes'].resample('7D').sum())
print(Counter(df['ip']).most_common(2))
print(df.loc[df['bytes'].idxmax(), ['ip', 'path', 'bytes']])
print(df['bytes'].sum(), df['bytes'].sum().dtype, df.duplicated(['ip', 'path']).sum())
