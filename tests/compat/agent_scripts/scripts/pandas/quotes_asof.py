"""Match each trade with the last quote before it."""

import pandas as pd

quotes = pd.DataFrame(
    {
        'time': pd.to_datetime(
            ['2025-05-25 13:30:00.023', '2025-05-25 13:30:00.030', '2025-05-25 13:30:00.048', '2025-05-25 13:30:00.072']
        ),
        'ticker': ['GOOG', 'MSFT', 'GOOG', 'MSFT'],
        'bid': [720.50, 51.95, 720.93, 52.01],
        'ask': [720.93, 51.96, 721.00, 52.03],
    }
)
trades = pd.DataFrame(
    {
        'time': pd.to_datetime(
            ['2025-05-25 13:30:00.023', '2025-05-25 13:30:00.038', '2025-05-25 13:30:00.048', '2025-05-25 13:30:00.080']
        ),
        'ticker': ['MSFT', 'MSFT', 'GOOG', 'GOOG'],
        'price': [51.95, 51.95, 720.77, 720.92],
        'qty': [75, 155, 100, 100],
    }
)
print(pd.merge_asof(trades, quotes, on='time', by='ticker'))
print(pd.merge_asof(trades, quotes, on='time', by='ticker', tolerance=pd.Timedelta('10ms'), allow_exact_matches=False))
nearest = pd.merge_asof(trades, quotes[['time', 'bid']], on='time', direction='nearest')
print(nearest.assign(spread=lambda d: d['price'] - d['bid']).dtypes)
ordered = pd.merge_ordered(trades[['time', 'price']], quotes[['time', 'ask']], on='time', fill_method='ffill')
print(ordered)
try:
    pd.merge_asof(trades.sort_values('price', ascending=False), quotes, on='time')
except ValueError as e:
    print('ValueError:', e)
