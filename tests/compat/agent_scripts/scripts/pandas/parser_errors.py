import warnings
from io import StringIO

import pandas as pd

bad = 'a,b,c\n1,2,3\n4,5,6,7\n8,9,10\n'
try:
    pd.read_csv(StringIO(bad))
except pd.errors.ParserError as e:
    print('ParserError:', e)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    print(pd.read_csv(StringIO(bad), on_bad_lines='warn'))
    print([str(w.message).strip() for w in caught])
print(pd.read_csv(StringIO(bad), on_bad_lines=lambda row: row[:3], engine='python'))
for text, options in [
    ('', {}),
    ('a,b\n1,x\n', {'dtype': {'b': int}}),
    ('a,b\n1,2\n', {'usecols': ['a', 'z']}),
    ('a;b\n1;"2\n', {'sep': ';'}),
    ('a,b\n1,2\n', {'parse_dates': ['when']}),
    ('a,b\n1,2\n', {'index_col': 'id'}),
    ('a,b\n1,2\n', {'sep': '||', 'engine': 'c'}),
]:
    try:
        print(pd.read_csv(StringIO(text), **options))
    except Exception as e:
        print(type(e).__name__, '|', e)
with open('latin.csv', 'wb') as f:
    f.write('name\nJosé\n'.encode('latin-1'))
try:
    pd.read_csv('latin.csv')
except UnicodeDecodeError as e:
    print(type(e).__name__, e)
print(pd.read_csv('latin.csv', encoding='latin-1'))
print(pd.read_csv(StringIO('x,y\n1,2\n3,4'), comment='3', skip_blank_lines=True, names=['p', 'q'], header=0))
print(pd.read_fwf(StringIO('id  name   \n1   Al     \n22  Barbara')))
pd.read_csv('does_not_exist.csv')
