import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    port: int = 8000
    debug: bool = False
    data_dir: Path = Path('data')

    @classmethod
    def from_env(cls, prefix: str = 'APP_') -> 'Settings':
        env = {k.removeprefix(prefix).lower(): v for k, v in os.environ.items() if k.startswith(prefix)}
        values = {'port': int(env.get('port', cls.port)), 'debug': env.get('debug', '').lower() in {'1', 'true'}}
        return cls(**values, data_dir=Path(env.get('data_dir', 'data')))


os.environ['APP_PORT'] = '9000'
os.environ.update(APP_DEBUG='TRUE', APP_DATA_DIR='/srv/x')
print(Settings.from_env())
print(
    os.getenv('APP_PORT'), os.getenv('NOPE'), os.getenv('NOPE', 'default'), 'LANG' in os.environ, os.environ.get('TZ')
)
print(os.path.expandvars('$APP_PORT/${APP_DEBUG}/$NOPE'), os.environb[b'APP_PORT'], os.environ.pop('APP_PORT'))
print(
    bool(os.environ.get('HOME')),
    bool(os.environ.get('PATH')),
    Path.home() == Path(os.environ['HOME']),
    os.environ.get('USER'),
)
before = Path.cwd()
os.makedirs('work/deep', exist_ok=True)
os.chdir('work/deep')
print(Path.cwd().relative_to(before), os.path.relpath(before), os.path.realpath('..') == str(before.resolve() / 'work'))
os.chdir(before)
for action in (
    lambda: os.environ['MISSING'],
    lambda: os.environ.update({'N': 5}),
    lambda: os.putenv('A=B', 'x'),
    lambda: os.environ.__setitem__('', 'x'),
    lambda: os.chdir('missing'),
    lambda: os.unsetenv(''),
):
    try:
        action()
    except (KeyError, TypeError, ValueError, OSError) as e:
        print(type(e).__name__, e)
print(os.pathsep, os.sep, os.linesep == '\n', os.devnull, os.curdir, os.extsep, os.name)
print(sys.stdin.read() == '', os.isatty(sys.stdout.fileno()), sys.stdout.fileno(), os.get_blocking(1))
os.environ['APP_PORT'] = 'eighty'
Settings.from_env()
