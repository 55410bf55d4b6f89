//! Attributes of files: the `stat`, `chmod`, `utimensat`, `access`, `chown` and `statfs` families.

use brumate_abi::errno::{Errno, syscall_unit};
use brumate_abi::memory::GuestMemory;
use brumate_vfs::{SetTime, Stat, StatFs, Timestamp, Vfs, at};

/// Size of `struct stat`.
pub(crate) const STAT_SIZE: usize = 96;
/// Size of `struct statfs`.
pub(crate) const STATFS_SIZE: usize = 88;

/// `tv_nsec` that means the present time.
const UTIME_NOW: i32 = 0x3fff_ffff;
/// `tv_nsec` that means no change.
const UTIME_OMIT: i32 = 0x3fff_fffe;
/// `f_flags` of a read-only file system.
const ST_RDONLY: u32 = 1;

/// A C structure under construction, little-endian.
struct Layout<const N: usize>([u8; N]);

impl<const N: usize> Layout<N> {
    fn u32(&mut self, offset: usize, value: u32) {
        self.0[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, offset: usize, value: u64) {
        self.0[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn time(&mut self, offset: usize, time: Timestamp) {
        self.u64(offset, time.secs as u64);
        self.u32(offset + 8, time.nanos);
    }
}

fn encode_stat(stat: &Stat) -> [u8; STAT_SIZE] {
    let mut out = Layout([0; STAT_SIZE]);
    out.u32(0, stat.dev as u32);
    out.u32(4, stat.mode);
    out.u32(8, stat.nlink);
    out.u32(20, stat.rdev as u32);
    out.u64(24, stat.size);
    out.u32(32, stat.block_size);
    out.u32(36, u32::try_from(stat.blocks).unwrap_or(i32::MAX as u32));
    out.time(40, stat.atime);
    out.time(56, stat.mtime);
    out.time(72, stat.ctime);
    out.u64(88, stat.ino);
    out.0
}

fn encode_statfs(stat: &StatFs) -> [u8; STATFS_SIZE] {
    let mut out = Layout([0; STATFS_SIZE]);
    out.u32(0, stat.magic);
    out.u32(4, stat.block_size);
    out.u64(8, stat.blocks);
    out.u64(16, stat.blocks_free);
    out.u64(24, stat.blocks_free);
    out.u64(32, stat.files);
    out.u64(40, stat.files_free);
    out.u64(48, stat.id);
    out.u32(56, stat.name_max);
    out.u32(60, stat.block_size);
    out.u32(64, if stat.read_only { ST_RDONLY } else { 0 });
    out.0
}

/// `__syscall_newfstatat`.
pub(crate) fn newfstatat(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    dirfd: i32,
    path_ptr: u32,
    buf: u32,
    flags: i32,
) -> i32 {
    syscall_unit((|| {
        let stat = vfs.fstatat(dirfd, mem.path(path_ptr)?, flags as u32)?;
        mem.write(buf, &encode_stat(&stat))
    })())
}

/// `__syscall_stat64`.
pub(crate) fn stat64(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, path_ptr: u32, buf: u32) -> i32 {
    newfstatat(vfs, mem, at::FDCWD, path_ptr, buf, 0)
}

/// `__syscall_lstat64`.
pub(crate) fn lstat64(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, path_ptr: u32, buf: u32) -> i32 {
    newfstatat(vfs, mem, at::FDCWD, path_ptr, buf, at::SYMLINK_NOFOLLOW as i32)
}

/// `__syscall_fstat64`.
pub(crate) fn fstat64(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32, buf: u32) -> i32 {
    syscall_unit((|| {
        let stat = vfs.fstat(fd)?;
        mem.write(buf, &encode_stat(&stat))
    })())
}

/// `__syscall_faccessat`.
pub(crate) fn faccessat(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, dirfd: i32, path: u32, mode: i32, flags: i32) -> i32 {
    syscall_unit((|| vfs.faccessat(dirfd, mem.path(path)?, mode as u32, flags as u32))())
}

/// `__syscall_chmod`.
pub(crate) fn chmod(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, path_ptr: u32, mode: i32) -> i32 {
    fchmodat2(vfs, mem, at::FDCWD, path_ptr, mode, 0)
}

/// `__syscall_fchmod`.
pub(crate) fn fchmod(vfs: &mut Vfs, fd: i32, mode: i32) -> i32 {
    syscall_unit(vfs.fchmod(fd, mode as u32))
}

/// `__syscall_fchmodat2`.
pub(crate) fn fchmodat2(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, dirfd: i32, path: u32, mode: i32, flags: i32) -> i32 {
    syscall_unit((|| vfs.fchmodat(dirfd, mem.path(path)?, mode as u32, flags as u32))())
}

/// `__syscall_fchown32`: there is one user, so nothing changes.
pub(crate) fn fchown32(vfs: &mut Vfs, fd: i32, _uid: i32, _gid: i32) -> i32 {
    syscall_unit(vfs.check_open(fd).map(drop))
}

/// `__syscall_fchownat`: there is one user, so nothing changes.
pub(crate) fn fchownat(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    dirfd: i32,
    path_ptr: u32,
    _uid: i32,
    _gid: i32,
    flags: i32,
) -> i32 {
    syscall_unit((|| vfs.fchownat(dirfd, mem.path(path_ptr)?, flags as u32))())
}

fn set_time(mem: &GuestMemory<'_>, ptr: u32) -> Result<SetTime, Errno> {
    let nanos_ptr = ptr.checked_add(8).ok_or(Errno::EFAULT)?;
    let secs = mem.read_i64(ptr)?;
    match mem.read_i32(nanos_ptr)? {
        UTIME_NOW => Ok(SetTime::Now),
        UTIME_OMIT => Ok(SetTime::Omit),
        nanos @ 0..1_000_000_000 => Ok(SetTime::To(Timestamp { secs, nanos: nanos as u32 })),
        _ => Err(Errno::EINVAL),
    }
}

/// `__syscall_utimensat`. `times` 0 means now, `path_ptr` 0 the descriptor itself.
pub(crate) fn utimensat(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    dirfd: i32,
    path_ptr: u32,
    times: u32,
    flags: i32,
) -> i32 {
    syscall_unit((|| {
        let (atime, mtime) = match times {
            0 => (SetTime::Now, SetTime::Now),
            times => (set_time(mem, times)?, set_time(mem, times.checked_add(16).ok_or(Errno::EFAULT)?)?),
        };
        match path_ptr {
            0 if flags != 0 => Err(Errno::EINVAL),
            0 => vfs.futimens(dirfd, atime, mtime),
            _ => vfs.utimensat(dirfd, mem.path(path_ptr)?, atime, mtime, flags as u32),
        }
    })())
}

fn check_statfs_size(size: i32) -> Result<(), Errno> {
    if size as usize == STATFS_SIZE { Ok(()) } else { Err(Errno::EINVAL) }
}

/// `__syscall_statfs64`.
pub(crate) fn statfs64(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, path_ptr: u32, size: i32, buf: u32) -> i32 {
    syscall_unit((|| {
        check_statfs_size(size)?;
        let stat = vfs.statfs(mem.path(path_ptr)?)?;
        mem.write(buf, &encode_statfs(&stat))
    })())
}

/// `__syscall_fstatfs64`.
pub(crate) fn fstatfs64(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32, size: i32, buf: u32) -> i32 {
    syscall_unit((|| {
        check_statfs_size(size)?;
        let stat = vfs.fstatfs(fd)?;
        mem.write(buf, &encode_statfs(&stat))
    })())
}
