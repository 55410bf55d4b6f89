//! Transactions of sessions: changes that the caller commits or rolls back.
//!
//! The caller may have to store the results of a cell before it commits, and storing may fail. Between
//! [`SessionTransaction::begin`] and [`SessionTransaction::commit`] the checkpoint keeps the state from before the
//! transaction; [`SessionTransaction::roll_back`] restores it.

use async_trait::async_trait;

use super::session::{Session, SessionState};
use crate::api::{EngineError, ExitReason, Layer, SessionTransaction};

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

fn rolled_back(reason: ExitReason) -> EngineError {
    EngineError::RolledBack { reason, output_dropped: 0, peak_memory_bytes: None }
}

impl SessionState {
    /// Checks that the transaction has not failed: a further cell would run on the state before it.
    ///
    /// # Errors
    /// [`EngineError::RolledBack`] if it has failed.
    pub(super) fn check_transaction(&self) -> Result<(), EngineError> {
        match &self.transaction {
            Some(Transaction { progress: Progress::Failed(reason), .. }) => Err(rolled_back(reason.clone())),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl SessionTransaction for Session {
    async fn begin(&self) -> Result<(), EngineError> {
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

    async fn commit(&self) -> Result<(), EngineError> {
        let mut state = self.state().await;
        match state.transaction.take() {
            Some(Transaction { progress: Progress::Failed(reason), .. }) => Err(rolled_back(reason)),
            Some(Transaction { progress: Progress::Changed, .. }) => {
                // If the message cannot be sent, the machine has ended; the next request reports that.
                state.report_pending = state.machine.update_checkpoint().await.is_ok();
                self.state_changed(state);
                Ok(())
            }
            Some(Transaction { progress: Progress::Unchanged, .. }) | None => Ok(()),
        }
    }

    async fn roll_back(&self) -> Result<(), EngineError> {
        let mut state = self.state().await;
        match state.transaction.as_ref().map(|transaction| &transaction.progress) {
            Some(Progress::Changed) => {
                let back = self.take_over(&mut state).await;
                state.transaction = None;
                if back {
                    return Ok(());
                }
                Err(EngineError::MachineExited {
                    reason: ExitReason::Cancelled,
                    output_dropped: 0,
                    peak_memory_bytes: None,
                })
            }
            _ => {
                state.transaction = None;
                Ok(())
            }
        }
    }
}
