//! Sessions: machines that keep their state from cell to cell, whatever a cell does.
//!
//! After each cell, as soon as its answer is sent, the machine sees to its checkpoint: a paused copy of itself, that follows from
//! cell to cell or is forked anew. A cell that crashes, is killed or runs out of memory takes the machine with it; the
//! checkpoint takes over, and the session is as it was before that cell, files included. In a transaction
//! ([`Session::begin`]) the checkpoint stays as it is until the caller has decided.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{MutexGuard, mpsc, watch};

use super::Sandbox;
use super::crash_snapshot::CrashSnapshotFiles;
use super::error::Error;
use super::lifecycle::PausedMachine;
use super::machine::Machine;
use super::stop::InterruptHandle;
use super::transaction::Transaction;
use crate::api::{Analysis, Event, Execute, FileInfo, MachineSpec, Outcome};

/// A session. Dropping it ends its processes.
#[derive(Debug)]
pub struct Session {
    state: Arc<tokio::sync::Mutex<SessionState>>,
    /// Stops the machine that runs at present.
    interrupt_handle: Arc<Mutex<InterruptHandle>>,
}

#[derive(Debug)]
pub(super) struct SessionState {
    pub(super) machine: Machine,
    /// The session as it was after the last cell.
    pub(super) checkpoint: Option<PausedMachine>,
    /// The machine sees to it by itself, and says how.
    pub(super) expected: bool,
    /// The one before: it follows, or its state counts no more. Ending its process takes time that nobody should wait for.
    outdated: Option<PausedMachine>,
    /// Counts what has changed the state; the task that sees to the checkpoint hears it.
    changes: watch::Sender<u64>,
    /// A task sees to the checkpoint while nobody waits.
    kept: bool,
    /// Nothing has changed since the machine was forked from its image: another one is as good as a checkpoint.
    pub(super) fresh: bool,
    /// The checkpoint stays that of the state before it.
    pub(super) transaction: Option<Transaction>,
    /// Last, so that it is dropped when nobody is left who could write it.
    pub(super) crash_snapshot: Option<CrashSnapshotFiles>,
}

impl SessionState {
    /// Waits for the checkpoint that the machine sees to by itself, if it does. One that has not come to be is asked for again.
    pub(super) async fn await_checkpoint(&mut self) {
        if !self.expected {
            return;
        }
        match self.machine.receive_checkpoint_report(&mut self.expected).await {
            Ok(None) => self.checkpoint = self.outdated.take(),
            Ok(Some(checkpoint)) => {
                self.checkpoint = Some(checkpoint);
                // Both states have these layers now.
                self.machine.remember_exactly().await;
            }
            Err(error) => tracing::debug!(%error, "no checkpoint yet"),
        }
    }

    /// Makes the checkpoint if there is none of the present state, and it needs one.
    async fn checkpoint(&mut self) -> Result<(), Error> {
        self.await_checkpoint().await;
        drop(self.outdated.take());
        if self.checkpoint.is_none() && !self.fresh {
            self.checkpoint = Some(self.machine.checkpoint(false).await?);
            self.machine.remember_exactly().await;
        }
        Ok(())
    }

    /// What there is to do while nobody waits; returns when to ask again. A session in use is left alone: the next cell comes first.
    async fn keep(&mut self, quiet: &mut IdleObservation) -> Result<Option<Duration>, Error> {
        if self.transaction.is_some() {
            return Ok(Some(LOOK_AGAIN));
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
        self.machine.let_follow().await?;
        Ok(Some(if quiet.checkpoint { SETTLE_AFTER } else { LOOK_AGAIN }))
    }

    /// Makes a checkpoint anew that shares with the machine all memory it can.
    async fn share_memory(&mut self) -> Result<(), Error> {
        drop(self.checkpoint.take());
        self.checkpoint = Some(self.machine.checkpoint(true).await?);
        Ok(())
    }
}

/// What was seen of a session that may not be in use.
struct IdleObservation {
    /// As in [`SessionState`].
    changes: u64,
    /// There is a checkpoint of that state.
    checkpoint: bool,
}

/// The checkpoint is seen to so long after a change: the next cell may come before, and does it then.
const CHECKPOINT_AFTER: Duration = Duration::from_millis(2);

/// Where it does, one looks again after so long.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A session that is not used for so long gives memory back: its next cell begins a little later.
const SETTLE_AFTER: Duration = Duration::from_secs(2);

impl Session {
    /// Makes a session of a machine.
    pub fn new(machine: Machine) -> Session {
        Session::of(machine, false)
    }

