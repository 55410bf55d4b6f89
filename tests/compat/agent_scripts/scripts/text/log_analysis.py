"""Parses web server logs with a verbose pattern and reports by status and hour."""

import re
from collections import defaultdict
from datetime import datetime

LOG = """\
10.0.0.1 - - [12/Mar/2025:06:25:24 +0000] "GET /index.html HTTP/1.1" 200 5316 "-" "curl/8.0"
10.0.0.2 - ann [12/Mar/2025:06:26:01 +0100] "POST /api/items?id=7 HTTP/1.1" 201 87 "-" "python-requests/2.31"
10.0.0.1 - - [12/Mar/2025:07:00:00 +0000] "GET /missing HTTP/1.1" 404 - "-" "curl/8.0"
broken line
10.0.0.3 - - [12/Mar/2025:07:59:59 +0000] "GET /index.html HTTP/2" 500 12 "-" "Mozilla/5.0 (X11; Linux)"
"""
LINE = re.compile(
    r"""^(?P<ip>\S+)\s\S+\s(?P<user>\S+)\s
    \[(?P<time>[^\]]+)\]\s"(?P<method>[A-Z]+)\s(?P<path>\S+)[^"]*"\s
    (?P<status>\d{3})\s(?P<size>\d+|-)""",
    re.VERBOSE,
)
sizes, hours, bad = defaultdict(int), defaultdict(list), []
for number, line in enumerate(LOG.splitlines(), 1):
    match = LINE.match(line)
    if not match:
        bad.append((number, line))
        continue
    row = match.groupdict()
    when = datetime.strptime(row['time'], '%d/%b/%Y:%H:%M:%S %z')
    hours[when.utctimetuple().tm_hour].append(row['status'])
    sizes[row['path'].partition('?')[0]] += int(row['size'].replace('-', '0'))
    print(when.isoformat(), row['ip'], row['user'], match.span('status'), match.lastgroup)
print(dict(sizes), dict(hours), bad)
print(re.sub(r'(\d+)\.(\d+)\.\d+\.\d+', r'\1.\2.x.x', LOG.splitlines()[0])[:20])
print(re.split(r'[;,]\s*', 'a, b;c,,d'), re.fullmatch(r'(a|b)*', 'abba').groups(), re.escape('1+1=2?'))
try:
    re.compile(r'(unclosed')
except re.error as error:
    print(type(error).__name__, error, error.pos, error.lineno)
