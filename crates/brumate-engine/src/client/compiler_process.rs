//! One process that compiles: it receives an order and answers with code or a reason.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use super::channel::AsyncChannel;
use super::error::truncate_bytes;
use super::spawn::Child;
use crate::api::EngineError;
use crate::code::process::{CompileOrder, CompileReply};
use crate::jail::CompileLimits;

/// Longest compilation of one module.
const WALL: Duration = Duration::from_secs(300);

/// One compiler process.
pub(super) struct Process {
    pub(super) channel: AsyncChannel,
    pub(super) child: Child,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Process")
    }
}

/// The failure of a compiler process.
pub(super) struct Failure {
    pub(super) error: EngineError,
    /// CPU time that it took, if the process has reported it.
    pub(super) cpu: Option<Duration>,
}

impl From<Failure> for EngineError {
    fn from(failure: Failure) -> EngineError {
        failure.error
    }
}

impl Process {
    /// Compiles into `output`; returns the CPU time of the process so far.
    pub(super) async fn compile(
        &mut self,
        order: &CompileOrder<'_>,
        output: &File,
        name: &str,
    ) -> Result<Duration, Failure> {
        let failed = |reason, cpu| Failure { error: EngineError::Compile { name: name.to_owned(), reason }, cpu };
        let answer = tokio::time::timeout(WALL, async {
            self.channel.send(order, &[output.as_fd()]).await?;
            self.channel.receive::<CompileReply>().await
        });
        match answer.await {
            Err(_) => Err(failed(format!("it takes longer than {} s", WALL.as_secs()), Some(WALL))),
            Ok(Err(error)) => Err(failed(format!("the compiler ended: {error}"), None)),
            Ok(Ok(CompileReply { failed: Some(reason), cpu })) => Err(failed(truncate_bytes(reason), Some(cpu))),
            Ok(Ok(CompileReply { failed: None, cpu })) => Ok(cpu),
        }
    }

    /// The limit that ended the process, if one did.
    pub(super) async fn explain(mut self, failure: Failure, name: &str, limits: CompileLimits) -> EngineError {
        if failure.cpu.is_some() {
            return failure.error;
        }
        let reason = match (self.child.ended().await, limits.cpu_seconds, limits.memory) {
            (Some(libc::SIGKILL), Some(seconds), _) => format!(
                "compiling it takes more than the {seconds} s of CPU time that are left for it, or the compiler was ended from outside"
            ),
            (Some(libc::SIGXCPU), Some(seconds), _) => {
                format!("compiling it takes more than the {seconds} s of CPU time that are left for it")
            }
            (Some(_), _, Some(memory)) => {
                format!("compiling it takes more than the {} MiB of memory that are left for it", memory >> 20)
            }
            _ => return failure.error,
        };
        EngineError::Compile { name: name.to_owned(), reason }
    }
}
