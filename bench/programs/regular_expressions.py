"""re: searching a log, groups, substitution with a function."""

import re

LINE = re.compile(
    r"(?P<host>\d+\.\d+\.\d+\.\d+) - (?P<user>\w+|-) \[(?P<day>\d+)/(?P<month>[A-Z][a-z]{2})\] \"(?P<verb>GET|POST) (?P<path>/[^\" ]*)\" (?P<status>\d{3})"
)
NUMBER = re.compile(r"\b\d+\b")
WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")


def log(lines):
    for n in range(lines):
        verb = "POST" if n % 3 == 0 else "GET"
        user = "-" if n % 4 else f"user{n}"
        yield f'10.{n % 256}.{n % 7}.1 - {user} [{n % 28 + 1}/Nov] "{verb} /p/{n}/index.html?q={n * n}" {200 + n % 5}'


def run():
    text = "\n".join(log(2500))
    statuses = {}
    for match in LINE.finditer(text):
        key = match["verb"], match["status"]
        statuses[key] = statuses.get(key, 0) + len(match["path"])
    doubled = NUMBER.sub(lambda match: str(int(match[0]) * 2), text)
    words = WORD.findall(doubled)
    fields = sum(len(re.split(r"[\s\[\]\"]+", line)) for line in text.splitlines())
    return [sorted(map(list, statuses.items())), len(doubled), len(words), fields]
