import errno
import os
import stat
from pathlib import Path

Path('original.txt').write_text('hello\n')
os.link('original.txt', 'hard.txt')
os.symlink('original.txt', 'soft.txt')
os.symlink('nowhere', 'dangling')
print(os.stat('original.txt').st_nlink, os.path.samefile('hard.txt', 'soft.txt'), os.readlink('soft.txt'))
print(
    os.path.islink('dangling'), os.path.exists('dangling'), os.path.lexists('dangling'), Path('soft.txt').resolve().name
)
os.utime('original.txt', (1_000_000_000, 1_234_567_890.5))
print(os.stat('hard.txt').st_mtime, os.stat('original.txt').st_atime, os.lstat('dangling').st_size)
os.utime('original.txt', ns=(1, 1_700_000_000_123_456_789))
print(os.stat('original.txt').st_mtime_ns)
for mode in (0o644, 0o4755, 0o000, 0o1777):
    os.chmod('original.txt', mode)
    print(stat.filemode(os.stat('original.txt').st_mode), end=' ')
print()
os.mkfifo('pipe')
os.mkdir('folder', 0o750)
print([(e.name, e.is_file(), e.is_dir(), e.is_symlink()) for e in sorted(os.scandir(), key=lambda e: e.name)])
print(stat.S_ISFIFO(os.stat('pipe').st_mode), stat.filemode(os.stat('folder').st_mode), os.path.getsize('original.txt'))
fd = os.open('low.bin', os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
print(
    os.write(fd, b'0123456789'), os.lseek(fd, -4, os.SEEK_END), os.read(fd, 2), os.pread(fd, 3, 1), os.fstat(fd).st_size
)
os.ftruncate(fd, 4)
os.pwrite(fd, b'zz', 6)
os.fsync(fd)
print(os.pread(fd, 20, 0), os.get_inheritable(fd), os.dup(fd) > fd)
os.close(fd)
os.truncate('low.bin', 2)
print(Path('low.bin').read_bytes(), os.statvfs('.').f_namemax, os.pathconf('.', 'PC_NAME_MAX'), os.listdir('folder'))
os.symlink('loop_b', 'loop_a')
os.symlink('loop_a', 'loop_b')
for action in (
    lambda: open('loop_a'),
    lambda: os.read(fd, 1),
    lambda: os.open('low.bin', os.O_CREAT | os.O_EXCL),
    lambda: open('x' * 300, 'w'),
    lambda: os.rmdir('original.txt'),
    lambda: os.link('missing', 'z'),
    lambda: os.listdir('original.txt'),
    lambda: open('a\0b'),
    lambda: os.mkdir('a/b/c'),
):
    try:
        action()
    except (OSError, ValueError) as e:
        print(type(e).__name__, errno.errorcode.get(getattr(e, 'errno', 0), '-'), str(e)[:60])
os.replace('folder', 'low.bin')
