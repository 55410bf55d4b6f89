//! Sessions: machines that keep their state from cell to cell, whatever a cell does.
//!
//! After each cell, as soon as the machine has answered the server, it updates its checkpoint, a paused copy of itself, or
//! forks it again. If a cell crashes, is killed or runs out of memory, its machine ends. The checkpoint replaces it,
//! and the session is as it was before that cell, files included. In a transaction ([`Session::begin`]) the checkpoint
//! is not updated until the caller commits.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::{MutexGuard, mpsc, watch};

use super::Sandbox;
use super::crash_snapshot::CrashSnapshotFiles;
use super::lifecycle::PausedMachine;
use super::machine::{AfterExecution, Machine};
use super::session_files::listing;
use super::stop::InterruptHandle;
use super::transaction::Transaction;
use crate::api::{
    self, Analysis, CellAndFiles, EngineError, Event, Execute, Layer, Machine as _, MachineSpec, Outcome,
};

/// A session. Dropping it ends its processes.
#[derive(Debug)]
pub struct Session {
    state: Arc<tokio::sync::Mutex<SessionState>>,
    /// Stops the current machine.
    interrupt_handle: Arc<Mutex<InterruptHandle>>,
}

#[derive(Debug)]
pub(super) struct SessionState {
    pub(super) machine: Machine,
    /// The session after the last cell.
    pub(super) checkpoint: Option<PausedMachine>,
    /// Whether a checkpoint report from the machine is outstanding.
    pub(super) report_pending: bool,
    /// Previous checkpoint. Reused if the machine updated it, otherwise dropped in the background.
    outdated: Option<PausedMachine>,
    /// Counts state changes and notifies the checkpoint task.
    changes: watch::Sender<u64>,
    /// Whether a background task updates the checkpoint.
    has_checkpoint_task: bool,
    /// Whether nothing has changed since the machine was forked from its image. Another machine then replaces a
    /// checkpoint.
    pub(super) fresh: bool,
    /// The open transaction. The checkpoint has the state before it.
    pub(super) transaction: Option<Transaction>,
    /// Last, so that it is dropped after the processes that could write it.
    pub(super) crash_snapshot: Option<CrashSnapshotFiles>,
}

impl SessionState {
    /// Waits for the checkpoint report, if one is outstanding. If the checkpoint failed, `checkpoint` forks another
    /// one.
    pub(super) async fn await_checkpoint(&mut self) {
        if !self.report_pending {
            return;
        }
        match self.machine.receive_checkpoint_report(&mut self.report_pending).await {
            Ok(None) => self.checkpoint = self.outdated.take(),
            Ok(Some(checkpoint)) => {
                self.checkpoint = Some(checkpoint);
                // Machine and checkpoint have the same layers now.
                self.machine.sync_header().await;
            }
            Err(error) => tracing::debug!(%error, "no checkpoint yet"),
        }
    }

    /// Forks a checkpoint if there is none of the current state and one is needed.
    async fn checkpoint(&mut self) -> Result<(), EngineError> {
        self.await_checkpoint().await;
        drop(self.outdated.take());
        if self.checkpoint.is_none() && !self.fresh {
            self.checkpoint = Some(self.machine.checkpoint(false).await?);
            self.machine.sync_header().await;
        }
        Ok(())
    }

    /// Runs one step of the background task. Returns the delay before the next step; `None` ends the task. While the
    /// session is in use, its next cell makes the checkpoint.
    async fn keep(&mut self, quiet: &mut IdleObservation) -> Result<Option<Duration>, EngineError> {
        if self.transaction.is_some() {
            return Ok(Some(RETRY_INTERVAL));
        }
        let changes = *self.changes.borrow();
        let before = std::mem::replace(quiet, IdleObservation { changes, checkpoint: false });
        if before.changes == changes {
            if before.checkpoint {
                self.share_memory().await?;
                return Ok(None);
            }
            self.checkpoint().await?;
            if self.checkpoint.is_none() {
                return Ok(None);
            }
            quiet.checkpoint = true;
        }
        self.machine.enable_incremental_checkpoints().await?;
        Ok(Some(if quiet.checkpoint { SHARE_MEMORY_AFTER } else { RETRY_INTERVAL }))
    }

    /// Replaces the checkpoint by one that shares as much memory as possible with the machine.
    async fn share_memory(&mut self) -> Result<(), EngineError> {
        drop(self.checkpoint.take());
        self.checkpoint = Some(self.machine.checkpoint(true).await?);
        Ok(())
    }
}

/// The state of a session at the last step of its background task.
struct IdleObservation {
    /// State changes, as in [`SessionState`].
    changes: u64,
    /// Whether there is a checkpoint of that state.
    checkpoint: bool,
}

/// Delay before a background checkpoint. The next cell may come earlier and fork the checkpoint itself.
const CHECKPOINT_AFTER: Duration = Duration::from_millis(2);

