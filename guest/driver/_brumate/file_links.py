"""`os.link` and `fcntl.flock`, which the interpreter was built without: the host does both."""

from .pristine import __builtins__

import fcntl
import os
import struct
import sys

from . import channel

# Numbers of `brumate-engine`'s `libc/files/private.rs`.
_FLOCK, _LINK = 0x42720001, 0x42720002
_AT_FDCWD, _AT_SYMLINK_FOLLOW = -100, 0x400

_fcntl, _ioctl = fcntl.fcntl, fcntl.ioctl


def link(src, dst, *, src_dir_fd=None, dst_dir_fd=None, follow_symlinks=True):
    """Create a hard link to a file."""
    src, dst = os.fspath(src), os.fspath(dst)
    old, new = os.fsencode(src), os.fsencode(dst)
    if b"\0" in old or b"\0" in new:
        raise ValueError("embedded null byte")
    sys.audit("os.link", src, dst, -1 if src_dir_fd is None else src_dir_fd, -1 if dst_dir_fd is None else dst_dir_fd)
    # CPython on Linux calls link(2) without these arguments, and that follows no symbolic link.
    is_linkat = src_dir_fd is not None or dst_dir_fd is not None or not follow_symlinks
    flags = _AT_SYMLINK_FOLLOW if is_linkat and follow_symlinks else 0
    directories = [_AT_FDCWD if fd is None else fd.__index__() for fd in (src_dir_fd, dst_dir_fd)]
    block = bytearray(struct.pack("=iiIII", *directories, flags, len(old), len(new)) + old + new)
    try:
        _ioctl(channel.descriptor(), _LINK, block)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, src, None, dst) from None


def hardlink_to(self, target):
    """
    Make this path a hard link pointing to the same file as *target*.

    Note the order of arguments (self, target) is the reverse of os.link's.
    """
    os.link(target, self)


def flock(fd, operation, /):
    """Perform the lock operation `operation` on file descriptor `fd`.

    A lock belongs to what `open` returned. One that another opening of the file excludes is refused: with LOCK_NB by
    BlockingIOError, without it by OSError (EDEADLK), for nothing runs meanwhile that could give it back.
    """
    if not isinstance(fd, int):
        method = getattr(fd, "fileno", None)
        if method is None:
            raise TypeError("argument must be an int, or have a fileno() method.")
        fd = method()
    sys.audit("fcntl.flock", fd, operation)
    _fcntl(fd, _FLOCK, operation)


def install():
    """Puts both into their modules."""
    if sys.platform != "emscripten":
        return
    import posix

    link.__module__ = "posix"
    os.link = posix.link = link
    if "pathlib" in sys.modules:
        # It has asked before `os.link` was there.
        sys.modules["pathlib"].Path.hardlink_to = hardlink_to
    os.supports_dir_fd.add(link)
    os.supports_follow_symlinks.add(link)
    flock.__module__ = "fcntl"
    fcntl.flock = flock
