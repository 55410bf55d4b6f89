//! Copies of a machine: forks that run beside it, and images that outlive it.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{SealFlags, fcntl_add_seals};
use tokio::sync::mpsc;

use super::channel::{AsyncChannel, pair};
use super::crash_snapshot::CrashSnapshotFiles;
use super::error::truncate_bytes;
use super::machine::{AfterExecution, Machine, Streams, take};
use super::memory_file::memory_file;
use super::session_file::new_session;
use super::stop::InterruptHandle;
use super::unassigned::{UnassignedMachine, greet};
use crate::api::{EngineError, Event, Execute, FileInfo, Outcome};
use crate::wire::{MachineMessage, MachineRequest, WireError};
use crate::worker::increment::FILE_BYTES;

/// A forked machine that does nothing until it is resumed.
#[derive(Debug)]
pub struct PausedMachine {
    machine: Machine,
}

impl PausedMachine {
    /// Resumes the machine in the state of the fork, with random numbers of its own.
    ///
    /// # Errors
    /// When it has ended.
    pub async fn resume(mut self) -> Result<Machine, EngineError> {
        self.machine.tell(&MachineRequest::Resume, &[]).await?;
        Ok(self.machine)
    }
}

impl Machine {
    /// Returns another machine in place of this one, which has ended without changes. The new machine has the same
    /// image, session, limits and directories. It writes the crash snapshot to `crash_snapshot`, if that is given. It
    /// has no standard input.
    ///
    /// # Errors
    /// The errors of [`Machine::start`].
    pub(super) async fn replacement(
        &self,
        crash_snapshot: Option<&CrashSnapshotFiles>,
    ) -> Result<Machine, EngineError> {
        let (shared, pool, mounts) = (self.shared.clone(), self.pool.clone(), self.mounts.clone());
        let unassigned = take(&pool, self.limits, Streams::default(), &mounts).await?;
        let mut machine = Machine::new(shared, pool, unassigned, self.limits, mounts, self.session);
        machine.compiling.principal = self.compiling.principal.clone();
        machine.network = self.network.clone();
        machine.mount(&self.layers()).await?;
        if let Some(files) = crash_snapshot {
            machine.tell_crash_snapshot(files).await?;
        }
        Ok(machine)
    }

    /// Forks this machine, which must not be running code. Memory is shared until one of the two writes to it; files,
    /// descriptors and everything else are copies.
    ///
    /// # Errors
    /// [`EngineError::Unavailable`] if the system cannot make another process. This machine then continues. Other
    /// errors if this machine has ended.
    pub async fn fork(&mut self) -> Result<PausedMachine, EngineError> {
        let mut other = self.fork_as(false, false).await?;
        other.machine.session = new_session()?;
        Ok(other)
    }

    /// Forks a checkpoint. It replaces this machine when this machine ends. It has the same session and the same crash
    /// snapshot. If the session is `idle`, the machine and the checkpoint share as much memory as possible.
    ///
    /// # Errors
    /// The errors of [`Machine::fork`].
    pub(super) async fn checkpoint(&mut self, idle: bool) -> Result<PausedMachine, EngineError> {
        self.fork_as(true, idle).await
    }

    async fn fork_as(&mut self, checkpoint: bool, idle: bool) -> Result<PausedMachine, EngineError> {
        let (channel, theirs) = pair()?;
        let limit = self.shared.startup_timeouts.hello;
        // An interrupt is for the cell and not for this fork. It is kept until the cell runs.
        let no_interrupt = InterruptHandle::new();
        // For an idle session the machine drops its update file, so incremental updates have to be enabled again.
        self.has_checkpoint_updates &= !idle;
        let request = MachineRequest::Fork { checkpoint, idle };
        let (reply, _) = self.converse_until(&no_interrupt, &request, &[theirs.as_fd()], None, limit).await?;
        drop(theirs);
        match reply {
            MachineMessage::Forked(None) => self.greet(channel, checkpoint).await,
            MachineMessage::Forked(Some(reason)) => Err(EngineError::Unavailable(reason)),
            _ => Err(self.protocol_violation("an answer to another request").await),
        }
    }

