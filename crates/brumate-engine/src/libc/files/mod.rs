//! Files: opening, naming and duplicating here, attributes in `attr`, the WASI calls on descriptors in `fdio`.
//!
//! One function per import, named as it is without `__syscall_`; they return what the import returns: `__syscall_*` a
//! value or a negated error number, WASI calls 0 or a positive error number.

mod attr;
mod fdio;
mod private;

pub(crate) use attr::*;
pub(crate) use fdio::*;

use brumate_abi::errno::{Errno, syscall, syscall_unit};
use brumate_abi::memory::GuestMemory;
use brumate_vfs::{OpenFlags, Vfs};

/// `fcntl` commands.
mod cmd {
    pub(super) const F_DUPFD: i32 = 0;
    pub(super) const F_GETFD: i32 = 1;
    pub(super) const F_SETFD: i32 = 2;
    pub(super) const F_GETFL: i32 = 3;
    pub(super) const F_SETFL: i32 = 4;
    pub(super) const F_GETLK: i32 = 12;
    pub(super) const F_SETLK: i32 = 13;
    pub(super) const F_SETLKW: i32 = 14;
    pub(super) const F_DUPFD_CLOEXEC: i32 = 1030;
}

/// `l_type` of a range locked for reading.
const F_RDLCK: i16 = 0;
/// `l_type` of a range locked for writing.
const F_WRLCK: i16 = 1;

const FD_CLOEXEC: u32 = 1;
/// `l_type` of an unlocked range.
const F_UNLCK: i16 = 2;
/// Bytes that can be read without waiting.
const FIONREAD: u32 = 0x541B;
/// Sets or clears `O_NONBLOCK`.
const FIONBIO: u32 = 0x5421;

/// `__syscall_openat`: the new descriptor.
pub(crate) fn openat(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, dirfd: i32, path_ptr: u32, flags: i32, va: u32) -> i32 {
    syscall((|| {
        let mode = mem.vararg(va)?;
        vfs.openat(dirfd, mem.path(path_ptr)?, OpenFlags(flags as u32), mode)
    })())
}

/// `__syscall_readlinkat`: the number of bytes written; no NUL is.
pub(crate) fn readlinkat(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    dirfd: i32,
    path_ptr: u32,
    buf: u32,
    size: i32,
) -> i32 {
    syscall((|| {
        if size <= 0 {
            return Err(Errno::EINVAL);
        }
        let target = vfs.readlinkat(dirfd, mem.path(path_ptr)?)?;
        let count = target.len().min(size as usize);
        mem.write(buf, &target[..count])?;
        Ok(count as i32)
    })())
}

/// `__syscall_symlinkat`.
pub(crate) fn symlinkat(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, target: u32, dirfd: i32, link: u32) -> i32 {
    syscall_unit((|| vfs.symlinkat(mem.path(target)?, dirfd, mem.path(link)?))())
}

/// `__syscall_unlinkat`.
pub(crate) fn unlinkat(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, dirfd: i32, path_ptr: u32, flags: i32) -> i32 {
    syscall_unit((|| vfs.unlinkat(dirfd, mem.path(path_ptr)?, flags as u32))())
}

/// `__syscall_renameat`.
pub(crate) fn renameat(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    old_dirfd: i32,
    old: u32,
    new_dirfd: i32,
    new: u32,
) -> i32 {
    syscall_unit((|| vfs.renameat(old_dirfd, mem.path(old)?, new_dirfd, mem.path(new)?))())
}

/// `__syscall_mknodat`: device files cannot be created here.
pub(crate) fn mknodat(
    _vfs: &mut Vfs,
    _mem: &mut GuestMemory<'_>,
    _dirfd: i32,
    _path: u32,
    _mode: u32,
    _dev: u32,
) -> i32 {
    Errno::EPERM.as_syscall()
}

/// `__syscall_ftruncate64`.
pub(crate) fn ftruncate64(vfs: &mut Vfs, fd: i32, length: i64) -> i32 {
    syscall_unit(vfs.ftruncate(fd, length))
}

/// `__syscall_truncate64`.
pub(crate) fn truncate64(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, path_ptr: u32, length: i64) -> i32 {
    syscall_unit((|| vfs.truncate(mem.path(path_ptr)?, length))())
}

/// `__syscall_fallocate`.
pub(crate) fn fallocate(vfs: &mut Vfs, fd: i32, mode: i32, offset: i64, length: i64) -> i32 {
    syscall_unit(vfs.fallocate(fd, mode, offset, length))
}