/// Delay before the next step while the session is in use.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Delay before an idle session shares memory with its checkpoint. Its next cell starts a little later then.
const SHARE_MEMORY_AFTER: Duration = Duration::from_secs(2);

impl Session {
    /// Returns a session with this machine.
    pub fn new(machine: Machine) -> Session {
        Session::of(machine, false)
    }

    fn of(machine: Machine, fresh: bool) -> Session {
        let interrupt_handle = Arc::new(Mutex::new(machine.interrupt_handle()));
        let changes = watch::Sender::default();
        let seen = changes.subscribe();
        let (checkpoint, outdated, crash_snapshot) = (None, None, None);
        let (report_pending, has_checkpoint_task, transaction) = (false, !fresh, None);
        let state = SessionState {
            machine,
            checkpoint,
            report_pending,
            outdated,
            changes,
            has_checkpoint_task,
            fresh,
            transaction,
            crash_snapshot,
        };
        let session = Session { state: Arc::new(tokio::sync::Mutex::new(state)), interrupt_handle };
        if !fresh {
            session.maintain_checkpoint(seen);
        }
        session
    }

    /// Runs a cell, and lists the files below `directory` if there is one.
    async fn run(
        &self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: Option<&str>,
    ) -> Result<CellAndFiles, EngineError> {
        let mut state = self.ready().await?;
        let in_transaction = state.transaction.is_some();
        let ran = match in_transaction {
            true => state.machine.execute_and(request, events, directory, AfterExecution::LeaveCheckpoint).await,
            false => state.machine.execute_and_update_checkpoint(request, events, directory).await,
        };
        match ran {
            Ok((outcome, listed)) => {
                state.report_pending = !in_transaction;
                self.state_changed(state);
                Ok((outcome, listed))
            }
            Err(error) => self.roll_back_if_ended(&mut state, Err(error)).await,
        }
    }

    /// Parses `code` with the guest's parser; returns what it imports.
    ///
    /// # Errors
    /// As [`api::Session::execute`].
    pub async fn analyze(&self, code: &str) -> Result<Analysis, EngineError> {
        let mut state = self.ready().await?;
        let result = state.machine.analyze(code).await;
        self.roll_back_if_ended(&mut state, result).await
    }

