//! Transactions of sessions: changes that count once the caller has said so, or never were.
//!
//! The caller may have to store what a cell did before it counts, and storing may fail. Between [`Session::begin`] and
//! [`Session::commit`] the checkpoint stays that of the state before; [`Session::roll_back`] lets it take over.

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
    /// Nothing.
    Unchanged,
    /// The state is another one.
    Changed,
    /// The machine has ended, for this reason, and the state before the transaction is back.
    Failed(ExitReason),
}

impl Transaction {
    /// The state is another one from now on.
    pub(super) fn change(&mut self) {
        if matches!(self.progress, Progress::Unchanged) {
            self.progress = Progress::Changed;
        }
    }

    /// The state before is back.
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
    /// Checks that no transaction has failed: whoever goes on in it would work on the state before.
    ///
    /// # Errors
    /// [`Error::RolledBack`] when one has.
    pub(super) fn check_transaction(&self) -> Result<(), Error> {
        match &self.transaction {
            Some(Transaction { progress: Progress::Failed(reason), .. }) => Err(rolled_back(reason.clone())),
            _ => Ok(()),
        }
    }
}

impl Session {
    /// Begins a transaction: until [`Session::commit`] or [`Session::roll_back`], the present state stays at hand. One that was
    /// not ended is committed first.
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

    /// Ends a transaction: what was done counts. The checkpoint is seen to in the background.
    ///
    /// # Errors
    /// [`Error::RolledBack`] when the machine ended in the transaction: the session is as it was before. Those of
    /// [`Session::execute`] when the session is lost.
    pub async fn commit(&self) -> Result<(), Error> {
        let mut state = self.state().await;
        match state.transaction.take() {
            Some(Transaction { progress: Progress::Failed(reason), .. }) => Err(rolled_back(reason)),
            Some(Transaction { progress: Progress::Changed, .. }) => {
                // A machine that cannot be told has ended, which the next request finds out.
                state.expected = state.machine.keep_checkpoint().await.is_ok();
                self.state_changed(state);
                Ok(())
            }
            Some(Transaction { progress: Progress::Unchanged, .. }) | None => Ok(()),
        }
    }

    /// Ends a transaction: what was done never was, files included.
    ///
    /// # Errors
    /// [`Error::MachineExited`] when the state before cannot be had: the session is lost.
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
