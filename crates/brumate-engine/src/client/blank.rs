//! A forked process that is nobody's yet.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::oneshot;

use super::channel::{AsyncChannel, pair};
use super::error::{Error, HELLO_TIMEOUT};
use super::zygote::{Exit, Zygote};
use crate::wire::FromMachine;

/// A machine's process. Dropping the last handle kills it.
#[derive(Debug)]
pub(crate) struct Process {
    pidfd: OwnedFd,
}

impl Process {
    pub(crate) fn signal(&self, signal: Signal) {
        // A process that has ended already needs no signal.
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }

    fn is_alive(&self) -> bool {
        let mut entry = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut entry, Some(&now)), Ok(0))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// A machine that has said hello and has not been told what it is for.
#[derive(Debug)]
pub(crate) struct Blank {
    pub(crate) process: Arc<Process>,
    pub(crate) channel: AsyncChannel,
    pub(crate) exit: oneshot::Receiver<Exit>,
}

impl Blank {
    /// Forks a machine from `zygote`.
    ///
    /// # Errors
    /// When the zygote is gone or the machine does not say hello.
    pub(crate) async fn fork(zygote: &Zygote) -> Result<Blank, Error> {
        let (mut channel, theirs) = pair()?;
        let exit = zygote.fork(theirs).await?;
        let (process, _) = greet(&mut channel).await?;
        Ok(Blank { channel, exit, process })
    }

    /// False once its process has ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.process.is_alive()
    }
}

/// Waits for a new machine's hello; returns its process, and its number as its zygote sees it.
///
/// # Errors
/// When it ends or says something else.
pub(crate) async fn greet(channel: &mut AsyncChannel) -> Result<(Arc<Process>, i32), Error> {
    let unavailable = |reason: String| Error::Unavailable(format!("a new machine {reason}"));
    let hello = tokio::time::timeout(HELLO_TIMEOUT, channel.receive::<FromMachine>()).await;
    let (pid, inner): (Option<Pid>, i32) = match hello {
        Ok(Ok(FromMachine::Hello { pid })) => (channel.peer(), pid),
        Ok(Ok(_)) => (None, 0),
        Ok(Err(error)) => return Err(unavailable(format!("ended: {error}"))),
        Err(_) => return Err(unavailable("did not answer".to_owned())),
    };
    let pid = pid.ok_or_else(|| unavailable("did not say hello".to_owned()))?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| unavailable(format!("ended: {errno}")))?;
    Ok((Arc::new(Process { pidfd }), inner))
}
