//! The request that a tool call stands for.

use std::sync::Arc;

use brumate_session::{InputRequests, Phases, Request};

use crate::interpreter::{Interpreter, InterpreterCall};

/// The request of a tool call.
#[derive(Debug)]
pub(crate) enum ToolRequest {
    /// `run_python_code` in a fresh interpreter.
    Run(Box<Request>),
    /// `run_python_code` in a session.
    RunInSession(Interpreter, Box<Request>),
    /// A tool of the code interpreter.
    Interpreter(Interpreter, InterpreterCall),
}

impl ToolRequest {
    /// Returns whether the request runs code, which may take long.
    pub(crate) fn runs_code(&self) -> bool {
        matches!(
            self,
            ToolRequest::Run(_)
                | ToolRequest::RunInSession(..)
                | ToolRequest::Interpreter(_, InterpreterCall::Execute(_))
        )
    }

    /// Sets where input requests of the code go, and where the run records the times of its phases.
    pub(crate) fn with_observers(self, questions: Option<InputRequests>, phases: Option<Arc<Phases>>) -> Self {
        let observed = |request: Box<Request>| Box::new(request.with_input_requests(questions).with_phases(phases));
        match self {
            ToolRequest::Run(request) => ToolRequest::Run(observed(request)),
            ToolRequest::RunInSession(interpreter, request) => {
                ToolRequest::RunInSession(interpreter, observed(request))
            }
            ToolRequest::Interpreter(interpreter, InterpreterCall::Execute(request)) => {
                ToolRequest::Interpreter(interpreter, InterpreterCall::Execute(observed(request)))
            }
            other => other,
        }
    }
}
