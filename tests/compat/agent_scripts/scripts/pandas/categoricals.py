import pandas as pd
from pandas.api.types import CategoricalDtype

sizes = CategoricalDtype(['S', 'M', 'L', 'XL'], ordered=True)
shirts = pd.DataFrame(
    {'size': ['M', 'XL', 'S', 'M', 'XXL'], 'color': ['red', 'blue', 'red', 'green', 'blue'], 'n': [3, 1, 4, 1, 5]}
)
try:
    shirts['size'] = shirts['size'].astype(sizes)
except ValueError as e:
    print(e)
shirts['color'] = shirts['color'].astype('category')
print(shirts)
print(shirts['size'])
print(shirts.sort_values('size', na_position='first'))
print((shirts['size'] >= 'M').tolist())
print(shirts.groupby('size', observed=True)['n'].sum())
print(shirts.groupby(['size', 'color'], observed=False)['n'].sum().unstack(fill_value=0))
print(shirts['color'].cat.rename_categories(str.upper).cat.add_categories('PINK').value_counts())
print(shirts['size'].cat.remove_unused_categories().cat.categories)
try:
    shirts.loc[0, 'size'] = 'huge'
except TypeError as e:
    print('TypeError:', e)
try:
    shirts['color'] > 'blue'
except TypeError as e:
    print('TypeError:', e)
print(pd.get_dummies(shirts, columns=['color'], dtype=int))
print(pd.factorize(shirts['color']), pd.concat([shirts['size'], shirts['size']]).dtype)
print(shirts.describe(include='category'))
shirts['color'].sum()
