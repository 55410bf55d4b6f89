//! A forked machine without an owner.

use rustix::process::Pid;
use tokio::sync::oneshot;

use super::channel::{AsyncChannel, pair};
use super::stop::Process;
use super::zygote::{Exit, Zygote};
use crate::api::EngineError;
use crate::wire::MachineMessage;

/// A machine that has sent its hello and has not received `Start`.
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
    /// If the zygote has ended or the machine does not send its hello.
    pub(crate) async fn fork(zygote: &Zygote) -> Result<UnassignedMachine, EngineError> {
        let (mut channel, theirs) = pair()?;
        zygote.fork(theirs).await?;
        let (process, pid) = greet(&mut channel).await?;
        let exit = zygote.watch(pid).await?;
        Ok(UnassignedMachine { channel, exit, process })
    }

    /// Returns `false` once its process has ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.process.is_alive()
    }
}

/// Waits for the hello of a new machine. Returns its process, and its process number inside the jail.
///
/// # Errors
/// If it ends or sends another message.
pub(crate) async fn greet(channel: &mut AsyncChannel) -> Result<(Process, i32), EngineError> {
    let unavailable = |reason: String| EngineError::Unavailable(format!("a new machine {reason}"));
    let (pid, inner): (Option<Pid>, i32) = match channel.receive::<MachineMessage>().await {
        Ok(MachineMessage::Hello { pid }) => (channel.peer(), pid),
        Ok(_) => (None, 0),
        Err(error) => return Err(unavailable(format!("ended: {error}"))),
    };
    let pid = pid.ok_or_else(|| unavailable("did not say hello".to_owned()))?;
    let process = Process::open(pid).map_err(|errno| unavailable(format!("ended: {errno}")))?;
    Ok((process, inner))
}