    /// Executes as [`Machine::execute_and`] does, and then makes the machine update its checkpoint. The caller must
    /// [receive](Machine::receive_checkpoint_report) the report on the checkpoint.
    ///
    /// # Errors
    /// The errors of [`Machine::execute_and`].
    pub(super) async fn execute_and_update_checkpoint(
        &mut self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: Option<&str>,
    ) -> Result<(Outcome, Result<Vec<FileInfo>, EngineError>), EngineError> {
        let theirs = self.spare_socket()?;
        let checkpoint = AfterExecution::UpdateCheckpoint { next: theirs.as_ref().map(AsFd::as_fd) };
        self.execute_and(request, events, directory, checkpoint).await
    }

    /// Makes the machine update its checkpoint, as after [`Machine::execute_and_update_checkpoint`]: the report must be
    /// [received](Machine::receive_checkpoint_report).
    ///
    /// # Errors
    /// When the machine has ended.
    pub(super) async fn update_checkpoint(&mut self) -> Result<(), EngineError> {
        let theirs = self.spare_socket()?;
        let fds: Vec<_> = theirs.iter().map(AsFd::as_fd).collect();
        self.tell(&MachineRequest::UpdateCheckpoint, &fds).await
    }

    /// Returns a socket for the machine to keep. The machine uses it when it forks a checkpoint by itself. Returns
    /// `None` if the machine has such a socket already.
    fn spare_socket(&mut self) -> Result<Option<OwnedFd>, EngineError> {
        if self.spare.is_some() {
            return Ok(None);
        }
        let (channel, theirs) = pair()?;
        self.spare = Some(channel);
        Ok(Some(theirs))
    }

    /// Waits for the report on the checkpoint after an execution. Returns the new checkpoint, or `None` if the
    /// previous one was updated. Must be called before the next request to this machine. If a call was cancelled and
    /// `report_pending` is still set, it must be called again.
    ///
    /// # Errors
    /// [`EngineError::Unavailable`] if there is no checkpoint of the present state. Other errors if this machine has
    /// ended.
    pub(super) async fn receive_checkpoint_report(
        &mut self,
        report_pending: &mut bool,
    ) -> Result<Option<PausedMachine>, EngineError> {
        let message = tokio::time::timeout(self.shared.startup_timeouts.hello, self.receive()).await;
        *report_pending = false;
        match message {
            Ok(Ok(MachineMessage::CheckpointUpdated)) => Ok(None),
            Ok(Ok(MachineMessage::Forked(None))) => match self.spare.take() {
                Some(channel) => Ok(Some(self.greet(channel, true).await?)),
                None => Err(self.protocol_violation("a checkpoint that nobody asked for").await),
            },
            Ok(Ok(MachineMessage::Forked(Some(reason)))) => Err(EngineError::Unavailable(truncate_bytes(reason))),
            Ok(Ok(_)) => Err(self.protocol_violation("a message other than the report on its checkpoint").await),
            Ok(Err(WireError::Closed | WireError::Io(_))) => Err(self.died(None).await),
            Ok(Err(error)) => Err(self.protocol_violation(&error.to_string()).await),
            Err(_) => Err(self.protocol_violation("no report on its checkpoint in time").await),
        }
    }

    /// Enables incremental updates of the checkpoints that this machine forks later. Does nothing if the system does
    /// not support them.
    ///
    /// # Errors
    /// When this machine has ended.
    pub(super) async fn enable_incremental_checkpoints(&mut self) -> Result<(), EngineError> {
        if std::mem::replace(&mut self.has_checkpoint_updates, true) {
            return Ok(());
        }
        // Without incremental updates the machine forks a checkpoint after each cell.
        let (Ok(file), Some(page_map)) = (increments(), self.page_map()) else { return Ok(()) };
        self.tell(&MachineRequest::EnableCheckpointUpdates, &[file.as_fd(), page_map.as_fd()]).await
    }

