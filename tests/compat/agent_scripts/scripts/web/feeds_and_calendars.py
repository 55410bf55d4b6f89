"""Reads an RSS feed and an iCalendar file and writes them as tables."""

import xml.etree.ElementTree as ET
from datetime import datetime
from email.utils import parsedate_to_datetime

import pandas as pd

RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News</title>
<item><title>One &amp; only</title><pubDate>Sat, 01 Mar 2025 10:00:00 +0100</pubDate><dc:creator>Ann</dc:creator><guid>1</guid></item>
<item><title><![CDATA[Two <b>]]></title><pubDate>Fri, 28 Feb 2025 23:30:00 GMT</pubDate><guid isPermaLink="false">2</guid></item>
</channel></rss>"""
ICS = """BEGIN:VCALENDAR
BEGIN:VEVENT
SUMMARY:Long meeting that is
  folded
DTSTART;TZID=Europe/Berlin:20250301T090000
RRULE:FREQ=WEEKLY;COUNT=3
END:VEVENT
BEGIN:VEVENT
SUMMARY:Holiday
DTSTART;VALUE=DATE:20250303
END:VEVENT
END:VCALENDAR"""
names = {'dc': 'http://purl.org/dc/elements/1.1/'}
rows = [
    {
        'title': i.findtext('title'),
        'when': parsedate_to_datetime(i.findtext('pubDate')),
        'by': i.findtext('dc:creator', '-', names),
        'id': i.find('guid').attrib,
    }
    for i in ET.fromstring(RSS).iter('item')
]
frame = pd.DataFrame(rows)
frame['when'] = pd.to_datetime(frame['when'], utc=True)
print(frame.sort_values('when').to_string(), frame.dtypes.astype(str).to_dict())
events, current = [], None
for line in ICS.replace('\n ', '').splitlines():
    name, _, value = line.partition(':')
    name, *parameters = name.split(';')
    if line == 'BEGIN:VEVENT':
        current = {}
    elif line == 'END:VEVENT':
        events.append(current)
    elif current is not None:
        current[name] = value
        current.update(p.split('=') for p in parameters)
print(events)
dates = [datetime.strptime(e['DTSTART'], '%Y%m%dT%H%M%S' if 'T' in e['DTSTART'] else '%Y%m%d') for e in events]
weekly = pd.date_range(dates[0], periods=3, freq='7D', tz='Europe/Berlin')
print(
    weekly.tolist(),
    weekly.tz_convert('UTC').strftime('%a %H:%M').tolist(),
    pd.bdate_range(dates[1], periods=3).day_name().tolist(),
)
print(frame.to_xml(index=False, elem_cols=['title', 'by'], parser='etree'))
print(pd.read_xml(__import__('io').StringIO(RSS.partition('?>')[2]), xpath='.//item', parser='etree').shape)
