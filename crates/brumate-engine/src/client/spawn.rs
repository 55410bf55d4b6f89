//! Starts this program again as a process that is jailed.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::process::Pid;

use super::error::EXIT_TIMEOUT;
use crate::api::EngineError;
use crate::engine::NATIVE_STACK;

/// A jailed process; killed, with everything in its jail, when dropped.
#[derive(Debug)]
pub(crate) struct Child {
    process: tokio::process::Child,
}

/// Starts `program internal <command>` with `control` as its only connection.
///
/// # Errors
/// When the system cannot start it.
pub(crate) fn spawn(program: &Path, command: &str, control: OwnedFd) -> Result<Child, EngineError> {
    let stack = if command == "zygote" { NATIVE_STACK } else { COMPILE_STACK };
    let command = brumate_jail::spawn::command(program, ["internal", command], control.as_fd(), stack)?;
    let mut command = tokio::process::Command::from(command);
    let process = command.kill_on_drop(true).spawn()?;
    Ok(Child { process })
}

/// Native stack of a compiler, in bytes.
const COMPILE_STACK: u64 = 64 << 20;

impl Child {
    /// Waits for its end. Returns the signal that ended it; `None` if there was none, or if it takes too long.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt;
        let status = tokio::time::timeout(EXIT_TIMEOUT, self.process.wait()).await;
        status.ok()?.ok()?.signal()
    }

    /// Sets the `nice` value of a process that has just been started. If the system refuses, the process runs with the
    /// normal value.
    pub(crate) fn let_others_go_first(&self, nice: i32) {
        let pid = self.process.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        if let Some(pid) = pid
            && let Err(error) = rustix::process::setpriority_process(Some(pid), nice)
        {
            tracing::debug!(%error, "a process that works ahead competes with others");
        }
    }

    /// Waits for its end.
    pub(crate) async fn wait(&mut self) {
        let _ = self.process.wait().await;
    }
}