    /// Locks the session with a checkpoint of its current state. No cell runs while the guard lives.
    pub(super) async fn ready(&self) -> Result<MutexGuard<'_, SessionState>, EngineError> {
        let mut state = self.state.lock().await;
        state.check_transaction()?;
        match state.transaction {
            // In a transaction the checkpoint is the one that it began with.
            Some(_) => state.await_checkpoint().await,
            None => state.checkpoint().await?,
        }
        Ok(state)
    }

    /// Locks the session, without making a checkpoint.
    pub(super) async fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().await
    }

    /// Records a state change and schedules the checkpoint update.
    pub(super) fn state_changed(&self, mut state: MutexGuard<'_, SessionState>) {
        if let Some(transaction) = &mut state.transaction {
            transaction.change();
            return;
        }
        state.fresh = false;
        self.renew_checkpoint(state);
    }

    /// Marks the checkpoint as outdated and schedules its update, if the session needs a checkpoint.
    pub(super) fn renew_checkpoint(&self, mut state: MutexGuard<'_, SessionState>) {
        state.outdated = state.checkpoint.take().or(state.outdated.take());
        state.changes.send_modify(|changes| *changes += 1);
        if !state.fresh && !std::mem::replace(&mut state.has_checkpoint_task, true) {
            self.maintain_checkpoint(state.changes.subscribe());
        }
    }

    /// Records the result of a change. A failed file operation may have changed files in part, so it counts as a
    /// change.
    pub(super) async fn changed(
        &self,
        mut state: MutexGuard<'_, SessionState>,
        result: Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match result {
            Ok(()) | Err(EngineError::File(_)) => {
                self.state_changed(state);
                result
            }
            other => self.roll_back_if_ended(&mut state, other).await,
        }
    }

    /// Rolls back if the machine has ended.
    pub(super) async fn roll_back_if_ended<T>(
        &self,
        state: &mut SessionState,
        result: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match result {
            Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) => {
                let lost = EngineError::MachineExited { reason: reason.clone(), output_dropped, peak_memory_bytes };
                let rolled_back = EngineError::RolledBack { reason: reason.clone(), output_dropped, peak_memory_bytes };
                if !self.take_over(state).await {
                    return Err(lost);
                }
                if let Some(transaction) = &mut state.transaction {
                    transaction.fail(reason);
                }
                Err(rolled_back)
            }
            other => other,
        }
    }

    /// Replaces a machine that has ended, or whose state is discarded, by the checkpoint. Returns `false` if that
    /// fails.
    pub(super) async fn take_over(&self, state: &mut SessionState) -> bool {
        state.await_checkpoint().await;
        let machine = match state.checkpoint.take() {
            Some(checkpoint) => checkpoint.resume().await,
            None if state.fresh => {
                if let Some(transaction) = &state.transaction {
                    state.machine.mounted.set(transaction.layers().to_vec());
                }
                state.machine.replacement(state.crash_snapshot.as_ref()).await
            }
            None => return false,
        };
        let Ok(machine) = machine else { return false };
        // The crash snapshot may name the layers that the cell had installed.
        machine.mounted.header_lists_superset();
        *self.interrupt_handle.lock() = machine.interrupt_handle();
        state.machine = machine;
        // Fork once to verify that the resumed machine responds.
        !matches!(state.checkpoint().await, Err(EngineError::MachineExited { .. }))
    }

    /// Forks the session: the new session has this one's current state.
    ///
    /// # Errors
    /// If the system has no process left, or as [`api::Session::execute`] if the machine has ended.
    pub async fn fork(&self) -> Result<Session, EngineError> {
        let mut state = self.state.lock().await;
        state.check_transaction()?;
        state.await_checkpoint().await;
        let paused = state.machine.fork().await;
        let paused = self.roll_back_if_ended(&mut state, paused).await?;
        drop(state);
        Ok(Session::new(paused.resume().await?))
    }

    /// Returns a handle that stops the current cell, or the next one: KeyboardInterrupt, then SIGKILL and a rollback.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.interrupt_handle.lock().present()
    }

    /// Starts the task that updates the checkpoint in the background, until the session has not been used for a while.
    /// The task does not report failures; the next cell gets the same error.
    fn maintain_checkpoint(&self, mut changes: watch::Receiver<u64>) {
        let state = Arc::downgrade(&self.state);
        tokio::spawn(async move {
            let mut quiet = IdleObservation { changes: *changes.borrow_and_update(), checkpoint: false };
            let mut pause = Some(CHECKPOINT_AFTER);
            while let Some(next) = pause {
                tokio::select! {
                    () = tokio::time::sleep(next) => {}
                    Ok(()) = changes.changed(), if quiet.checkpoint => {
                        quiet = IdleObservation { changes: *changes.borrow_and_update(), checkpoint: false };
                        pause = Some(CHECKPOINT_AFTER);
                        continue;
                    }
                }
                let Some(present) = state.upgrade() else { return };
                let mut present = present.lock_owned().await;
                pause = present.keep(&mut quiet).await.unwrap_or_else(|error| {
                    tracing::debug!(%error, "no checkpoint");
                    None
                });
                changes.mark_unchanged();
                present.has_checkpoint_task = pause.is_some();
            }
        });
    }
}

#[async_trait]
impl api::Session for Session {
    async fn execute(&self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, EngineError> {
        Ok(self.run(request, events, None).await?.0)
    }

    async fn execute_and_list(
        &self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: &str,
    ) -> Result<CellAndFiles, EngineError> {
        let (outcome, listed) = self.run(request, events, Some(directory)).await?;
        Ok((outcome, listing(listed)))
    }

    async fn estimated_bytes(&self) -> Option<u64> {
        self.state.lock().await.machine.changed_bytes()
    }

    async fn measured_bytes(&self) -> Result<u64, EngineError> {
        let mut state = self.ready().await?;
        let size = state.machine.measure().await;
        self.roll_back_if_ended(&mut state, size).await
    }

    async fn mount(&self, layers: &[Layer]) -> Result<(), EngineError> {
        self.mount(layers).await
    }

    fn layers(&self) -> Vec<Layer> {
        self.layers()
    }

    async fn fork(&self) -> Result<Box<dyn api::Session>, EngineError> {
        Ok(Box::new(self.fork().await?))
    }

    async fn write_to(&self, path: &Path) -> Result<u64, EngineError> {
        let mut state = self.state.lock().await;
        state.check_transaction()?;
        state.await_checkpoint().await;
        let size = state.machine.write_to(path).await;
        self.roll_back_if_ended(&mut state, size).await
    }

    async fn enable_crash_recovery(&self, path: &Path) -> Result<(), EngineError> {
        self.enable_crash_recovery(path).await
    }

    fn interrupt_handle(&self) -> Arc<dyn api::InterruptHandle> {
        Arc::new(self.interrupt_handle())
    }
}

impl Sandbox {
    /// Makes a new session.
    ///
    /// # Errors
    /// The errors of [`Sandbox::machine`].
    pub async fn session(&self, spec: MachineSpec) -> Result<Session, EngineError> {
        // Input that was read cannot be provided again.
        let fresh = spec.stdin.is_none() && spec.messages.is_none();
        let machine = self.machine(spec).await?;
        Ok(if fresh { Session::of(machine, true) } else { Session::new(machine) })
    }
}
