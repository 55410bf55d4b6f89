from datetime import date, timedelta

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import matplotlib.ticker as ticker

days = [date(2025, 1, 1) + timedelta(days=i) for i in range(120)]
price = [100 + (i * 7 % 13) + i / 4 for i in range(120)]
volume = [1000 + (i * 37) % 500 for i in range(120)]
fig, ax = plt.subplots(figsize=(10, 4))
ax.plot(days, price, color='navy', label='price')
ax.set_ylabel('Price ($)')
ax.xaxis.set_major_locator(mdates.MonthLocator())
ax.xaxis.set_major_formatter(mdates.DateFormatter('%b %Y'))
ax.xaxis.set_minor_locator(mdates.WeekdayLocator(byweekday=mdates.MO))
ax.yaxis.set_major_formatter(ticker.StrMethodFormatter('${x:,.2f}'))
twin = ax.twinx()
twin.bar(days, volume, alpha=0.3, color='gray')
twin.set_ylim(0, 6000)
twin.yaxis.set_major_formatter(ticker.EngFormatter())
fig.autofmt_xdate()
fig.canvas.draw()
print([t.get_text() for t in ax.get_xticklabels()])
print([t.get_text() for t in ax.get_yticklabels()])
print([t.get_text() for t in twin.get_yticklabels()])
print(len(ax.xaxis.get_minorticklocs()), mdates.date2num(date(1970, 1, 2)), mdates.num2date(365).isoformat())
log = plt.figure().subplots()
log.loglog([1, 10, 100, 1e5], [1, 100, 1e4, 1e9], 'o-')
log.set_xscale('symlog')
log.figure.canvas.draw()
print([t.get_text() for t in log.get_yticklabels()][:5], log.get_xscale())
log.xaxis.set_major_formatter(ticker.PercentFormatter(100))
plt.savefig('log.png')
conc = plt.figure().subplots()
conc.plot(days, price)
conc.xaxis.set_major_formatter(mdates.ConciseDateFormatter(conc.xaxis.get_major_locator()))
conc.figure.canvas.draw()
print([t.get_text() for t in conc.get_xticklabels()])
conc.set_xlim(date(2025, 1, 1), 'tomorrow')
