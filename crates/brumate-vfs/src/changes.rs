//! The difference between a file system and the one it started from: forks of one image differ in few of their inodes.
//!
//! [`Vfs::begin_changes`] sets the baseline. [`Vfs::save_changes`] writes the inodes that may have changed since and
//! everything that is small; [`Vfs::continue_from`] applies the saved changes to a file system at that baseline. As
//! elsewhere in [`restore`], saved state is not trusted: the result is checked as a whole by [`Vfs::reopen`].
//!
//! [`restore`]: super::restore

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Vfs;
use super::inode::{Inode, Inodes};
use super::marks::Marks;
use super::restore::RestoreError;

/// Inodes that differ, by slot. Slots beyond the base's are all included, in order.
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

/// State of a file system at one moment. If two states are equal, the file system has not changed between them. The
/// state records whether inodes have changed, not which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystemState {
    /// Everything but the inodes, saved.
    rest: Vec<u8>,
    /// How often an inode was accessed mutably since the baseline.
    times: u64,
}

impl Vfs {
    /// Returns the current state, to compare with other states of the same process since the baseline was set.
    ///
    /// # Errors
    /// None in practice.
    pub fn state(&mut self) -> Result<FileSystemState, postcard::Error> {
        let times = self.inodes.changed.times();
        let rest = self.without_inodes(|_, rest| postcard::to_allocvec(rest))?;
        Ok(FileSystemState { rest, times })
    }

    /// Calls `read` with the inodes and with everything else, which is small.
    fn without_inodes<T>(&mut self, read: impl FnOnce(&Inodes, &Vfs) -> T) -> T {
        let inodes = std::mem::take(&mut self.inodes);
        let result = read(&inodes, self);
        self.inodes = inodes;
        result
    }

    /// Sets the baseline: [`Vfs::save_changes`] writes the changes after this. The file system must be consistent.
    pub fn begin_changes(&mut self) {
        self.inodes.changed = Marks::default();
        self.baseline = Some(Arc::new(self.baseline()));
    }

    /// Whether no inode has changed since the baseline.
    pub fn is_unchanged(&self) -> bool {
        self.inodes.changed.is_empty()
    }

    /// Saves everything that may differ from the file system at the baseline.
    ///
    /// # Errors
    /// None in practice.
    pub fn save_changes(&mut self) -> Result<Vec<u8>, postcard::Error> {
        self.without_inodes(|inodes, rest| postcard::to_allocvec(&(inodes.changes(), rest)))
    }

    /// Restores what [`Vfs::save_changes`] wrote, on top of `base`, which is at the baseline. Layers and devices must
    /// be attached afterwards.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn continue_from(base: Vfs, saved: &[u8]) -> Result<Vfs, RestoreError> {
        let damaged = |_| RestoreError::Inconsistent("encoding");
        let (changes, mut vfs): (InodeChanges<Box<Inode>>, Vfs) = postcard::from_bytes(saved).map_err(damaged)?;
        vfs.inodes = base.inodes;
        vfs.baseline = base.baseline;
        vfs.inodes.apply(changes)?;
        Ok(vfs)
    }
}
