//! Crash recovery of machines and sessions: which processes write a [crash snapshot](super::crash_snapshot), and where.

use std::os::fd::AsFd;
use std::path::Path;

use super::crash_snapshot::{CrashSnapshotFiles, create, when_free};
use super::machine::Machine;
use super::memory_file::memory_file;
use super::session::Session;
use crate::api::EngineError;
use crate::wire::MachineRequest;

impl Machine {
    /// Enables this machine and its later checkpoints to write a crash snapshot beside `path`.
    async fn enable_crash_recovery(&mut self, path: &Path) -> Result<CrashSnapshotFiles, EngineError> {
        let header = self.header();
        let files = when_free(path, move |path| create(path, &header)).await?;
        self.tell_crash_snapshot(&files).await?;
        Ok(files)
    }

    /// Enables this machine and its checkpoints to write the crash snapshot in these files.
    pub(super) async fn tell_crash_snapshot(&mut self, files: &CrashSnapshotFiles) -> Result<(), EngineError> {
        let phase = memory_file("crash-snapshot")?;
        let [first, second] = &files.slots;
        self.crash_snapshot = Some(files.path.clone());
        self.tell(&MachineRequest::CrashSnapshot, &[first.as_fd(), second.as_fd(), phase.as_fd()]).await
    }
}

impl Session {
    /// Makes the session survive the end of its server. When the server disconnects for any reason, the session's
    /// processes write its last acknowledged state, the crash snapshot, beside `path` and end.
    /// [`Sandbox::resume`](super::Sandbox::resume) of `path` finds it there. A session that is dropped leaves none. An
    /// existing crash snapshot is overwritten.
    ///
    /// `path` is where the session is hibernated, or would be; there need not be a file. The processes get descriptors,
    /// no path.
    ///
    /// # Errors
    /// [`EngineError::Image`] if another session has its crash snapshot there and still runs, [`EngineError::Io`] if the files
    /// cannot be made, the errors of [`Session::execute`](crate::api::Session::execute) if the machine has ended.
    pub async fn enable_crash_recovery(&self, path: &Path) -> Result<(), EngineError> {
        let mut state = self.ready().await?;
        if state.crash_snapshot.as_ref().is_some_and(|files| files.path == path) {
            return Ok(());
        }
        let files = state.machine.enable_crash_recovery(path).await;
        let files = self.roll_back_if_ended(&mut state, files).await?;
        // The checkpoint has no files, or the old ones. Those are removed once no process has them open for writing.
        let old = state.crash_snapshot.replace(files);
        self.renew_checkpoint(state);
        drop(old);
        Ok(())
    }
}