    fn of(machine: Machine, fresh: bool) -> Session {
        let interrupt_handle = Arc::new(Mutex::new(machine.interrupt_handle()));
        let changes = watch::Sender::default();
        let seen = changes.subscribe();
        let (checkpoint, outdated, crash_snapshot) = (None, None, None);
        let (expected, kept, transaction) = (false, !fresh, None);
        let state =
            SessionState { machine, checkpoint, expected, outdated, changes, kept, fresh, transaction, crash_snapshot };
        let session = Session { state: Arc::new(tokio::sync::Mutex::new(state)), interrupt_handle };
        if !fresh {
            session.maintain_checkpoint(seen);
        }
        session
    }

    /// Runs a cell. Events arrive while it runs.
    ///
    /// # Errors
    /// [`Error::RolledBack`] when the cell ended the machine: the session is as it was before. [`Error::MachineExited`] when the
    /// session is lost.
    pub async fn execute(&self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, Error> {
        Ok(self.run(request, events, None).await?.0)
    }

    /// As [`Session::execute`]; also lists the files below `directory`, as [`Machine::list_files`] does, before the state it left
    /// counts: when the machine ends meanwhile, the cell has not happened.
    ///
    /// # Errors
    /// As [`Session::execute`]. That the directory cannot be listed is not one of them.
    pub async fn execute_and_list(
        &self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: &str,
    ) -> Result<(Outcome, Result<Vec<FileInfo>, Error>), Error> {
        self.run(request, events, Some(directory)).await
    }

    async fn run(
        &self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: Option<&str>,
    ) -> Result<(Outcome, Result<Vec<FileInfo>, Error>), Error> {
        let mut state = self.ready().await?;
        let in_transaction = state.transaction.is_some();
        let ran = match in_transaction {
            true => state.machine.execute_and(request, events, directory, None).await,
            false => state.machine.execute_and_keep(request, events, directory).await,
        };
        match ran {
            Ok((outcome, listed)) => {
                state.expected = !in_transaction;
                self.state_changed(state);
                Ok((outcome, listed))
            }
            Err(error) => self.roll_back_if_ended(&mut state, Err(error)).await,
        }
    }

    /// Parses `code` with the guest's parser; returns what it imports.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub async fn analyze(&self, code: &str) -> Result<Analysis, Error> {
        let mut state = self.ready().await?;
        let result = state.machine.analyze(code).await;
        self.roll_back_if_ended(&mut state, result).await
    }

    /// The session with a checkpoint of its present state; no cell runs as long as the guard lives.
    pub(super) async fn ready(&self) -> Result<MutexGuard<'_, SessionState>, Error> {
        let mut state = self.state.lock().await;
        state.check_transaction()?;
        match state.transaction {
            // Its checkpoint is the one that it began with.
            Some(_) => state.await_checkpoint().await,
            None => state.checkpoint().await?,
        }
        Ok(state)
    }

