//! Reading and writing descriptors: the `wasi_snapshot_preview1.fd_*` imports. They return positive error numbers.

use brumate_abi::errno::{Errno, wasi};
use brumate_abi::memory::GuestMemory;
use brumate_vfs::{FileType, OpenFlags, Vfs, Whence};

/// Buffers one call may have (`IOV_MAX` on Linux).
pub(crate) const IOV_MAX: i32 = 1024;
/// Bytes one call moves at most, as on Linux.
pub(crate) const TRANSFER_MAX: u32 = 0x7fff_f000;

/// Moves bytes between one guest buffer and the file. Arguments: bytes moved before, address and length of the buffer.
type Transfer<'a> = dyn FnMut(&mut GuestMemory<'_>, u32, u32, u32) -> Result<usize, Errno> + 'a;

/// Moves bytes for each buffer and stops at the first that is not used up. An error after some bytes is not reported;
/// the next call finds it again.
fn each_buffer(
    mem: &mut GuestMemory<'_>,
    iov: u32,
    count: i32,
    out: u32,
    transfer: &mut Transfer<'_>,
) -> Result<(), Errno> {
    if !(0..=IOV_MAX).contains(&count) {
        return Err(Errno::EINVAL);
    }
    mem.slice(out, 4)?;
    mem.slice(iov, count as u32 * 8)?;
    let mut total = 0u32;
    if count == 0 {
        transfer(mem, 0, 0, 0)?;
    }
    for index in 0..count as u32 {
        let base = mem.read_u32(iov + index * 8)?;
        let wanted = mem.read_u32(iov + index * 8 + 4)?;
        let length = wanted.min(TRANSFER_MAX - total);
        match transfer(mem, total, base, length) {
            Ok(moved) => {
                total += (moved as u32).min(length);
                if moved < wanted as usize {
                    break;
                }
            }
            Err(_) if total > 0 => break,
            Err(errno) => return Err(errno),
        }
    }
    mem.write_u32(out, total)
}

/// Returns address and length of the rest of the buffer that `done` bytes of the list end in. `None` after the last one.
pub(crate) fn buffer_at(mem: &GuestMemory<'_>, iov: u32, count: i32, mut done: u32) -> Option<(u32, u32)> {
    for index in 0..u32::try_from(count).ok()? {
        let base = mem.read_u32(iov.wrapping_add(index * 8)).ok()?;
        let length = mem.read_u32(iov.wrapping_add(index * 8 + 4)).ok()?;
        match length.checked_sub(done) {
            Some(rest) if rest > 0 => return Some((base.wrapping_add(done), rest.min(TRANSFER_MAX))),
            _ => done = done.saturating_sub(length),
        }
    }
    None
}

/// `fd_read`.
pub(crate) fn fd_read(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32, iov: u32, count: i32, out: u32) -> i32 {
    wasi(each_buffer(mem, iov, count, out, &mut |mem, _, base, length| vfs.read(fd, mem.slice_mut(base, length)?)))
}

/// `fd_write`.
pub(crate) fn fd_write(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32, iov: u32, count: i32, out: u32) -> i32 {
    wasi(each_buffer(mem, iov, count, out, &mut |mem, _, base, length| vfs.write(fd, mem.slice(base, length)?)))
}

/// Defines a call that moves bytes at an offset of its own.
macro_rules! at_offset {
    ($(#[$doc:meta])* $name:ident, $method:ident, $slice:ident) => {
        $(#[$doc])*
        pub(crate) fn $name(
            vfs: &mut Vfs,
            mem: &mut GuestMemory<'_>,
            fd: i32,
            iov: u32,
            count: i32,
            offset: i64,
            out: u32,
        ) -> i32 {
            wasi(each_buffer(mem, iov, count, out, &mut |mem, done, base, length| {
                let at = offset.checked_add(i64::from(done)).ok_or(Errno::EINVAL)?;
                vfs.$method(fd, at, mem.$slice(base, length)?)
            }))
        }
    };
}

at_offset!(
    /// `fd_pread`.
    fd_pread,
    pread,
    slice_mut
);
at_offset!(
    /// `fd_pwrite`.
    fd_pwrite,
    pwrite,
    slice
);

/// `fd_seek`: writes the new position (i64) at `out`.
pub(crate) fn fd_seek(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32, offset: i64, whence: i32, out: u32) -> i32 {
    wasi((|| {
        mem.slice(out, 8)?;
        let whence = match whence {
            0 => Whence::Set,
            1 => Whence::Current,
            2 => Whence::End,
            3 => Whence::Data,
            4 => Whence::Hole,
            _ => return Err(Errno::EINVAL),
        };
        let position = vfs.seek(fd, offset, whence)?;
        mem.write_u64(out, position)
    })())
}

/// `fd_close`.
pub(crate) fn fd_close(vfs: &mut Vfs, fd: i32) -> i32 {
    wasi(vfs.close(fd))
}

/// `fd_sync`.
pub(crate) fn fd_sync(vfs: &mut Vfs, fd: i32) -> i32 {
    wasi(vfs.fsync(fd))
}

/// `fd_fdstat_get`. The type is never 2, character device: libc's `isatty` is exactly that comparison, and nothing
/// here is a terminal.
pub(crate) fn fd_fdstat_get(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32, buf: u32) -> i32 {
    wasi((|| {
        let flags = vfs.status_flags(fd)?;
        let file_type = match vfs.file_type(fd)? {
            FileType::Directory => 3,
            FileType::Regular => 4,
            FileType::Fifo | FileType::Socket => 6,
            FileType::Symlink => 7,
            FileType::Character => 0,
        };
        let append = u16::from(flags.has(OpenFlags::APPEND));
        let nonblock = u16::from(flags.has(OpenFlags::NONBLOCK)) << 2;
        let mut out = [0; 24];
        out[0] = file_type;
        out[2..4].copy_from_slice(&(append | nonblock).to_le_bytes());
        // Rights are not enforced; all are set.
        out[8..24].fill(0xff);
        mem.write(buf, &out)
    })())
}
