import re
from io import StringIO

import pandas as pd

RAW = """Name;E-Mail;Phone;Joined
 alice SMITH ;Alice@Example.com;(555) 123-4567;01/02/2025
bob o'neil;bob(at)example.org;555.987.6543;15/02/2025
Çelik, Ayşe;ayse@örnek.com.tr;;31/12/2024
;nobody@example.com;5551112222;not a date
"""
df = pd.read_csv(StringIO(RAW), sep=';')
df.columns = df.columns.str.strip().str.lower().str.replace(r'\W+', '_', regex=True)
print(df.columns.tolist())
df['name'] = df['name'].str.strip().str.title()
df['valid'] = df['e_mail'].str.fullmatch(r'[^@\s]+@[^@\s]+\.[a-z.]+', flags=re.IGNORECASE)
df['digits'] = df['phone'].str.replace(r'\D', '', regex=True)
df[['area', 'rest']] = df['digits'].str.extract(r'^(\d{3})(\d+)$')
df['joined'] = pd.to_datetime(df['joined'], format='%d/%m/%Y', errors='coerce')
print(df.to_string())
print(df.dtypes)
print(df['name'].str.len().tolist(), df['name'].str.contains('Smith').tolist())
print(df['e_mail'].str.split('@', expand=True))
print(df['name'].str.normalize('NFKD').str.encode('ascii', errors='ignore').str.decode('ascii').tolist())
print(df['name'].str.get_dummies(sep=' '))
print(df['digits'].str.zfill(12).str.slice(0, 5).tolist(), df['name'].str.findall('[A-Z]').tolist())
print(pd.to_datetime(pd.Series(['2025-01-01', 'garbage']), errors='coerce').isna().tolist())
try:
    pd.to_datetime('not a date')
except ValueError as e:
    print(type(e).__name__, e)
