//! A forked process that is nobody's yet.

use rustix::process::Pid;
use tokio::sync::oneshot;

use super::channel::{AsyncChannel, pair};
use super::error::Error;
use super::stop::Process;
use super::zygote::{Exit, Zygote};
use crate::wire::FromMachine;

/// A machine that has said hello and has not been told what it is for.
#[derive(Debug)]
pub(crate) struct UnassignedMachine {
    pub(crate) process: Process,
    pub(crate) channel: AsyncChannel,
    pub(crate) exit: oneshot::Receiver<Exit>,
}

impl UnassignedMachine {
    /// Forks a machine from `zygote`.
    ///
    /// # Errors
    /// When the zygote is gone or the machine does not say hello.
    pub(crate) async fn fork(zygote: &Zygote) -> Result<UnassignedMachine, Error> {
        let (mut channel, theirs) = pair()?;
        zygote.fork(theirs).await?;
        let (process, pid) = greet(&mut channel).await?;
        let exit = zygote.watch(pid).await?;
        Ok(UnassignedMachine { channel, exit, process })
    }

    /// False once its process has ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.process.is_alive()
    }
}

/// Waits for a new machine's hello; returns its process, and its number as it sees it itself.
///
/// # Errors
/// When it ends or says something else.
pub(crate) async fn greet(channel: &mut AsyncChannel) -> Result<(Process, i32), Error> {
    let unavailable = |reason: String| Error::Unavailable(format!("a new machine {reason}"));
    let (pid, inner): (Option<Pid>, i32) = match channel.receive::<FromMachine>().await {
        Ok(FromMachine::Hello { pid }) => (channel.peer(), pid),
        Ok(_) => (None, 0),
        Err(error) => return Err(unavailable(format!("ended: {error}"))),
    };
    let pid = pid.ok_or_else(|| unavailable("did not say hello".to_owned()))?;
    let process = Process::open(pid).map_err(|errno| unavailable(format!("ended: {errno}")))?;
    Ok((process, inner))
}
