//! File descriptors and the open file descriptions behind them.

use serde::{Deserialize, Serialize};

use super::Vfs;
use super::bytes::Bytes;
use super::flags::OpenFlags;
use super::host::{HostEntry, HostFile, HostId};
use super::inode::{InodeId, InodeKind};
use super::limits::OPEN_FILES_MAX;
use super::resolve::Node;
use brumate_abi::errno::Errno;

/// An open file description, which descriptors made by `dup` share. It keeps the file open, not the descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DescriptionId(pub u32);

/// What is open.
#[derive(Debug, Serialize, Deserialize)]
pub enum Target {
    Inode(InodeId),
    Host(HostTarget),
}

/// An open file or directory of the host.
#[derive(Debug, Serialize, Deserialize)]
pub struct HostTarget {
    pub host: HostId,
    pub path: Bytes,
    /// Not part of saved state: opened again by path when the state is restored.
    #[serde(skip)]
    pub file: Option<Box<dyn HostFile>>,
    pub is_directory: bool,
    /// The directory's entries as they were when the listing began.
    pub listing: Option<Vec<HostEntry>>,
}

/// An open file description.
#[derive(Debug, Serialize, Deserialize)]
pub struct Description {
    /// Descriptors and mappings that refer to it.
    pub references: u32,
    pub target: Target,
    pub flags: OpenFlags,
    /// Offset in a file; the last cookie returned in a directory.
    pub position: u64,
    /// In a directory, the cookie at which the listing ends. Entries made later are not listed; otherwise a program
    /// that renames the listed files would never finish.
    pub listing_end: u64,
}

impl Description {
    /// Entries kept of a host directory.
    pub fn listing_len(&self) -> usize {
        match &self.target {
            Target::Host(host) => host.listing.as_ref().map_or(0, Vec::len),
            Target::Inode(_) => 0,
        }
    }

    pub fn node(&self) -> Node {
        match &self.target {
            Target::Inode(id) => Node::Inode(*id),
            Target::Host(host) => Node::Host(host.host, host.path.clone()),
        }
    }
}

/// All open file descriptions.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Descriptions {
    slots: Vec<Option<Description>>,
}

impl Descriptions {
    pub fn get(&self, id: DescriptionId) -> Result<&Description, Errno> {
        self.slots.get(id.0 as usize).and_then(Option::as_ref).ok_or(Errno::EBADF)
    }

    pub fn get_mut(&mut self, id: DescriptionId) -> Result<&mut Description, Errno> {
        self.slots.get_mut(id.0 as usize).and_then(Option::as_mut).ok_or(Errno::EBADF)
    }

    /// The number of places is bounded by descriptors and mappings, which both are.
    pub fn insert(&mut self, description: Description) -> DescriptionId {
        let index = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[index] = Some(description);
        DescriptionId(index as u32)
    }

    fn remove(&mut self, id: DescriptionId) -> Option<Description> {
        self.slots.get_mut(id.0 as usize)?.take()
    }

