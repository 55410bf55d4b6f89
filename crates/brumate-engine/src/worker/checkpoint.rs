//! A machine's checkpoint: the paused fork that replaces the machine when it ends.
//!
//! After a cell that changed only some pages of the linear memory, the machine updates the checkpoint: it copies those
//! pages to a shared file in memory, and the checkpoint reads them when it is resumed. After any other cell the machine
//! forks the checkpoint again.

use std::fs::File;
use std::os::fd::OwnedFd;

use super::Worker;
use super::hot_pages::learns_after;
use super::increment::{Increments, MAX_PAGES, TornIncrement};
use super::written::Written;
use crate::interpreter::NonMemoryState;
use crate::wire::{MachineMessage, WireError};

/// Largest growth of an increment over the first one after a fork, in pages. A fork costs as much as copying some
/// thousand pages; small cells grow by one or two pages each, so they fork once in about a hundred cells.
const MAX_GROWTH: usize = 160;

/// Shared file with the pages that changed after the fork, and the page map that finds them.
#[derive(Debug)]
pub(super) struct CheckpointUpdates {
    increments: Increments,
    /// The page map. `None` in a checkpoint.
    written: Option<Written>,
}

impl CheckpointUpdates {
    /// Takes the descriptors from the server. Returns `None` if one is missing.
    pub(super) fn new(fds: impl IntoIterator<Item = OwnedFd>) -> Option<CheckpointUpdates> {
        let mut files = fds.into_iter().map(File::from);
        let increments = Increments::new(files.next()?);
        Some(CheckpointUpdates { increments, written: Some(Written::new(files.next()?)) })
    }

    /// Drops the page map in a new checkpoint: it is the page map of another process.
    pub(super) fn inherited(&mut self) {
        self.written = None;
    }

    /// Prepares the machine for checkpoint `fork`, before the fork.
    pub(super) fn begin(&mut self, fork: u64) -> std::io::Result<()> {
        if let Some(written) = &mut self.written {
            written.forget();
        }
        self.increments.reset(fork)
    }
}

/// State of the machine when it forked its checkpoint.
#[derive(Debug)]
pub(super) struct CheckpointBase {
    non_memory_state: NonMemoryState,
    /// Pages of the first increment, or the number of pages that cells usually write if that is larger.
    first: Option<usize>,
}

impl CheckpointBase {
    pub(super) fn new(non_memory_state: NonMemoryState) -> CheckpointBase {
        CheckpointBase { non_memory_state, first: None }
    }
}

impl Worker {
    /// Updates the checkpoint after a cell, or forks it again.
    pub(super) fn update_checkpoint(&mut self) -> Result<(), WireError> {
        if self.write_increment() {
            return self.channel.send(&MachineMessage::CheckpointUpdated);
        }
        self.learn();
        match self.next_checkpoint_socket.take() {
            Some(socket) => self.fork(socket, true, false),
            None => self.channel.send(&MachineMessage::Forked(Some("there is no socket for it".to_owned()))),
        }
    }

    /// Tries an incremental update. Returns `false` if a new fork is needed.
    fn write_increment(&mut self) -> bool {
        let (Some(base), Some(updates)) = (&mut self.checkpoint_base, &mut self.checkpoint_updates) else {
            return false;
        };
        if self.machine.non_memory_state().as_ref() != Some(&base.non_memory_state) {
            return false;
        }
        let memory = self.machine.memory_mut();
        let Some(pages) = updates.written.as_mut().and_then(|written| written.pages(memory)) else { return false };
        // The next cell may start before all of these pages are prefaulted. They do not count as growth.
        let usual = self.base.pages.later.len() + self.hot.pages_of_guest();
        let first = *base.first.get_or_insert(pages.len().max(usual));
        if pages.len() > MAX_PAGES.min(first.saturating_add(MAX_GROWTH)) {
            return false;
        }
        updates.increments.write(self.forks, self.generation, memory, pages).is_ok()
    }

    /// Records the written pages, to prefault them after the next fork.
    fn learn(&mut self) {
        let map = self.checkpoint_updates.as_ref().and_then(|updates| updates.written.as_ref()).map(Written::map);
        if let Some(map) = map
            && learns_after(self.forks)
        {
            self.hot.learn(map, self.machine.memory(), &self.base.pages.later);
        }
    }

    /// Applies the last increment to memory.
    pub(super) fn apply_increment(&mut self) -> Result<(), TornIncrement> {
        if let Some(updates) = &self.checkpoint_updates
            && let Some(generation) = updates.increments.apply(self.forks, self.machine.memory_mut())?
        {
            self.generation = generation;
        }
        // It is a machine now, and the server sends it a file of its own.
        self.checkpoint_updates = None;
        Ok(())
    }
}
