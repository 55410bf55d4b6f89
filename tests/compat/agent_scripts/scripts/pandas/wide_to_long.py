import pandas as pd

wide = pd.DataFrame(
    {
        'student': ['Ana', 'Ben', 'Cy'],
        'math_2023': [90, 75, None],
        'math_2024': [88, 80, 70],
        'art_2023': [60, 95, 77],
        'art_2024': [65, 91, 79],
    }
)
long = wide.melt(id_vars='student', var_name='subject_year', value_name='score')
long[['subject', 'year']] = long['subject_year'].str.split('_', expand=True)
long = long.drop(columns='subject_year').astype({'year': int})
print(long)
print(pd.wide_to_long(wide, stubnames=['math', 'art'], i='student', j='year', sep='_').sort_index())
back = long.pivot(index='student', columns=['subject', 'year'], values='score')
print(back)
print(back.columns)
print(long.set_index(['student', 'year', 'subject'])['score'].unstack().diff())
print(long.groupby('student')['score'].rank(ascending=False, method='min'))
try:
    long.pivot(index='student', columns='subject', values='score')
except ValueError as e:
    print('ValueError:', e)
print(wide.set_index('student').stack(future_stack=True).loc['Cy'])
print(wide.T)