    pub fn iter(&self) -> impl Iterator<Item = (DescriptionId, &Description)> {
        let numbered = self.slots.iter().enumerate();
        numbered.filter_map(|(index, slot)| Some((DescriptionId(index as u32), slot.as_ref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Description> {
        self.slots.iter_mut().flatten()
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct FdEntry {
    description: DescriptionId,
    close_on_exec: bool,
}

/// From descriptor numbers to descriptions.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FdTable {
    slots: Vec<Option<FdEntry>>,
}

impl FdTable {
    fn slot(&self, fd: i32) -> Result<&FdEntry, Errno> {
        let index = usize::try_from(fd).map_err(|_| Errno::EBADF)?;
        self.slots.get(index).and_then(Option::as_ref).ok_or(Errno::EBADF)
    }

    pub fn is_open(&self, fd: u32) -> bool {
        self.slots.get(fd as usize).is_some_and(Option::is_some)
    }

    /// Returns the open descriptors from `first` on, in order.
    pub fn open_from(&self, first: u32) -> impl Iterator<Item = u32> {
        (first..self.slots.len() as u32).filter(|&fd| self.is_open(fd))
    }

    /// Returns the lowest free descriptor not below `least`.
    pub fn lowest_free(&self, least: usize) -> Result<usize, Errno> {
        (least..OPEN_FILES_MAX).find(|&fd| self.slots.get(fd).is_none_or(Option::is_none)).ok_or(Errno::EMFILE)
    }

    fn set(&mut self, fd: usize, description: DescriptionId, close_on_exec: bool) {
        if fd >= self.slots.len() {
            self.slots.resize(fd + 1, None);
        }
        self.slots[fd] = Some(FdEntry { description, close_on_exec });
    }

    /// Returns the descriptions of all open descriptors.
    pub fn references(&self) -> impl Iterator<Item = DescriptionId> {
        self.slots.iter().flatten().map(|slot| slot.description)
    }

    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }
}

impl Vfs {
    /// Returns the description behind a descriptor.
    ///
    /// # Errors
    /// `EBADF` when it is not open.
    pub fn description_of(&self, fd: i32) -> Result<DescriptionId, Errno> {
        Ok(self.fds.slot(fd)?.description)
    }

    pub(super) fn description_at(&self, fd: i32) -> Result<&Description, Errno> {
        self.descriptions.get(self.description_of(fd)?)
    }

    /// A descriptor that was not opened with `O_PATH`, which most calls refuse.
    pub(super) fn usable(&self, fd: i32) -> Result<DescriptionId, Errno> {
        let id = self.description_of(fd)?;
        if self.descriptions.get(id)?.flags.has(OpenFlags::PATH) { Err(Errno::EBADF) } else { Ok(id) }
    }

    /// Makes a description and gives it the descriptor, which the caller has found free.
    pub(super) fn install(&mut self, fd: usize, target: Target, flags: OpenFlags) -> Result<i32, Errno> {
        if let Target::Inode(id) = target {
            self.pin(id)?;
            if let InodeKind::Pipe(pipe) = &mut self.inodes.get_mut(id)?.kind {
                pipe.readers += u32::from(flags.reads());
                pipe.writers += u32::from(flags.writes());
            }
        }
        let description =
            Description { references: 1, target, flags: OpenFlags(flags.status()), position: 0, listing_end: 0 };
        let id = self.descriptions.insert(description);
        self.fds.set(fd, id, flags.has(OpenFlags::CLOEXEC));
        Ok(fd as i32)
    }

    /// Adds a reference to a description (a mapping's).
    pub(super) fn retain(&mut self, id: DescriptionId) -> Result<(), Errno> {
        let description = self.descriptions.get_mut(id)?;
        description.references = description.references.checked_add(1).ok_or(Errno::ENFILE)?;
        Ok(())
    }

    /// Drops a reference to a description and closes what it has open with the last one.
    pub(super) fn release(&mut self, id: DescriptionId) {
        let Ok(description) = self.descriptions.get_mut(id) else {
            return;
        };
        description.references = description.references.saturating_sub(1);
        if description.references > 0 {
            return;
        }
        let Some(gone) = self.descriptions.remove(id) else {
            return;
        };
        if let Target::Inode(inode) = gone.target {
            match self.inodes.get_mut(inode).map(|open| &mut open.kind) {
                Ok(InodeKind::Pipe(pipe)) => {
                    pipe.readers -= u32::from(gone.flags.reads()).min(pipe.readers);
                    pipe.writers -= u32::from(gone.flags.writes()).min(pipe.writers);
                }
                Ok(InodeKind::Socket(socket)) if !gone.flags.has(OpenFlags::PATH) => self.sockets.close(*socket),
                _ => {}
            }
            self.unpin(inode);
        }
    }

    /// Closes a descriptor.
    ///
    /// # Errors
    /// `EBADF` when it is not open.
    pub fn close(&mut self, fd: i32) -> Result<(), Errno> {
        let description = self.fds.slot(fd)?.description;
        self.fds.slots[fd as usize] = None;
        self.release(description);
        Ok(())
    }

    /// Duplicates onto the lowest free descriptor not below `least` (`dup`, `F_DUPFD`, `F_DUPFD_CLOEXEC`).
    ///
    /// # Errors
    /// `EBADF`; `EINVAL` when `least` is not a possible descriptor; `EMFILE` when none is free.
    pub fn dup(&mut self, fd: i32, least: i32, close_on_exec: bool) -> Result<i32, Errno> {
        let description = self.fds.slot(fd)?.description;
        let least = usize::try_from(least).ok().filter(|&least| least < OPEN_FILES_MAX).ok_or(Errno::EINVAL)?;
        let free = self.fds.lowest_free(least)?;
        self.retain(description)?;
        self.fds.set(free, description, close_on_exec);
        Ok(free as i32)
    }

    /// Duplicates onto a given descriptor, closing what it was (`dup3`).
    ///
    /// # Errors
    /// `EINVAL` when both are equal, `EBADF` when `old` is not open or `new` not a possible descriptor.
    pub fn dup3(&mut self, old: i32, new: i32, close_on_exec: bool) -> Result<i32, Errno> {
        if old == new {
            return Err(Errno::EINVAL);
        }
        let target = usize::try_from(new).ok().filter(|&new| new < OPEN_FILES_MAX).ok_or(Errno::EBADF)?;
        let description = self.fds.slot(old)?.description;
        self.retain(description)?;
        if self.fds.is_open(target as u32) {
            self.close(new)?;
        }
        self.fds.set(target, description, close_on_exec);
        Ok(new)
    }

    /// Whether the descriptor is closed on exec (`F_GETFD`).
    ///
    /// # Errors
    /// `EBADF`.
    pub fn close_on_exec(&self, fd: i32) -> Result<bool, Errno> {
        Ok(self.fds.slot(fd)?.close_on_exec)
    }

    /// Sets whether the descriptor is closed on exec (`F_SETFD`).
    ///
    /// # Errors
    /// `EBADF`.
    pub fn set_close_on_exec(&mut self, fd: i32, close_on_exec: bool) -> Result<(), Errno> {
        self.fds.slot(fd)?;
        if let Some(slot) = self.fds.slots[fd as usize].as_mut() {
            slot.close_on_exec = close_on_exec;
        }
        Ok(())
    }

    /// Flags of the open file (`F_GETFL`).
    ///
    /// # Errors
    /// `EBADF`.
    pub fn status_flags(&self, fd: i32) -> Result<OpenFlags, Errno> {
        Ok(OpenFlags(self.description_at(fd)?.flags.status()))
    }

    /// Whether calls on an open descriptor wait: `O_NONBLOCK` is not set.
    pub fn blocks(&self, fd: i32) -> bool {
        self.status_flags(fd).is_ok_and(|flags| !flags.has(OpenFlags::NONBLOCK))
    }

    /// Replaces `O_APPEND` and `O_NONBLOCK` (`F_SETFL`); other bits are ignored, as on Linux.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn set_status_flags(&mut self, fd: i32, flags: OpenFlags) -> Result<(), Errno> {
        let id = self.usable(fd)?;
        let description = self.descriptions.get_mut(id)?;
        let kept = description.flags.0 & !OpenFlags::SETTABLE;
        description.flags = OpenFlags(kept | (flags.0 & OpenFlags::SETTABLE));
        Ok(())
    }

    /// What `readlink("/proc/self/fd/N")` shows.
    pub(super) fn describe_fd(&mut self, fd: i32) -> Result<Vec<u8>, Errno> {
        let node = self.description_at(fd)?.node();
        match node {
            Node::Inode(id) => match &self.inodes.get(id)?.kind {
                InodeKind::Pipe(_) => Ok(format!("pipe:[{}]", self.inodes.get(id)?.ino).into_bytes()),
                InodeKind::Socket(_) => Ok(format!("socket:[{}]", self.inodes.get(id)?.ino).into_bytes()),
                InodeKind::Device(device) => {
                    let record = self.device_records.get(device.0 as usize).ok_or(Errno::ESTALE)?;
                    Ok(record.name.to_vec())
                }
                _ => self.path_of(id),
            },
            _ => self.path_of_node(&node),
        }
    }
}
