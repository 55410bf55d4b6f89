//! The MCP server: its settings, and the parts of a connection.
//!
//! | module | subject |
//! |---|---|
//! | [`registry`] | the tools that a server offers, and the request that a call stands for |
//! | [`calls`] | a tool call from its start to its result |
//! | [`resources`] | the files of sessions as resources |
//! | [`handler`] | the methods of the protocol |

mod calls;
mod handler;
mod registry;
mod resources;

use std::sync::Arc;
use std::time::Duration;

use brumate_mcp::lowlevel::Tasks;
use brumate_session::sessions::{InputDirs, LOCAL_PRINCIPAL, Sessions};
use brumate_session::{CancellationToken, Runner};

use crate::clients::Client;
use crate::elicitation::{DEFAULT_INPUT_TIMEOUT, PendingCalls};
use crate::format::ReturnMode;
use crate::interpreter::Interpreter;
use crate::log::LogThreshold;
use crate::tasks;
use crate::traces::Traces;
use registry::OfferedTool;

/// The set of tools that a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSet {
    /// `run_python_code` alone, with the arguments and results of mcp-run-python.
    #[default]
    Run,
    /// The tools of the code interpreter, with sessions.
    Interpreter,
    /// All tools. `run_python_code` takes a session as well.
    All,
}

/// An MCP server for one connection.
#[derive(Debug, Clone)]
pub struct PythonServer {
    runner: Runner,
    mode: ReturnMode,
    /// Whether results of `run_python_code` contain figures.
    figures: bool,
    log_threshold: Arc<LogThreshold>,
    stop: CancellationToken,
    /// The principal that calls are charged to.
    principal: Arc<str>,
    tools: ToolSet,
    offered_tools: Arc<[OfferedTool]>,
    /// `None` for [`ToolSet::Run`].
    interpreter: Option<Interpreter>,
    /// How long a person may take for an answer to `input()`.
    pub(crate) input_timeout: Duration,
    pending: PendingCalls,
    pub(crate) tasks: Tasks,
    /// The time after which a call becomes a task, for clients that know tasks.
    task_after: Duration,
    /// The recorder of requests and runs.
    traces: Option<Traces>,
}

impl PythonServer {
    /// Makes a server whose tool runs code with `runner` and writes results in `mode`.
    pub fn new(runner: Runner, mode: ReturnMode) -> Self {
        Self {
            runner,
            mode,
            figures: true,
            log_threshold: Arc::default(),
            stop: CancellationToken::new(),
            principal: LOCAL_PRINCIPAL.into(),
            tools: ToolSet::Run,
            offered_tools: registry::offered_tools(ToolSet::Run, &InputDirs::default()),
            interpreter: None,
            input_timeout: DEFAULT_INPUT_TIMEOUT,
            pending: PendingCalls::default(),
            tasks: Tasks::default(),
            task_after: tasks::TASK_AFTER,
            traces: None,
        }
    }

    /// Sets where requests and runs are recorded. Default: nowhere.
    #[must_use]
    pub fn with_traces(mut self, traces: Option<Traces>) -> Self {
        self.traces = traces;
        self
    }

    /// Returns where requests are recorded.
    pub(crate) fn traces(&self) -> Option<Traces> {
        self.traces.clone()
    }

    /// Sets the time after which a call becomes a task, for clients that know tasks. Default: 2 seconds.
    #[must_use]
    pub fn with_task_after(mut self, time: Duration) -> Self {
        self.task_after = time;
        self
    }

    /// Sets whether results of `run_python_code` contain the figures that the code shows. Default: true.
    #[must_use]
    pub fn with_figures(mut self, figures: bool) -> Self {
        self.figures = figures;
        self
    }

    /// Sets how long the server waits for each answer to `input()` or `getpass()`. Default: 10 minutes.
    #[must_use]
    pub fn with_input_timeout(mut self, timeout: Duration) -> Self {
        self.input_timeout = timeout;
        self
    }

    /// Sets the tools, and the sessions that they work on.
    #[must_use]
    pub fn with_sessions(mut self, sessions: Sessions, tools: ToolSet) -> Self {
        self.tools = tools;
        self.offered_tools = registry::offered_tools(tools, &sessions.settings().inputs);
        self.interpreter = (tools != ToolSet::Run).then(|| Interpreter::new(sessions));
        self
    }

    /// Returns this server for a connection of `client`.
    pub(crate) fn for_client(&self, client: &Client) -> Self {
        let interpreter = self.interpreter.as_ref();
        Self {
            log_threshold: Arc::default(),
            principal: client.name.clone(),
            interpreter: interpreter.map(|known| known.for_connection(client.name.clone(), client.connection.clone())),
            pending: client.pending.clone(),
            ..self.clone()
        }
    }

    /// Returns the token that cancels all running calls.
    pub(crate) fn stop_token(&self) -> &CancellationToken {
        &self.stop
    }

    /// Returns how long a cancelled run may take to end.
    pub(crate) fn grace(&self) -> Duration {
        self.runner.limits().grace
    }

    /// Returns the interpreter for a request. `stateless`: the request is of protocol 2026-07-28 or later.
    pub(crate) fn interpreter_for(&self, stateless: bool) -> Option<Interpreter> {
        self.interpreter.as_ref().map(|interpreter| interpreter.for_request(stateless))
    }
}
