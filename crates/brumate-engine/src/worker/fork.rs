//! A machine's fork: a copy of the session, or what takes over when its machine ends.

use std::os::fd::OwnedFd;

use super::{Worker, hello};
use crate::jail;
use crate::wire::{FromMachine, WireError};

/// Pages that are copied ahead before it is looked whether there is something to do.
const PREFAULTED_AT_ONCE: usize = 16;

/// How to fork.
pub(super) struct Fork {
    /// As in [`ToMachine::Fork`](crate::wire::ToMachine::Fork).
    pub(super) checkpoint: bool,
    pub(super) idle: bool,
    /// The server waits for [`FromMachine::Forked`].
    pub(super) answers: bool,
}

impl Worker {
    /// Forks. Both processes return: this one has told the server, if it `answers`, the new one has said hello and waits to be
    /// resumed.
    pub(super) fn fork(&mut self, socket: OwnedFd, Fork { checkpoint, idle, answers }: Fork) -> Result<(), WireError> {
        if idle {
            // Before the fork: neither of the two keeps a page that is the base's.
            self.machine.give_back(&self.base);
        }
        self.cold = idle;
        match crate::zygote::sys::fork_sibling() {
            Ok(Some(_)) => {
                // The other process has it.
                drop(socket);
                if answers {
                    self.channel.send(&FromMachine::Forked(None))?;
                }
                if checkpoint && !idle {
                    // The next cell would copy these pages, which are shared again, one fault at a time. One that waits already
                    // copies only what it needs.
                    for pages in self.base.pages.later.chunks(PREFAULTED_AT_ONCE) {
                        if self.channel.is_readable() {
                            return Ok(());
                        }
                        self.machine.prefault(pages);
                    }
                    self.hot.prefault(|| self.channel.is_readable());
                    self.rehearse_messages()?;
                }
                Ok(())
            }
            Ok(None) => {
                self.channel.replace(socket);
                self.paused = true;
                crate::signals::forget_stops();
                match &mut self.will {
                    Some(will) if checkpoint => will.swap(),
                    will => *will = None,
                }
                match jail::die_with_parent(self.parent) {
                    Ok(true) => self.channel.send(&hello()),
                    Ok(false) | Err(_) => Err(WireError::Closed),
                }
            }
            Err(errno) if answers => self.channel.send(&FromMachine::Forked(Some(errno.to_string()))),
            // The end of the socket tells it.
            Err(_) => Ok(()),
        }
    }
}
