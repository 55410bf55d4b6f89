import numpy as np
import pandas as pd


def bmi_class(row: pd.Series) -> str:
    bmi = row['kg'] / (row['cm'] / 100) ** 2
    return 'over' if bmi >= 25 else 'normal' if bmi >= 18.5 else 'under'


people = pd.DataFrame(
    {'name': ['A', 'B', 'C', 'D'], 'kg': [50, 82, 70, 95], 'cm': [175, 180, 168, 170], 'team': [1, 1, 2, 2]}
)
people['class'] = people.apply(bmi_class, axis=1)
print(people)
print(people[['kg', 'cm']].apply(np.sqrt).round(3))
print(people[['kg', 'cm']].apply(['min', 'max', 'mean']))
print(people[['kg', 'cm']].apply(lambda col: col - col.mean()))
print(people['name'].map({'A': 'Ann', 'B': 'Bob'}))
print(people.apply(lambda r: pd.Series({'m': r['cm'] / 100, 'lb': r['kg'] * 2.20462}), axis=1).round(2))
print(people.groupby('team').apply(lambda g: g.nlargest(1, 'kg')))
print(people.groupby('team', group_keys=False)[['kg']].apply(lambda g: g / g.sum()))
print(people.groupby('team')['kg'].agg(lambda s: s.max() - s.min()))
print(people.groupby('team').filter(lambda g: g['kg'].mean() > 70)['name'].tolist())
print(people.pipe(lambda d: d[d['kg'] > 60]).eval('bmi = kg / (cm / 100) ** 2').round(2))
print(people.map(lambda v: len(str(v))).sum().to_dict())
for key, group in people.groupby(['team', 'class']):
    print(key, group['name'].tolist())
people['class'] = people['class'].apply(lambda c: {'over': 2, 'normal': 1}[c])
print(people.apply(lambda row: row['kg'] / row['zero'], axis=1))
