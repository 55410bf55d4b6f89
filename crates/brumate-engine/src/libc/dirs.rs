//! Directories: making, entering and listing them.

use brumate_abi::errno::{Errno, syscall, syscall_unit};
use brumate_abi::memory::GuestMemory;
use brumate_vfs::{Vfs, at};

/// Offset of `d_name` in `struct dirent`.
const DIRENT_NAME: usize = 19;

/// `__syscall_getcwd`: the length of the path and its NUL.
pub(crate) fn getcwd(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, buf: u32, size: i32) -> i32 {
    syscall((|| {
        if size == 0 {
            return Err(Errno::EINVAL);
        }
        let mut path = vfs.getcwd()?;
        path.push(0);
        if path.len() > size as u32 as usize {
            return Err(Errno::ERANGE);
        }
        mem.write(buf, &path)?;
        Ok(path.len() as i32)
    })())
}

/// `__syscall_chdir`.
pub(crate) fn chdir(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, path_ptr: u32) -> i32 {
    syscall_unit((|| vfs.chdir(mem.path(path_ptr)?))())
}

/// `__syscall_fchdir`.
pub(crate) fn fchdir(vfs: &mut Vfs, fd: i32) -> i32 {
    syscall_unit(vfs.fchdir(fd))
}

/// `__syscall_mkdirat`.
pub(crate) fn mkdirat(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, dirfd: i32, path_ptr: u32, mode: i32) -> i32 {
    syscall_unit((|| vfs.mkdirat(dirfd, mem.path(path_ptr)?, mode as u32))())
}

/// `__syscall_rmdir`.
pub(crate) fn rmdir(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, path_ptr: u32) -> i32 {
    syscall_unit((|| vfs.unlinkat(at::FDCWD, mem.path(path_ptr)?, at::REMOVEDIR))())
}

/// `__syscall_getdents64`: the bytes written, 0 at the end. Records are as long as their name needs.
pub(crate) fn getdents64(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32, buf: u32, size: i32) -> i32 {
    syscall((|| {
        let size = u32::try_from(size).map_err(|_| Errno::EINVAL)?;
        let out = mem.slice_mut(buf, size)?;
        let mut used = 0;
        let mut stopped = false;
        vfs.read_directory(fd, &mut |entry| {
            let length = (DIRENT_NAME + entry.name.len() + 1).next_multiple_of(8);
            let Some(record) = out.get_mut(used..used + length) else {
                stopped = true;
                return false;
            };
            record.fill(0);
            record[0..8].copy_from_slice(&entry.ino.to_le_bytes());
            record[8..16].copy_from_slice(&entry.cookie.to_le_bytes());
            record[16..18].copy_from_slice(&(length as u16).to_le_bytes());
            record[18] = entry.file_type.dirent();
            record[DIRENT_NAME..DIRENT_NAME + entry.name.len()].copy_from_slice(entry.name);
            used += length;
            true
        })?;
        // Nothing written although there is more: the buffer cannot hold one record.
        if used == 0 && stopped { Err(Errno::EINVAL) } else { Ok(used as i32) }
    })())
}
