//! Locks of open files (`flock`).
//!
//! A lock belongs to the open file description: descriptors made by `dup` share it, two openings of one file do not. It
//! is gone with the last descriptor, and stays when the session is hibernated. Locks that belong to a process (`lockf`,
//! `F_SETLK`) never exclude anything here, since there is one process.

use super::Vfs;
use super::fds::{DescriptionId, Target};
use super::flags::OpenFlags;
use brumate_abi::errno::Errno;

/// Operations of `flock(2)`.
pub mod operation {
    /// Several may have it.
    pub const SHARED: u32 = 1;
    /// One alone may have it.
    pub const EXCLUSIVE: u32 = 2;
    /// Never wait.
    pub const NONBLOCK: u32 = 4;
    /// Give the lock back.
    pub const UNLOCK: u32 = 8;
}

impl Vfs {
    /// Locks the open file, changes its lock, or unlocks it. As on Linux, a change that fails loses the lock.
    ///
    /// # Errors
    /// `EBADF`, `EINVAL`; `EAGAIN` if another open file has a lock that excludes this one. Without `NONBLOCK` it is
    /// `EDEADLK`: nobody else runs who could give the lock back, so waiting would never end.
    pub fn flock(&mut self, fd: i32, operation: u32) -> Result<(), Errno> {
        let id = self.usable(fd)?;
        let wanted = match operation & !operation::NONBLOCK {
            operation::SHARED => OpenFlags::LOCKED_SHARED,
            operation::EXCLUSIVE => OpenFlags::LOCKED_EXCLUSIVE,
            operation::UNLOCK => 0,
            _ => return Err(Errno::EINVAL),
        };
        let flags = &mut self.descriptions.get_mut(id)?.flags.0;
        if *flags & OpenFlags::LOCKS == wanted {
            return Ok(());
        }
        *flags &= !OpenFlags::LOCKS;
        if self.is_excluded(id, wanted)? {
            let waits = operation & operation::NONBLOCK == 0;
            return Err(if waits { Errno::EDEADLK } else { Errno::EAGAIN });
        }
        self.descriptions.get_mut(id)?.flags.0 |= wanted;
        Ok(())
    }

    /// Whether another open file has a lock on the same file that excludes `wanted`.
    fn is_excluded(&self, id: DescriptionId, wanted: u32) -> Result<bool, Errno> {
        let own = &self.descriptions.get(id)?.target;
        let excluding = match wanted {
            OpenFlags::LOCKED_EXCLUSIVE => OpenFlags::LOCKS,
            OpenFlags::LOCKED_SHARED => OpenFlags::LOCKED_EXCLUSIVE,
            _ => 0,
        };
        let mut others = self.descriptions.iter().filter(|(other, _)| *other != id);
        Ok(others.any(|(_, other)| other.flags.0 & excluding != 0 && is_same(own, &other.target)))
    }
}

/// Whether two open files are one file. A file of the host is known by its path.
fn is_same(one: &Target, other: &Target) -> bool {
    match (one, other) {
        (Target::Inode(one), Target::Inode(other)) => one == other,
        (Target::Host(one), Target::Host(other)) => one.host == other.host && one.path == other.path,
        _ => false,
    }
}
