//! Machines as this crate sees them: two pipes, a control, and an end.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use rustix::pipe::PipeFlags;
use tokio::net::unix::pipe::{Receiver, Sender};

/// Starts machines, each with the same server in it.
#[async_trait]
pub trait Launcher: Send + Sync + 'static {
    /// Starts a machine. Its server may not be ready when this returns. When the future is dropped, it leaves no machine behind.
    async fn launch(&self) -> Result<Machine, LaunchError>;

    /// Returns a number that changes with the program of the servers. A machine that was started ahead of its session is used only if the
    /// number is the same. By default it never changes.
    fn revision(&self) -> u64 {
        0
    }
}

/// A machine could not be started.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{reason}")]
pub struct LaunchError {
    /// Reason, for the user.
    pub reason: String,
}

/// A machine with a server in it. Dropping it does not end it: [`MachineControl::kill`] does.
pub struct Machine {
    /// Takes the messages to the server. Dropping it ends the server, which runs its lifespan to its end first.
    pub input: Sender,
    /// Gives the messages of the server.
    pub output: Receiver,
    /// Stops the machine.
    pub control: Arc<dyn MachineControl>,
    /// Is ready when the machine has ended.
    pub end: BoxFuture<'static, MachineEnd>,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Machine")
            .field("input", &self.input)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}

/// Stops a machine. The methods return at once and do nothing when it has ended.
pub trait MachineControl: Send + Sync {
    /// Raises `TimeoutError` in the Python function that keeps the event loop busy. Does nothing while the loop waits.
    fn interrupt_busy_task(&self);
    /// Ends the machine without asking it.
    fn kill(&self);
}

/// The end of a machine: its exit status and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineEnd {
    /// Exit status, as a shell sees it. 0 if the server ended by itself.
    pub status: u8,
    /// Reason, for the user: a traceback, or a sentence. Empty if there is nothing to say.
    pub text: String,
}

/// The machine's ends of the two pipes. They never block.
#[derive(Debug)]
pub struct MachinePipes {
    /// The server reads messages from it.
    pub input: OwnedFd,
    /// The server writes messages to it.
    pub output: OwnedFd,
}

impl MachinePipes {
    /// Makes the pipes of a machine. Returns the machine's ends, and the host's ends: what writes to the server, and what reads from it.
    ///
    /// # Errors
    ///
    /// The system's error, for example when too many files are open. Outside of a tokio runtime with I/O this panics.
    pub fn new() -> io::Result<(Self, Sender, Receiver)> {
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (input, to_server) = rustix::pipe::pipe_with(flags)?;
        let (from_server, output) = rustix::pipe::pipe_with(flags)?;
        Ok((Self { input, output }, Sender::from_owned_fd(to_server)?, Receiver::from_owned_fd(from_server)?))
    }
}
