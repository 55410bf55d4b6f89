//! The MCP server: its settings, its tools and its resources.

use std::sync::Arc;
use std::time::Duration;

use brumate_mcp::{LogLevel, Server};
use brumate_session::sessions::Sessions;
use brumate_session::{CancellationToken, Runner};
use serde_json::json;

use crate::code_call::{DEFAULT_INPUT_TIMEOUT, TASK_AFTER};
use crate::format::ReturnMode;
use crate::resources::FileResources;
use crate::state::{ServerState, ToolSet};
use crate::tools::{self, ToolLayer};
use crate::traces::Traces;

/// An MCP server that runs Python code.
#[derive(Debug, Clone)]
pub struct PythonServer {
    state: ServerState,
    /// The recorder of requests and runs.
    traces: Option<Traces>,
}

impl PythonServer {
    /// Makes a server whose tool runs code with `runner` and writes results in `mode`.
    pub fn new(runner: Runner, mode: ReturnMode) -> Self {
        let state = ServerState {
            runner,
            mode,
            figures: true,
            tools: ToolSet::Run,
            sessions: None,
            input_timeout: DEFAULT_INPUT_TIMEOUT,
            task_after: TASK_AFTER,
            stop: CancellationToken::new(),
        };
        Self { state, traces: None }
    }

    /// Sets where requests and runs are recorded. Default: nowhere.
    #[must_use]
    pub fn with_traces(mut self, traces: Option<Traces>) -> Self {
        self.traces = traces;
        self
    }

    /// Sets the time after which a call becomes a task, for clients that know tasks. Default: 2 seconds.
    #[must_use]
    pub fn with_task_after(mut self, time: Duration) -> Self {
        self.state.task_after = time;
        self
    }

    /// Sets whether results of `run_python_code` contain the figures that the code shows. Default: true.
    #[must_use]
    pub fn with_figures(mut self, figures: bool) -> Self {
        self.state.figures = figures;
        self
    }

    /// Sets how long the server waits for each answer to `input()` or `getpass()`. Default: 10 minutes.
    #[must_use]
    pub fn with_input_timeout(mut self, timeout: Duration) -> Self {
        self.state.input_timeout = timeout;
        self
    }

    /// Sets the tools, and the sessions that they work on.
    #[must_use]
    pub fn with_sessions(mut self, sessions: Sessions, tools: ToolSet) -> Self {
        self.state.tools = tools;
        self.state.sessions = (tools != ToolSet::Run).then_some(sessions);
        self
    }

    /// Returns the server of the SDK with all tools and resources.
    pub(crate) fn mcp_server(&self) -> Server {
        let state = Arc::new(self.state.clone());
        let (name, instructions) = tools::introduction(state.tools);
        let mut capabilities = json!({"logging": {}, "tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        if state.sessions.is_some() {
            capabilities["resources"] = json!({"listChanged": true});
        }
        let mut server = Server::new(name)
            .version(env!("CARGO_PKG_VERSION"))
            .title("Brumate")
            .instructions(instructions)
            .capabilities(capabilities)
            // Before 2026-07-28 output is sent only to clients that have set a level.
            .log_level(LogLevel::Emergency)
            .layer(ToolLayer::new(&state))
            .tools(tools::tools(&state));
        if let Some(sessions) = &state.sessions {
            server = server.resource_provider(FileResources::new(sessions, &state.stop));
        }
        match &self.traces {
            Some(traces) => server.request_layer(traces.clone()),
            None => server,
        }
    }

    /// Returns the token that cancels all running calls, and how long they may take to answer then.
    pub(crate) fn interrupt(&self) -> (CancellationToken, Duration) {
        (self.state.stop.clone(), self.state.grace())
    }
}
