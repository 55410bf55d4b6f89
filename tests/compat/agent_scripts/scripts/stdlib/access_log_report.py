import re
from collections import Counter, defaultdict
from pathlib import Path

LOG = """\
10.0.0.1 - - [10/Oct/2024:13:55:36 +0000] "GET /index.html HTTP/1.1" 200 2326 "-" "Mozilla/5.0"
10.0.0.2 - alice [10/Oct/2024:13:55:40 +0000] "POST /login HTTP/1.1" 302 0 "/index.html" "curl/8.0"
10.0.0.1 - - [10/Oct/2024:13:56:01 +0000] "GET /missing.png HTTP/1.1" 404 512 "-" "Mozilla/5.0"
garbage line
10.0.0.3 - - [10/Oct/2024:14:00:00 +0000] "GET /index.html?q=a%20b HTTP/2" 200 2326 "-" "bot"
"""
Path('access.log').write_text(LOG)
PATTERN = re.compile(
    r"""
    (?P<ip>[\d.]+)\s\S+\s(?P<user>\S+)\s
    \[(?P<when>[^\]]+)\]\s
    "(?P<method>[A-Z]+)\s(?P<path>\S+)\sHTTP/(?P<version>[\d.]+)"\s
    (?P<status>\d{3})\s(?P<size>\d+)
    """,
    re.VERBOSE,
)
hits, sizes, bad = Counter(), defaultdict(int), []
with open('access.log') as handle:
    for number, line in enumerate(handle, 1):
        if not (m := PATTERN.match(line)):
            bad.append(number)
            continue
        hits[m['path'].split('?')[0], int(m['status'])] += 1
        sizes[m['ip']] += int(m['size'])
for (path, status), count in hits.most_common():
    print(f'{path:<15}{status:>5}{count:>4}')
print(dict(sizes), 'bad lines:', bad)
print(re.sub(r'(?<=\d)(?=(\d{3})+\b)', ',', '1234567 and 89012'))
print(re.split(r'([,;])\s*', 'a, b;c,d', maxsplit=2), re.findall(r'\b(\w)(\w*)\b', 'two words'))
print(re.fullmatch(r'(?i:straße)', 'STRASSE'), re.match(r'(?P<q>[\'"]).*?(?P=q)', '"quoted" text'))
print(re.compile(r'a++b|(?>c*)d', re.ASCII | re.I))
for broken in ('(unclosed', '*a', '[z-a]', r'(?P<1x>a)', '(?<=a+)b'):
    try:
        re.compile(broken)
    except re.error as e:
        print(f'{broken!r}: {e} [{type(e).__name__}, pos {e.pos}]')