    /// Waits for the first message of a process that this machine has forked or is about to fork. A checkpoint gets
    /// this machine's crash snapshot.
    async fn greet(&self, mut channel: AsyncChannel, checkpoint: bool) -> Result<PausedMachine, EngineError> {
        let greeted = tokio::time::timeout(self.shared.startup_timeouts.hello, greet(&mut channel)).await;
        let silent = |_| EngineError::Unavailable("a forked machine did not answer".to_owned());
        let (process, pid) = greeted.map_err(silent)??;
        let exit = self.pool.zygote().watch(pid).await?;
        let unassigned = UnassignedMachine { channel, exit, process };
        let (shared, pool) = (self.shared.clone(), self.pool.clone());
        let mut machine = Machine::new(shared, pool, unassigned, self.limits, self.mounts.clone(), self.session);
        machine.mounted.set(self.layers());
        machine.compiling.principal = self.compiling.principal.clone();
        machine.network = self.network.clone();
        machine.crash_snapshot = self.crash_snapshot.clone().filter(|_| checkpoint);
        Ok(PausedMachine { machine })
    }

    /// Writes the difference between this machine and its base image to `to`. Returns the number of changes of the
    /// session so far. The machine continues.
    ///
    /// # Errors
    /// [`EngineError::Image`] if the machine has state that no image can hold. This machine then continues. Other
    /// errors if this machine has ended.
    pub(super) async fn snapshot(&mut self, to: &File) -> Result<u64, EngineError> {
        let pages = self.page_map();
        let fds: Vec<_> = std::iter::once(to.as_fd()).chain(pages.iter().map(AsFd::as_fd)).collect();
        match self.converse(&MachineRequest::Snapshot, &fds, None, IMAGE_TIMEOUT).await?.0 {
            MachineMessage::SnapshotWritten(Ok(generation)) => Ok(generation),
            MachineMessage::SnapshotWritten(Err(reason)) => Err(EngineError::Image(reason)),
            _ => Err(self.protocol_violation("an answer to another request").await),
        }
    }

    /// Copies files to this machine. They are the files in the working directory of the session that `from` holds.
    ///
    /// # Errors
    /// [`EngineError::Image`] if the files cannot be read, or exceed this machine's limits. The machine is then
    /// unusable.
    pub(super) async fn recover(&mut self, from: &File) -> Result<(), EngineError> {
        match self.converse(&MachineRequest::Recover, &[from.as_fd()], None, IMAGE_TIMEOUT).await?.0 {
            MachineMessage::Recovered(None) => Ok(()),
            MachineMessage::Recovered(Some(reason)) => Err(EngineError::Image(truncate_bytes(reason))),
            _ => Err(self.protocol_violation("an answer to another request").await),
        }
    }

    /// Restores the session that `from` holds. The session has had `generation` changes. Returns the guest paths of
    /// the host directories that are no longer granted.
    ///
    /// # Errors
    /// [`EngineError::Image`] if the image does not fit; the machine is unusable then.
    pub(super) async fn restore_snapshot(&mut self, from: &File, generation: u64) -> Result<Vec<String>, EngineError> {
        match self.converse(&MachineRequest::Restore { generation }, &[from.as_fd()], None, IMAGE_TIMEOUT).await?.0 {
            MachineMessage::Restored { failed: None, revoked, layers } => {
                // A crash snapshot may name more layers than were mounted.
                let mut mounted = self.layers();
                mounted.retain(|layer| layers.contains(&layer.id()));
                self.mounted.set(mounted);
                Ok(revoked)
            }
            MachineMessage::Restored { failed: Some(reason), .. } => Err(EngineError::Image(reason)),
            _ => Err(self.protocol_violation("an answer to another request").await),
        }
    }
}

/// Creates the file in memory for increments. Its size is sealed.
fn increments() -> std::io::Result<OwnedFd> {
    let file = memory_file("increments")?;
    rustix::fs::ftruncate(&file, FILE_BYTES)?;
    fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

/// Longest time in which a machine may write or read an image.
const IMAGE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);
