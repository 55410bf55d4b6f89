//! Transactions of sessions: changes that the caller commits or rolls back.
//!
//! The caller may have to store the results of a cell before it commits, and storing may fail. Between
//! [`Session::begin`] and [`Session::commit`] the checkpoint keeps the state from before the transaction;
//! [`Session::roll_back`] restores it.

use super::error::Error;
use super::session::{Session, SessionState};
use crate::api::{ExitReason, Layer};

/// The state of a transaction.
#[derive(Debug)]
pub(super) struct Transaction {
    progress: Progress,
    /// Wheels that were mounted when it began.
    layers: Vec<Layer>,
}

#[derive(Debug)]
enum Progress {
    /// No changes yet.
    Unchanged,
    /// The state has changed.
    Changed,
    /// The machine has ended, for this reason, and the state before the transaction has been restored.
    Failed(ExitReason),
}

impl Transaction {
    /// Marks it changed.
    pub(super) fn change(&mut self) {
        if matches!(self.progress, Progress::Unchanged) {
            self.progress = Progress::Changed;
        }
    }

    /// Marks it failed; the checkpoint has been restored.
    pub(super) fn fail(&mut self, reason: ExitReason) {
        self.progress = Progress::Failed(reason);
    }

    /// Wheels that were mounted when it began.
    pub(super) fn layers(&self) -> &[Layer] {
        &self.layers
    }
}

fn rolled_back(reason: ExitReason) -> Error {
    Error::RolledBack { reason, output_dropped: 0, peak_memory_bytes: None }
}

impl SessionState {
    /// Checks that the transaction has not failed: a further cell would run on the state before it.
    ///
    /// # Errors
    /// [`Error::RolledBack`] if it has failed.
    pub(super) fn check_transaction(&self) -> Result<(), Error> {
        match &self.transaction {
            Some(Transaction { progress: Progress::Failed(reason), .. }) => Err(rolled_back(reason.clone())),
            _ => Ok(()),
        }
    }
}

impl Session {
    /// Begins a transaction: the current state is kept until [`Session::commit`] or [`Session::roll_back`]. A
    /// transaction that is still open is committed first.
    ///
    /// # Errors
    /// Those of [`Session::execute`].
    pub async fn begin(&self) -> Result<(), Error> {
        let mut state = self.state().await;
        if let Some(Transaction { progress: Progress::Changed, .. }) = state.transaction.take() {
            self.state_changed(state);
        } else {
            drop(state);
        }
        let mut state = self.ready().await?;
        let layers = state.machine.layers();
        state.transaction = Some(Transaction { progress: Progress::Unchanged, layers });
        Ok(())
    }

    /// Commits the transaction. The checkpoint is updated in the background.
    ///
    /// # Errors
    /// [`Error::RolledBack`] if the machine ended in the transaction: the session is as it was before. Those of
    /// [`Session::execute`] if the session is lost.
    pub async fn commit(&self) -> Result<(), Error> {
        let mut state = self.state().await;
        match state.transaction.take() {
            Some(Transaction { progress: Progress::Failed(reason), .. }) => Err(rolled_back(reason)),
            Some(Transaction { progress: Progress::Changed, .. }) => {
                // If the message cannot be sent, the machine has ended; the next request reports that.
                state.report_pending = state.machine.keep_checkpoint().await.is_ok();
                self.state_changed(state);
                Ok(())
            }
            Some(Transaction { progress: Progress::Unchanged, .. }) | None => Ok(()),
        }
    }

    /// Rolls back the transaction, files included.
    ///
    /// # Errors
    /// [`Error::MachineExited`] if the state before cannot be restored: the session is lost.
    pub async fn roll_back(&self) -> Result<(), Error> {
        let mut state = self.state().await;
        match state.transaction.as_ref().map(|transaction| &transaction.progress) {
            Some(Progress::Changed) => {
                let back = self.take_over(&mut state).await;
                state.transaction = None;
                if back {
                    return Ok(());
                }
                Err(Error::MachineExited { reason: ExitReason::Cancelled, output_dropped: 0, peak_memory_bytes: None })
            }
            _ => {
                state.transaction = None;
                Ok(())
            }
        }
    }
}
