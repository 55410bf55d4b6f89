//! Requests to run code in a session.

use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::{Execute, ExecuteMode};

use super::limits::WORKSPACE;
use crate::execution::execute_request;
use crate::globals::Globals;
use crate::input::{InputForwarder, InputRequests};
use crate::request::Phases;

/// Code to run in a session, with its options.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CellRequest {
    /// Session id; `None` makes a new session.
    pub session: Option<String>,
    /// Source text.
    pub code: String,
    /// Globals to set before the code runs.
    pub globals: Globals,
    /// Sender for the code's input requests; `None` raises an error in code that asks.
    pub input_requests: Option<InputRequests>,
    /// Wall-clock time limit of this cell; `None` leaves that of the session.
    pub time_limit: Option<Duration>,
    /// Records when the cell is admitted and when its code starts; `None` records nothing.
    pub phases: Option<Arc<Phases>>,
    /// Whether the code runs as plain Python rather than through IPython's shell: without magics and shell lines, and
    /// with the value of the last expression in the report.
    pub plain: bool,
}

impl CellRequest {
    /// Makes a request for code in a session, or in a new one.
    pub fn new(session: Option<&str>, code: impl Into<String>) -> Self {
        Self { session: session.map(str::to_owned), code: code.into(), ..Self::default() }
    }

    /// Sets the sender for the code's input requests.
    #[must_use]
    pub fn with_input_requests(mut self, input_requests: Option<InputRequests>) -> Self {
        self.input_requests = input_requests;
        self
    }

    /// Records the times of admission and start in `phases`.
    #[must_use]
    pub fn with_phases(mut self, phases: Option<Arc<Phases>>) -> Self {
        self.phases = phases;
        self
    }

    /// Sets the globals to set before the code runs.
    #[must_use]
    pub fn with_globals(mut self, globals: impl Into<Globals>) -> Self {
        self.globals = globals.into();
        self
    }

    /// Sets the wall-clock time limit.
    #[must_use]
    pub fn with_time_limit(mut self, time: Option<Duration>) -> Self {
        self.time_limit = time;
        self
    }

    /// Runs the code as plain Python, without IPython's shell.
    #[must_use]
    pub fn without_shell(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Returns the engine's request for the cell with this number.
    pub(super) fn into_execute(self, number: u64, input: &InputForwarder, allow_install: bool) -> Execute {
        Execute {
            // A file name for each cell: functions of earlier cells keep their lines in tracebacks.
            file_name: format!("cell_{number}.py"),
            env: vec![("OUTPUT_DIR".to_owned(), WORKSPACE.to_owned())],
            mode: if self.plain { ExecuteMode::Cell } else { ExecuteMode::NotebookCell },
            rich: true,
            figures: true,
            wall: self.time_limit,
            ..execute_request(self.code, self.globals, input, allow_install)
        }
    }
}
