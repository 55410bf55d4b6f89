//! A machine's checkpoint: what takes over when the machine ends.
//!
//! It is a paused fork. After a cell that has changed nothing but some pages of the linear memory it follows: the machine
//! copies those pages to a file in memory, from which the checkpoint takes them should it be resumed. After any other
//! the machine forks it anew.

use std::fs::File;
use std::os::fd::OwnedFd;

use super::Worker;
use super::hot_pages::learns_after;
use super::increment::{Increments, MAX_PAGES, TornIncrement};
use super::written::Written;
use crate::machine::NonMemoryState;
use crate::wire::{FromMachine, WireError};

/// Pages that an increment may have more than the first one after a fork. A fork costs as much as copying some thousand pages; small
/// cells grow by one or two pages each, so they fork once in about a hundred.
const MAX_GROWTH: usize = 160;

/// Where a checkpoint finds what it lacks; it inherits that.
#[derive(Debug)]
pub(super) struct CheckpointUpdates {
    increments: Increments,
    /// In the machine.
    written: Option<Written>,
}

impl CheckpointUpdates {
    /// Takes over what the server gave; `None` when something is missing.
    pub(super) fn new(fds: impl IntoIterator<Item = OwnedFd>) -> Option<CheckpointUpdates> {
        let mut files = fds.into_iter().map(File::from);
        let increments = Increments::new(files.next()?);
        Some(CheckpointUpdates { increments, written: Some(Written::new(files.next()?)) })
    }

    /// In a checkpoint, right after it was forked: the page map is another process's.
    pub(super) fn inherited(&mut self) {
        self.written = None;
    }

    /// Before a fork with this number, in the machine.
    pub(super) fn begin(&mut self, fork: u64) -> std::io::Result<()> {
        if let Some(written) = &mut self.written {
            written.forget();
        }
        self.increments.reset(fork)
    }
}

/// What the machine was when it forked its checkpoint.
#[derive(Debug)]
pub(super) struct CheckpointBase {
    non_memory_state: NonMemoryState,
    /// Pages of the first increment, with those that cells usually write to.
    first: Option<usize>,
}

impl CheckpointBase {
    pub(super) fn new(non_memory_state: NonMemoryState) -> CheckpointBase {
        CheckpointBase { non_memory_state, first: None }
    }
}

impl Worker {
    /// After a cell: lets the checkpoint follow, or forks it anew.
    pub(super) fn keep_checkpoint(&mut self) -> Result<(), WireError> {
        if self.follow() {
            return self.channel.send(&FromMachine::Followed);
        }
        self.learn();
        match self.spare.take() {
            Some(socket) => self.fork(socket, true, false),
            None => self.channel.send(&FromMachine::Forked(Some("there is no socket for it".to_owned()))),
        }
    }

    /// Writes what the checkpoint lacks, if that is all it needs.
    fn follow(&mut self) -> bool {
        let (Some(since), Some(following)) = (&mut self.since, &mut self.following) else { return false };
        if self.machine.non_memory_state().as_ref() != Some(&since.non_memory_state) {
            return false;
        }
        let memory = self.machine.memory_mut();
        let Some(pages) = following.written.as_mut().and_then(|written| written.pages(memory)) else { return false };
        // A next cell may come before all pages are copied ahead that cells write to; they are no growth.
        let usual = self.base.pages.later.len() + self.hot.pages_of_guest();
        let first = *since.first.get_or_insert(pages.len().max(usual));
        if pages.len() > MAX_PAGES.min(first.saturating_add(MAX_GROWTH)) {
            return false;
        }
        following.increments.write(self.forks, self.generation, memory, pages).is_ok()
    }

    /// What this cell, and those before it since the last fork, wrote to, the next ones will write to as well.
    fn learn(&mut self) {
        let map = self.following.as_ref().and_then(|following| following.written.as_ref()).map(Written::map);
        if let Some(map) = map
            && learns_after(self.forks)
        {
            self.hot.learn(map, self.machine.memory(), &self.base.pages.later);
        }
    }

    /// In a checkpoint that takes over: becomes what its machine was after the last cell.
    pub(super) fn catch_up(&mut self) -> Result<(), TornIncrement> {
        if let Some(following) = &self.following
            && let Some(generation) = following.increments.apply(self.forks, self.machine.memory_mut())?
        {
            self.generation = generation;
        }
        // From here on it is a machine, which is given a file of its own.
        self.following = None;
        Ok(())
    }
}
