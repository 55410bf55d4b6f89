from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

cities = {
    'New York': 'America/New_York',
    'London': 'Europe/London',
    'Kolkata': 'Asia/Kolkata',
    'Sydney': 'Australia/Sydney',
    'Chatham': 'Pacific/Chatham',
}
for moment in (datetime(2024, 3, 10, 6, 59, tzinfo=UTC), datetime(2024, 3, 10, 7, 0, tzinfo=UTC)):
    print(moment.isoformat())
    for city, zone in cities.items():
        local = moment.astimezone(ZoneInfo(zone))
        print(f'  {city:10} {local:%a %d %b %Y %H:%M %Z%z} dst={local.dst()} fold={local.fold}')

ambiguous = datetime(2024, 10, 27, 1, 30, tzinfo=ZoneInfo('Europe/London'))
print(ambiguous.utcoffset(), ambiguous.replace(fold=1).utcoffset())
print(repr(ambiguous), str(ZoneInfo('UTC')))
print(datetime.fromisoformat('2024-02-29T12:30:45.123456+05:30'))
print(datetime.strptime('03/Jan/2024:10:11:12 -0800', '%d/%b/%Y:%H:%M:%S %z').timestamp())
print(date(2024, 12, 30).isocalendar(), date.fromisocalendar(2025, 1, 1))
print(timedelta(days=-1, hours=5), timedelta.max, timedelta(weeks=2) / timedelta(hours=7))
print(time(23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-3, minutes=-30))))
print(len(available_timezones()) > 400, 'Europe/Berlin' in available_timezones())
print(datetime.fromtimestamp(0), datetime.fromtimestamp(2**33, UTC), datetime(1, 1, 1).strftime('%Y-%m-%d'))
try:
    ZoneInfo('Mars/Olympus_Mons')
except ZoneInfoNotFoundError as e:
    print('not found:', e)
try:
    datetime.strptime('2024-13-01', '%Y-%m-%d')
except ValueError as e:
    print(e)
print(datetime(2024, 1, 1) - datetime(2024, 1, 1, tzinfo=UTC))