/// `__syscall_fadvise64`: the advice is ignored.
pub(crate) fn fadvise64(vfs: &mut Vfs, fd: i32, _offset: i64, _length: i64, _advice: i32) -> i32 {
    syscall_unit(vfs.check_open(fd).map(drop))
}

/// `__syscall_fdatasync`.
pub(crate) fn fdatasync(vfs: &mut Vfs, fd: i32) -> i32 {
    syscall_unit(vfs.fsync(fd))
}

/// `__syscall_dup`.
pub(crate) fn dup(vfs: &mut Vfs, fd: i32) -> i32 {
    syscall(vfs.dup(fd, 0, false))
}

/// `__syscall_dup3`. Equal descriptors are `EINVAL`; `dup2` handles them in libc.
pub(crate) fn dup3(vfs: &mut Vfs, old: i32, new: i32, flags: i32) -> i32 {
    let close_on_exec = flags as u32 == OpenFlags::CLOEXEC;
    if flags != 0 && !close_on_exec {
        return Errno::EINVAL.as_syscall();
    }
    syscall(vfs.dup3(old, new, close_on_exec))
}

/// `__syscall_pipe`: writes the two descriptors at `fds`.
pub(crate) fn pipe(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fds: u32) -> i32 {
    syscall_unit((|| {
        // Before the pipe exists, so that a bad address leaves no descriptors behind.
        mem.slice_mut(fds, 8)?;
        let (read_fd, write_fd) = vfs.pipe(OpenFlags(0))?;
        mem.write_i32(fds, read_fd)?;
        mem.write_i32(fds.wrapping_add(4), write_fd)
    })())
}

/// `__syscall_umask_js`: returns the previous mask.
pub(crate) fn umask_js(vfs: &mut Vfs, mask: i32) -> i32 {
    vfs.umask(mask as u32) as i32
}

/// `__syscall_fcntl64`. Locks of a process exclude nobody, because there is no other process; those of `flock` are
/// [`private::FLOCK`]. Unknown commands are `EINVAL`: success would be taken for descriptor 0.
pub(crate) fn fcntl64(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32, command: i32, va: u32) -> i32 {
    syscall((|| {
        let open = vfs.status_flags(fd)?;
        let argument = mem.vararg(va)?;
        if open.has(OpenFlags::PATH) && matches!(command, cmd::F_SETFL | cmd::F_GETLK | cmd::F_SETLK | cmd::F_SETLKW) {
            return Err(Errno::EBADF);
        }
        match command {
            cmd::F_DUPFD => vfs.dup(fd, argument as i32, false),
            cmd::F_DUPFD_CLOEXEC => vfs.dup(fd, argument as i32, true),
            cmd::F_GETFD => Ok(if vfs.close_on_exec(fd)? { FD_CLOEXEC as i32 } else { 0 }),
            cmd::F_SETFD => vfs.set_close_on_exec(fd, argument & FD_CLOEXEC != 0).map(|()| 0),
            cmd::F_GETFL => Ok(open.0 as i32),
            cmd::F_SETFL => vfs.set_status_flags(fd, OpenFlags(argument)).map(|()| 0),
            cmd::F_GETLK => mem.write_i16(argument, F_UNLCK).map(|()| 0),
            cmd::F_SETLK | cmd::F_SETLKW => match mem.read_u32(argument)? as u16 as i16 {
                F_RDLCK if !open.reads() => Err(Errno::EBADF),
                F_WRLCK if !open.writes() => Err(Errno::EBADF),
                F_RDLCK | F_WRLCK | F_UNLCK => Ok(0),
                _ => Err(Errno::EINVAL),
            },
            private::FLOCK => vfs.flock(fd, argument).map(|()| 0),
            _ => Err(Errno::EINVAL),
        }
    })())
}

/// `__syscall_ioctl`: nothing here is a terminal.
pub(crate) fn ioctl(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32, request: i32, va: u32) -> i32 {
    syscall_unit((|| {
        vfs.check_open(fd)?;
        match request as u32 {
            FIONREAD => {
                let count = vfs.readable_bytes(fd)?;
                mem.write_i32(mem.vararg(va)?, i32::try_from(count).unwrap_or(i32::MAX))
            }
            FIONBIO => {
                let bit = if mem.read_i32(mem.vararg(va)?)? == 0 { 0 } else { OpenFlags::NONBLOCK };
                let kept = vfs.status_flags(fd)?.0 & !OpenFlags::NONBLOCK;
                vfs.set_status_flags(fd, OpenFlags(kept | bit))
            }
            private::LINK => private::link(vfs, mem, mem.vararg(va)?),
            _ => Err(Errno::ENOTTY),
        }
    })())
}
