//! Anonymous pipes within the guest.
//!
//! The file system never waits. Where Linux would block, `EAGAIN` is returned, and the caller waits if another thread of the guest can help.

use super::Vfs;
use super::fds::Target;
use super::flags::OpenFlags;
use super::inode::{InodeKind, MountId, Pipe};
use super::limits::{PIPE_BUF, PIPE_CAPACITY};
use brumate_abi::errno::Errno;

impl Pipe {
    pub(super) fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        if buf.is_empty() {
            return Ok(0);
        }
        if self.buffer.is_empty() {
            return if self.writers == 0 { Ok(0) } else { Err(Errno::EAGAIN) };
        }
        let count = buf.len().min(self.buffer.len());
        for (out, byte) in buf.iter_mut().zip(self.buffer.drain(..count)) {
            *out = byte;
        }
        Ok(count)
    }

    pub(super) fn write(&mut self, data: &[u8]) -> Result<usize, Errno> {
        if self.readers == 0 {
            return Err(Errno::EPIPE);
        }
        let room = PIPE_CAPACITY.saturating_sub(self.buffer.len());
        if room == 0 || (data.len() <= PIPE_BUF && room < data.len()) {
            return Err(Errno::EAGAIN);
        }
        let count = data.len().min(room);
        self.buffer.extend(&data[..count]);
        Ok(count)
    }
}

impl Vfs {
    /// Makes a pipe; returns the reading and the writing descriptor. Of `flags`, `O_CLOEXEC` and `O_NONBLOCK` count.
    ///
    /// # Errors
    /// `EMFILE` when there are not two free descriptors.
    pub fn pipe(&mut self, flags: OpenFlags) -> Result<(i32, i32), Errno> {
        let read_fd = self.fds.lowest_free(0)?;
        let write_fd = self.fds.lowest_free(read_fd + 1)?;
        let kept = flags.0 & (OpenFlags::CLOEXEC | OpenFlags::NONBLOCK);
        let id = self.allocate(MountId(0), InodeKind::Pipe(Pipe::default()), 0o600, false)?;
        let read_fd = self.install(read_fd, Target::Inode(id), OpenFlags(OpenFlags::RDONLY | kept))?;
        let write_fd = self.install(write_fd, Target::Inode(id), OpenFlags(OpenFlags::WRONLY | kept))?;
        Ok((read_fd, write_fd))
    }
}
