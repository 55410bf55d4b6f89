"""A calendar of events with recurring dates, a priority queue and time zones."""

import calendar
import heapq
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil import parser, relativedelta, rrule

BERLIN, NEW_YORK = ZoneInfo('Europe/Berlin'), ZoneInfo('America/New_York')
queue = []
for number, (when, what) in enumerate(
    [('2025-03-30 01:30', 'before'), ('2025-03-30 03:30', 'after'), ('2025-10-26 02:30', 'twice')]
):
    heapq.heappush(queue, (datetime.fromisoformat(when).replace(tzinfo=BERLIN), number, what))
while queue:
    when, _, what = heapq.heappop(queue)
    print(
        what,
        when,
        when.utcoffset(),
        when.dst(),
        when.astimezone(NEW_YORK),
        when.replace(fold=1).astimezone(UTC).isoformat(),
    )
print(
    datetime(2025, 3, 30, 1, tzinfo=BERLIN) + timedelta(hours=2),
    (datetime(2025, 3, 31, tzinfo=BERLIN) - datetime(2025, 3, 30, tzinfo=BERLIN)),
)
print(
    [d.isoformat() for d in rrule.rrule(rrule.MONTHLY, byweekday=rrule.FR(-1), count=3, dtstart=datetime(2025, 1, 1))]
)
print(
    date(2024, 2, 29) + relativedelta.relativedelta(years=1, months=1),
    relativedelta.relativedelta(date(2025, 3, 1), date(1990, 5, 20)),
)
for text in ('3rd of May 2024 5pm', '2024-W05-2', '05/06/07', 'Thu Sep 25 10:36:28 2003 EST', 'not a date'):
    try:
        print(text, parser.parse(text, dayfirst=True, default=datetime(2000, 1, 1), tzinfos={'EST': -18000}))
    except parser.ParserError as error:
        print(type(error).__name__, error)
print(
    calendar.month(2025, 2),
    calendar.isleap(2100),
    calendar.monthrange(2024, 2),
    calendar.TextCalendar(6).formatweek([(1, 2)], 3),
)
moment = datetime(2025, 1, 2, 3, 4, 5, 678901, timezone(timedelta(hours=5, minutes=45)))
print(
    moment,
    moment.isoformat(timespec='milliseconds'),
    f'{moment:%A %j %U %W %y %I %p %f %z %%}',
    moment.timestamp(),
    moment.isocalendar(),
    moment.timetuple().tm_yday,
)
print(
    datetime.fromisoformat('20250102T030405Z'),
    datetime.strptime('1/Feb/99 11PM', '%d/%b/%y %I%p'),
    timedelta(days=-1, seconds=5),
    timedelta(1) / timedelta(hours=7),
    abs(timedelta(-1)),
)
for bad in (
    lambda: date(2025, 2, 29),
    lambda: datetime.strptime('x', '%Y'),
    lambda: datetime.fromisoformat('2025-13-01'),
    lambda: timedelta(days=10**10),
    lambda: ZoneInfo('Mars/Base'),
    lambda: datetime.max + timedelta(1),
):
    try:
        bad()
    except (ValueError, OverflowError, ZoneInfoNotFoundError) as error:
        print(type(error).__name__, error)
