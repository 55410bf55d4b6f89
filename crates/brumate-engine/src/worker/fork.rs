//! A machine's fork: a copy of the session, or the checkpoint that replaces the machine when it ends.

use std::os::fd::OwnedFd;

use super::checkpoint::CheckpointBase;
use super::{Worker, hello};
use crate::wire::{MachineMessage, WireError};

/// Pages that are prefaulted between two checks for a request.
const PREFAULTED_AT_ONCE: usize = 16;

impl Worker {
    /// Forks; `checkpoint` and `idle` are as in [`MachineRequest::Fork`](crate::wire::MachineRequest::Fork). Both processes
    /// return: this one has reported the fork to the server; the new one has sent its hello and waits to be resumed.
    pub(super) fn fork(&mut self, socket: OwnedFd, checkpoint: bool, idle: bool) -> Result<(), WireError> {
        if idle {
            // Before the fork, so that neither process keeps a copy of a page that equals the base's.
            self.machine.give_back(&self.base);
            // The update file has copies of pages too. The server sends a new file when the session is used again.
            self.checkpoint_updates = None;
        }
        self.needs_prefault = idle;
        self.begin_fork(checkpoint);
        match crate::process::fork_sibling() {
            Ok(Some(_)) => {
                // The other process has it.
                drop(socket);
                self.channel.send(&MachineMessage::Forked(None))?;
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
                self.checkpoint_base = None;
                self.channel.send(&MachineMessage::Forked(Some(errno.to_string())))
            }
        }
    }

    /// After the fork all pages are shared, so the page map no longer describes the old checkpoint.
    fn begin_fork(&mut self, checkpoint: bool) {
        self.checkpoint_base = None;
        if !checkpoint {
            return;
        }
        self.forks += 1;
        if let Some(updates) = &mut self.checkpoint_updates
            && updates.begin(self.forks).is_ok()
        {
            self.checkpoint_base = self.machine.non_memory_state().map(CheckpointBase::new);
        }
    }

    /// Initializes the new process.
    fn become_fork(&mut self, checkpoint: bool) {
        crate::signals::forget_stops();
        let host = self.machine.host();
        host.network.forget(&mut host.vfs);
        self.next_checkpoint_socket = None;
        self.checkpoint_base = None;
        match &mut self.checkpoint_updates {
            Some(updates) if checkpoint => updates.inherited(),
            updates => *updates = None,
        }
        match &mut self.crash_snapshot {
            Some(files) if checkpoint => files.swap(),
            files => *files = None,
        }
    }

    /// Prefaults pages until a request arrives. They are shared again after the fork, and each of them would cost the
    /// next cell a page fault.
    fn copy_ahead(&mut self) -> Result<(), WireError> {
        for pages in self.base.pages.later.chunks(PREFAULTED_AT_ONCE) {
            if self.channel.is_readable() {
                return Ok(());
            }
            self.machine.prefault(pages);
        }
        self.hot.prefault(|| self.channel.is_readable());
        self.touch_message_pages()
    }
}
