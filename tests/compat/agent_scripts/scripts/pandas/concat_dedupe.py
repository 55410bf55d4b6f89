import pandas as pd

a = pd.DataFrame({'id': [1, 2, 3], 'v': [1.0, 2.0, 3.0]})
b = pd.DataFrame({'id': [3, 4], 'v': [30, 40], 'extra': ['x', 'y']})
both = pd.concat([a, b], ignore_index=True, sort=False)
print(both)
print(both.drop_duplicates(subset='id', keep='last'))
print(pd.concat({'first': a, 'second': b}, names=['src', 'row']))
print(pd.concat([a, b], axis=1))
print(pd.concat([a.set_index('id'), b.set_index('id')], axis=1, join='inner', keys=['l', 'r']))
print(a.set_index('id').combine_first(b.set_index('id')))
changed = a.copy()
changed.loc[1, 'v'] = 2.5
print(a.compare(changed, result_names=('old', 'new')))
a.set_index('id').update(b.set_index('id'))
try:
    pd.testing.assert_frame_equal(a, changed)
except AssertionError as e:
    print(e)
try:
    pd.concat([])
except ValueError as e:
    print('ValueError:', e)
try:
    a.append(b)
except AttributeError as e:
    print('AttributeError:', e)
empty = pd.DataFrame(columns=['id', 'v'])
print(pd.concat([empty, a]).dtypes)
dup = pd.DataFrame([[1, 2, 3]], columns=['x', 'x', 'y'])
print(dup['x'], dup.columns.duplicated())
print(dup.reindex(columns=['y', 'z']) if dup.columns.is_unique else 'not unique')
dup.reindex(columns=['y', 'z'])
