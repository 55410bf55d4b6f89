"""Reads the same settings from INI, TOML and YAML."""

import configparser
import io
import tomllib

import tomli_w
import yaml

ini = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
ini.read_string("""
[DEFAULT]
home = /srv
[web]
port = 8_080
debug = yes
root = ${home}/www
names = a
    b
""")
web = ini['web']
print(dict(web), web.getboolean('debug'), web.get('missing', 'x'), ini.sections(), web.getint('port'))
toml = tomllib.loads(
    'title = "x"\n[web]\nport = 0x1F\nwhen = 1979-05-27T07:32:00Z\nratio = 1e-3\n[[user]]\nname = "a"\n[[user]]\n'
)
print(toml, tomli_w.dumps({'a': [1, 2.5], 'b': {'c': 'd'}}))
text = """
base: &base {port: 80, on: yes}
web:
  <<: *base
  port: 0o17
  list: [1, 2.0, null, ~, "no", 2025-03-01, 12:30:45]
text: >
  folded
  lines
"""
data = yaml.safe_load(text)
print(data, yaml.safe_dump(data['web'], sort_keys=False), yaml.dump({'x': 'a: b', 'é': [1]}, allow_unicode=True))
for read in (
    lambda: tomllib.loads('a = '),
    lambda: yaml.safe_load('a: [1'),
    lambda: yaml.safe_load('!!python/object:os.x {}'),
    lambda: ini.read_string('x=1'),
    lambda: web.getint('debug'),
):
    try:
        read()
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
out = io.StringIO()
ini.write(out)
print(out.getvalue().count('\n'))
