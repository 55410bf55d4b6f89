import fnmatch
import glob
import os
import shutil
import stat
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath

KINDS = {'images': {'.png', '.jpg'}, 'docs': {'.pdf', '.txt'}, 'code': {'.py'}}
with tempfile.TemporaryDirectory(prefix='downloads_') as folder:
    root = Path(folder)
    for name in ('a.png', 'B.JPG', 'notes.txt', 'tool.py', 'archive.tar.gz', '.hidden', 'no extension'):
        (root / name).write_text(name * 3)
    for path in sorted(root.iterdir()):
        kind = next((k for k, exts in KINDS.items() if path.suffix.lower() in exts), 'other')
        (root / kind).mkdir(exist_ok=True)
        path.rename(root / kind / path.name) if path.is_file() else None
    for where, dirs, files in os.walk(root):
        dirs.sort()
        print(Path(where).relative_to(root), sorted(files))
    print(
        sorted(p.relative_to(root).as_posix() for p in root.glob('**/*.*')),
        len(list(root.rglob('*', case_sensitive=True))),
    )
    print(sorted(glob.glob('**/*.t*', root_dir=root, recursive=True)), glob.glob('[!a-z]*', root_dir=root / 'images'))
    tool = root / 'code/tool.py'
    tool.chmod(0o755)
    print(
        stat.filemode(tool.stat().st_mode),
        tool.stat().st_nlink,
        tool.owner(),
        tool.group(),
        shutil.which('tool.py', path=tool.parent) == str(tool),
    )
    shutil.copytree(root / 'images', root / 'copy', ignore=shutil.ignore_patterns('*.JPG'))
    print(
        sorted(os.listdir(root / 'copy')),
        shutil.move(root / 'copy', root / 'moved') == root / 'moved',
        shutil.disk_usage(root).total > 0,
    )
    for action in (
        lambda: (root / 'docs').rmdir(),
        lambda: (root / 'nope').unlink(),
        lambda: (root / 'docs').mkdir(),
        lambda: open(root / 'docs'),
        lambda: os.rename(root / 'docs', root / 'code'),
        lambda: shutil.copy(tool, tool),
        lambda: tool.joinpath('x').read_text(),
    ):
        try:
            action()
        except OSError as e:
            print(type(e).__name__, e.errno, e.strerror)
    shutil.rmtree(root / 'moved')
print(
    root.exists(),
    PurePosixPath('/a/./b/../c.tar.gz').suffixes,
    PureWindowsPath(r'C:\x\y.txt').parts,
    Path('a/b').with_stem('z'),
)
print(
    fnmatch.filter(['x.py', 'y.txt', 'z.PY'], '*.py'),
    Path('/usr/lib').relative_to('/usr/bin', walk_up=True),
    Path('~').expanduser().is_absolute(),
)
print(
    os.path.normpath('/a//b/../c'),
    os.path.commonpath(['/a/b', '/a/c']),
    os.path.splitext('x.tar.gz'),
    Path('b').full_match('*'),
)
shutil.rmtree('not_there')
