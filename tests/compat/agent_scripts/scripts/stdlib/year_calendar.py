import calendar
import sched
import time
from datetime import date, timedelta

calendar.setfirstweekday(calendar.SUNDAY)
print(calendar.month(2024, 2))
print(calendar.TextCalendar().formatyear(2025, m=4)[:400])
print(calendar.monthrange(2023, 2), calendar.isleap(1900), calendar.leapdays(2000, 2025), calendar.weekday(2024, 5, 6))
print(calendar.HTMLCalendar().formatmonth(2024, 9)[:200])
print(list(calendar.day_abbr), calendar.month_name[3], calendar.timegm((2024, 1, 1, 0, 0, 0)))
fridays = [d for d in calendar.Calendar().itermonthdates(2024, 9) if d.weekday() == 4 and d.day == 13]
print(fridays)


def easter(year: int) -> date:
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


for year in (2000, 2024, 2025):
    print(year, easter(year), easter(year) + timedelta(days=49), (date(year, 12, 25) - easter(year)).days)
scheduler = sched.scheduler(time.monotonic, time.sleep)
scheduler.enter(0.02, 1, print, ('second',))
scheduler.enter(0.01, 1, print, ('first',), {'end': '!\n'})
scheduler.run()
print(calendar.LocaleTextCalendar(locale='C').formatweekheader(3), calendar.Month.MARCH, calendar.Day(6).name)
try:
    calendar.LocaleTextCalendar(locale='de_DE.UTF-8').formatmonth(2024, 1)
except Exception as e:
    print(type(e).__name__, e)
print(calendar.month(2024, 13))
