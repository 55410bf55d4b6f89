import datetime as dt

import numpy as np

days = np.arange('2025-02-26', '2025-03-03', dtype='datetime64[D]')
print(days, days.dtype, repr(days[0]))
print(days + np.timedelta64(12, 'h'), np.diff(days))
print(
    np.datetime64('2025-03-01') - np.datetime64('2024-03-01'),
    np.datetime64('2025-03-01T12:30') + np.timedelta64(90, 's'),
)
print(
    np.is_busday(days), np.busday_count('2025-01-01', '2025-12-31'), np.busday_offset('2025-02-28', 3, roll='forward')
)
print(
    np.datetime64('NaT'),
    np.isnat(np.array(['2025-01-01', 'NaT'], dtype='M8[D]')),
    np.datetime64('2025', 'Y').astype('M8[M]'),
)
print(days.astype('datetime64[M]'), days.astype(int), days.astype(object)[0], np.datetime64(dt.datetime(2025, 1, 1, 5)))
print(np.datetime_as_string(days[:2], unit='s', timezone='UTC'), np.timedelta64(36, 'h') / np.timedelta64(1, 'D'))
print(
    np.array([3600, 86400], dtype='timedelta64[s]').astype('timedelta64[h]'),
    np.timedelta64(1, 'Y') + np.timedelta64(1, 'M'),
)
print(days.min(), days.max(), np.datetime64('2262-04-12', 'ns'), np.datetime64('1969-12-31').astype(int))
print(
    np.unique(days.astype('M8[M]'), return_counts=True),
    np.datetime64(0, 's'),
    np.datetime64('2025-01-01T00:00:00.123456789'),
)
for action in (
    lambda: np.datetime64('2025-02-30'),
    lambda: np.datetime64('today-ish'),
    lambda: days + days,
    lambda: np.timedelta64(1, 'M') + np.timedelta64(1, 'D'),
    lambda: np.datetime64('2025-01-01T00:00+02:00'),
):
    try:
        print(action())
    except Exception as e:
        print(type(e).__name__, e)