    /// The session, whatever it does; for what needs no checkpoint.
    pub(super) async fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().await
    }

    /// The state is another one from now on. The old checkpoint follows, or the next is forked, while nobody waits.
    pub(super) fn state_changed(&self, mut state: MutexGuard<'_, SessionState>) {
        if let Some(transaction) = &mut state.transaction {
            transaction.change();
            return;
        }
        state.fresh = false;
        self.renew_checkpoint(state);
    }

    /// The present checkpoint is none any more; it follows, or another one is forked, if the session needs one, while nobody
    /// waits.
    pub(super) fn renew_checkpoint(&self, mut state: MutexGuard<'_, SessionState>) {
        state.outdated = state.checkpoint.take().or(state.outdated.take());
        state.changes.send_modify(|changes| *changes += 1);
        if !state.fresh && !std::mem::replace(&mut state.kept, true) {
            self.maintain_checkpoint(state.changes.subscribe());
        }
    }

    /// After an attempt to change something: the state is another now, also when files were changed in part only.
    pub(super) async fn changed(
        &self,
        mut state: MutexGuard<'_, SessionState>,
        result: Result<(), Error>,
    ) -> Result<(), Error> {
        match result {
            Ok(()) | Err(Error::File { .. }) => {
                self.state_changed(state);
                result
            }
            other => self.roll_back_if_ended(&mut state, other).await,
        }
    }

    /// Rolls back when the machine has ended.
    pub(super) async fn roll_back_if_ended<T>(
        &self,
        state: &mut SessionState,
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        match result {
            Err(Error::MachineExited { reason, output_dropped, peak_memory_bytes }) => {
                let lost = Error::MachineExited { reason: reason.clone(), output_dropped, peak_memory_bytes };
                let rolled_back = Error::RolledBack { reason: reason.clone(), output_dropped, peak_memory_bytes };
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

    /// The checkpoint takes over from a machine that has ended, or whose state counts no more; false when that fails.
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
        // The crash snapshot may name what the cell had installed.
        machine.mounted.mark_wide();
        *self.interrupt_handle.lock().unwrap_or_else(PoisonError::into_inner) = machine.interrupt_handle();
        state.machine = machine;
        // A fork is its first sign of life: what is told is true.
        !matches!(state.checkpoint().await, Err(Error::MachineExited { .. }))
    }

    /// Forks the session: the other one goes on from this one's present state.
    ///
    /// # Errors
    /// When the system has no process left, or as [`Session::execute`] when the machine has ended.
    pub async fn fork(&self) -> Result<Session, Error> {
        let mut state = self.state.lock().await;
        state.check_transaction()?;
        state.await_checkpoint().await;
        let paused = state.machine.fork().await;
        let paused = self.roll_back_if_ended(&mut state, paused).await?;
        drop(state);
        Ok(Session::new(paused.resume().await?))
    }

    /// Puts the session to sleep in the file `path`; see [`Machine::hibernate`]. The session itself goes on; drop it.
    ///
    /// # Errors
    /// Those of [`Machine::hibernate`], or of [`Session::execute`] when the machine has ended.
    pub async fn hibernate(&self, path: &Path) -> Result<u64, Error> {
        let mut state = self.state.lock().await;
        state.check_transaction()?;
        state.await_checkpoint().await;
        let size = state.machine.hibernate(path).await;
        self.roll_back_if_ended(&mut state, size).await
    }

    /// Estimates how many bytes [`Session::hibernate`] would write, rather too many: it compresses. `None` where the kernel does not
    /// tell.
    pub async fn estimated_bytes(&self) -> Option<u64> {
        self.state.lock().await.machine.changed_bytes()
    }

    /// Stops the cell that runs now, or the next one: KeyboardInterrupt, then SIGKILL and a roll-back.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.interrupt_handle.lock().unwrap_or_else(PoisonError::into_inner).present()
    }

    /// Sees to the checkpoint in the background, until the session has not been used for a while. A failure is met again, and
    /// told, by the next cell.
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
                present.kept = pause.is_some();
            }
        });
    }
}

impl Sandbox {
    /// Makes a new session.
    ///
    /// # Errors
    /// Those of [`Sandbox::machine`].
    pub async fn session(&self, spec: MachineSpec) -> Result<Session, Error> {
        // Standard input that was read cannot be given again.
        let fresh = spec.stdin.is_none();
        let machine = self.machine(spec).await?;
        Ok(if fresh { Session::of(machine, true) } else { Session::new(machine) })
    }
}
