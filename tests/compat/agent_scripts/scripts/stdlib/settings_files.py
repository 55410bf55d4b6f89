import configparser
import io
import plistlib
import tomllib
from datetime import date

INI = """
[DEFAULT]
base = /srv
debug = no

[paths]
data = %(base)s/data
logs: ${oops}
[server]
port = 8080
hosts =
    one.example
    two.example
timeout = 2.5
"""
config = configparser.ConfigParser(allow_no_value=True)
config.read_string(INI)
print(config.sections(), config['paths']['data'], config.getint('server', 'port'), config.getboolean('server', 'debug'))
print(
    config['server'].getfloat('timeout'),
    config.get('server', 'hosts').split(),
    config.get('server', 'none', fallback='-'),
)
config['server']['port'] = '9090'
out = io.StringIO()
config.write(out)
print(out.getvalue())
for action in (
    lambda: config.get('nope', 'x'),
    lambda: config.get('server', 'x'),
    lambda: config.getint('server', 'timeout'),
    lambda: config.read_string('[a]\nx=1\nx=2'),
    lambda: config.read_string('no section'),
):
    try:
        action()
    except (configparser.Error, ValueError) as e:
        print(type(e).__name__, str(e).splitlines()[0])
TOML = """
title = "Demo"
day = 2024-05-06
when = 1979-05-27T07:32:00-08:00
[owner]
name = 'Tom'
ratio = [1_000, 0xff, 1e3, inf]
[[fruit]]
name = "apple"
[[fruit]]
name = "pear"
"""
data = tomllib.loads(TOML)
print(data)
plist = plistlib.dumps({'a': 1, 'when': [True, 1.5, b'bytes'], 'd': {'x': 'é'}})
print(plist.decode(), plistlib.loads(plist))
for bad in ('a = ', 'a = 1\na = 2', '[x]\ny = {1}', 'k = "unclosed'):
    try:
        tomllib.loads(bad)
    except tomllib.TOMLDecodeError as e:
        print(e)
print(date.fromisoformat('2024-05-06') == data['day'])
