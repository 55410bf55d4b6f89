//! A machine's fork: a copy of the session, or what takes over when its machine ends.

use std::os::fd::OwnedFd;

use super::checkpoint::CheckpointBase;
use super::{Worker, hello};
use crate::wire::{FromMachine, WireError};

/// Pages that are copied ahead before it is looked whether there is something to do.
const PREFAULTED_AT_ONCE: usize = 16;

impl Worker {
    /// Forks; `checkpoint` and `idle` are as in [`ToMachine::Fork`](crate::wire::ToMachine::Fork). Both processes return: this one has
    /// told the server, the new one has said hello and waits to be resumed.
    pub(super) fn fork(&mut self, socket: OwnedFd, checkpoint: bool, idle: bool) -> Result<(), WireError> {
        if idle {
            // Before the fork: neither of the two keeps a page that is the base's.
            self.machine.give_back(&self.base);
            // Nor a copy of others. Who goes on is given another file.
            self.following = None;
        }
        self.cold = idle;
        self.begin_fork(checkpoint);
        match crate::process::fork_sibling() {
            Ok(Some(_)) => {
                // The other process has it.
                drop(socket);
                self.channel.send(&FromMachine::Forked(None))?;
                if checkpoint && !idle {
                    self.copy_ahead()?;
                }
                Ok(())
            }
            Ok(None) => {
                self.channel.replace(socket);
                self.paused = true;
                self.become_fork(checkpoint);
                match brumate_jail::die_with_parent(self.parent) {
                    Ok(true) => self.channel.send(&hello()),
                    Ok(false) | Err(_) => Err(WireError::Closed),
                }
            }
            Err(errno) => {
                self.since = None;
                self.channel.send(&FromMachine::Forked(Some(errno.to_string())))
            }
        }
    }

    /// From here on all pages are shared with the other process: what is its own tells no more what the old checkpoint lacks.
    fn begin_fork(&mut self, checkpoint: bool) {
        self.since = None;
        if !checkpoint {
            return;
        }
        self.forks += 1;
        if let Some(following) = &mut self.following
            && following.begin(self.forks).is_ok()
        {
            self.since = self.machine.non_memory_state().map(CheckpointBase::new);
        }
    }

    /// In the new process.
    fn become_fork(&mut self, checkpoint: bool) {
        crate::signals::forget_stops();
        self.spare = None;
        self.since = None;
        match &mut self.following {
            Some(following) if checkpoint => following.inherited(),
            following => *following = None,
        }
        match &mut self.crash_snapshot {
            Some(files) if checkpoint => files.swap(),
            files => *files = None,
        }
    }

    /// The next cell would copy these pages, which are shared again, one fault at a time. One that waits already copies only what
    /// it needs.
    fn copy_ahead(&mut self) -> Result<(), WireError> {
        for pages in self.base.pages.later.chunks(PREFAULTED_AT_ONCE) {
            if self.channel.is_readable() {
                return Ok(());
            }
            self.machine.prefault(pages);
        }
        self.hot.prefault(|| self.channel.is_readable());
        self.rehearse_messages()
    }
}
