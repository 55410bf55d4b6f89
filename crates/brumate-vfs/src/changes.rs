//! What a file system is more than the one it began as: forks of one image differ in few of their inodes.
//!
//! [`Vfs::begin_changes`] draws the line. [`Vfs::save_changes`] writes the inodes that may have changed since and everything
//! that is small; [`Vfs::continue_from`] makes of a file system at that line what was saved. As elsewhere in [`restore`],
//! nothing in saved state is believed: what is joined is checked as a whole by [`Vfs::reopen`].
//!
//! [`restore`]: super::restore

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Vfs;
use super::inode::{Inode, Inodes};
use super::marks::Marks;
use super::restore::RestoreError;

/// Inodes that differ, by place. Places beyond the base's are all among them, in order.
#[derive(Serialize, Deserialize)]
pub(super) struct InodeChanges<I> {
    pub(super) changed: Vec<(u32, Option<I>)>,
    free: Vec<u32>,
    last_ino: u64,
}

impl Inodes {
    fn changes(&self) -> InodeChanges<&Inode> {
        let present = |index: &u32| (*index as usize) < self.slots.len();
        let changed = self.changed.iter().filter(present);
        let changed = changed.map(|index| (index, self.slots[index as usize].as_deref())).collect();
        InodeChanges { changed, free: self.free.clone(), last_ino: self.last_ino }
    }

    fn apply(&mut self, changes: InodeChanges<Box<Inode>>) -> Result<(), RestoreError> {
        for (index, inode) in changes.changed {
            match (index as usize).cmp(&self.slots.len()) {
                Ordering::Less => self.slots[index as usize] = inode,
                Ordering::Equal => self.slots.push(inode),
                Ordering::Greater => return Err(RestoreError::Inconsistent("inode place")),
            }
            self.changed.set(index);
        }
        self.free = changes.free;
        self.last_ino = changes.last_ino;
        Ok(())
    }
}

/// A file system at one moment: the same one at another moment is unchanged if this is equal. Which inodes have changed is not
/// part of it, only whether any has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystemState {
    /// Everything but the inodes, saved.
    rest: Vec<u8>,
    /// How often an inode was asked for to be changed since the line.
    times: u64,
}

impl Vfs {
    /// Returns the present state, to be compared with others of the same process since the line was drawn.
    ///
    /// # Errors
    /// None in practice.
    pub fn state(&mut self) -> Result<FileSystemState, postcard::Error> {
        let times = self.inodes.changed.times();
        let rest = self.without_inodes(|_, rest| postcard::to_allocvec(rest))?;
        Ok(FileSystemState { rest, times })
    }

    /// What `read` makes of the inodes and of everything else, which is small.
    fn without_inodes<T>(&mut self, read: impl FnOnce(&Inodes, &Vfs) -> T) -> T {
        let inodes = std::mem::take(&mut self.inodes);
        let result = read(&inodes, self);
        self.inodes = inodes;
        result
    }

    /// Draws the line: what changes from here on is what [`Vfs::save_changes`] writes. The structure must hold.
    pub fn begin_changes(&mut self) {
        self.inodes.changed = Marks::default();
        self.line = Some(Arc::new(self.line()));
    }

    /// Whether no inode has changed since the line.
    pub fn is_unchanged(&self) -> bool {
        self.inodes.changed.is_empty()
    }

    /// Saves everything that may differ from what the file system was at the line.
    ///
    /// # Errors
    /// None in practice.
    pub fn save_changes(&mut self) -> Result<Vec<u8>, postcard::Error> {
        self.without_inodes(|inodes, rest| postcard::to_allocvec(&(inodes.changes(), rest)))
    }

    /// Restores what [`Vfs::save_changes`] wrote, on top of `base`, which is at the line. Layers and devices are to be attached.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn continue_from(base: Vfs, saved: &[u8]) -> Result<Vfs, RestoreError> {
        let damaged = |_| RestoreError::Inconsistent("encoding");
        let (changes, mut vfs): (InodeChanges<Box<Inode>>, Vfs) = postcard::from_bytes(saved).map_err(damaged)?;
        vfs.inodes = base.inodes;
        vfs.line = base.line;
        vfs.inodes.apply(changes)?;
        Ok(vfs)
    }
}
