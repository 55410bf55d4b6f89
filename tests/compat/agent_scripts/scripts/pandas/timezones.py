from zoneinfo import ZoneInfo

import pandas as pd

s = pd.Series(pd.date_range('2025-03-29 22:00', periods=6, freq='h', tz='UTC'))
print(s)
local = s.dt.tz_convert('Europe/Berlin')
print(local)
print(pd.DataFrame({'utc': s, 'berlin': local, 'ny': s.dt.tz_convert(ZoneInfo('America/New_York'))}).to_string())
print(local.dt.hour.tolist(), local.dt.tz)

naive = pd.DatetimeIndex(['2025-03-30 01:30', '2025-03-30 02:30', '2025-03-30 03:30'])
try:
    naive.tz_localize('Europe/Berlin')
except Exception as e:
    print(type(e).__module__, type(e).__name__, e)
print(naive.tz_localize('Europe/Berlin', nonexistent='shift_forward'))
ambiguous = pd.DatetimeIndex(['2025-10-26 02:30'])
try:
    ambiguous.tz_localize('Europe/Berlin')
except ValueError as e:
    print('ValueError', e)
print(ambiguous.tz_localize('Europe/Berlin', ambiguous='NaT'))
stamp = pd.Timestamp('2025-07-04 12:00', tz='Asia/Kolkata')
print(repr(stamp), stamp.tz_convert('US/Pacific'), stamp.isoformat(), stamp.timestamp())
print(stamp.normalize() + pd.offsets.BMonthEnd(), stamp.day_name())
try:
    stamp - pd.Timestamp('2025-07-04')
except TypeError as e:
    print('TypeError', e)
try:
    pd.Timestamp('2025-01-01', tz='Mars/Olympus')
except Exception as e:
    print(type(e).__name__, e)
