//! Starting a machine until its application is ready.

use std::sync::Arc;

use super::connection::{ApplicationError, Connection};
use super::limits::HttpLimits;
use crate::reports::ReportLog;
use crate::{Launcher, StartError, StartedMachine};

/// A machine with an application could not be started.
#[derive(Debug, thiserror::Error)]
pub enum MachineStartError {
    /// There is no machine, or it has not said what it serves.
    #[error(transparent)]
    Launch(#[from] StartError),
    /// The application did not start.
    #[error(transparent)]
    Start(#[from] ApplicationError),
}

/// Starts machines. Clones start the same ones.
#[derive(Clone)]
pub(super) struct MachineStarter {
    launcher: Arc<dyn Launcher>,
    limits: HttpLimits,
    reports: Arc<ReportLog>,
}

impl std::fmt::Debug for MachineStarter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("MachineStarter").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl MachineStarter {
    pub(super) fn new(launcher: Arc<dyn Launcher>, limits: HttpLimits) -> Self {
        Self { launcher, limits, reports: Arc::default() }
    }

    /// Returns the limits of the machines.
    pub(super) fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    /// Returns the log of what becomes of the machines.
    pub(super) fn reports(&self) -> &ReportLog {
        &self.reports
    }

    /// Returns the revision of the program that the next machine has.
    pub(super) fn revision(&self) -> u64 {
        self.launcher.revision()
    }

    /// Starts a machine and waits until its application is ready. When this future is dropped, the machine is killed.
    ///
    /// # Errors
    ///
    /// [`MachineStartError`].
    pub(super) async fn start(&self) -> Result<Connection, MachineStartError> {
        let machine = StartedMachine::start_within(&*self.launcher, self.limits.start_timeout).await?;
        Ok(Connection::start(machine, &self.limits).await?)
    }
}
