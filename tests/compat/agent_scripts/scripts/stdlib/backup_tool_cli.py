import argparse
import enum
import sys
from pathlib import Path


class Level(enum.Enum):
    fast = 1
    best = 9


def build() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='backup', description='Back up a directory.', epilog='See the manual.', suggest_on_error=True
    )
    parser.add_argument('--version', action='version', version='%(prog)s 1.2')
    parser.add_argument('-v', '--verbose', action='count', default=0)
    sub = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    create = sub.add_parser('create', help='create an archive', aliases=['c'])
    create.add_argument('source', type=Path, nargs='+')
    create.add_argument('--level', choices=[level.name for level in Level], default='fast', help='default: %(default)s')
    create.add_argument('--dry-run', action=argparse.BooleanOptionalAction)
    group = create.add_mutually_exclusive_group()
    group.add_argument('--zip', action='store_true')
    group.add_argument('--tar', action='store_true')
    restore = sub.add_parser('restore', formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    restore.add_argument('archive', type=argparse.FileType('rb') if sys.version_info < (3, 14) else Path)
    restore.add_argument('--jobs', type=int, default=2, metavar='N', help='workers')
    return parser


parser = build()
parser.color = False
print(parser.format_help())
print(parser.parse_args(['-vv', 'create', 'a', 'b', '--zip', '--no-dry-run']))
for arguments in (
    ['create'],
    ['restore', 'x', '--jobs', 'two'],
    ['creat'],
    ['create', 'a', '--zip', '--tar'],
    ['--version'],
    ['c', 'a', '--level', 'bst'],
):
    try:
        print(parser.parse_args(arguments))
    except SystemExit as e:
        print(arguments, 'exit', e.code)
restore = parser.parse_args(['restore', 'file.tgz'])
print(vars(restore))
parser.parse_args(['--nonsense'])
