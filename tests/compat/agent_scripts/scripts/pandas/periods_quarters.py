import pandas as pd

p = pd.Period('2025Q1', freq='Q')
print(p, p.start_time, p.end_time, p + 3, p.asfreq('M', how='end'))
idx = pd.period_range('2024-11', '2025-04', freq='M')
s = pd.Series([5, 3, 8, 6, 9, 4], index=idx, name='orders')
print(s)
print(s.resample('Q').sum())
print(s.groupby(s.index.year).mean())
print(s.to_timestamp().index)
print(s['2025'])
fiscal = idx.asfreq('Q-MAR')
print(fiscal, fiscal.qyear)
df = pd.DataFrame({'d': pd.to_datetime(['2025-02-28', '2025-03-01', '2025-12-31'])})
df['month'] = df['d'].dt.to_period('M')
df['week'] = df['d'].dt.isocalendar().week
df['quarter'] = 'Q' + df['d'].dt.quarter.astype(str)
df['leap'] = df['d'].dt.is_leap_year
df['month_end'] = df['d'].dt.is_month_end
df['days_to_ny'] = (pd.Timestamp('2026-01-01') - df['d']).dt.days
df['text'] = df['d'].dt.strftime('%A, %d %B %Y')
print(df.to_string())
print((df['month'] - pd.Period('2025-01')).tolist())
print(pd.bdate_range('2025-12-22', '2026-01-05', freq='C', holidays=['2025-12-25', '2026-01-01']))
print(pd.date_range('2025-01-31', periods=4, freq='ME') + pd.DateOffset(months=1))
try:
    pd.date_range('2025-01-01', periods=3, freq='M')
except ValueError as e:
    print('ValueError:', e)
try:
    p + pd.Period('2025Q2')
except TypeError as e:
    print('TypeError:', e)
