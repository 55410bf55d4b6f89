//! What a tool call asks for.

use std::sync::Arc;

use brumate_session::sessions::CellRequest;
use brumate_session::{InputRequests, Phases, RunRequest};

use crate::interpreter::{Call, Interpreter};

/// What a tool call asks for.
#[derive(Debug)]
pub(crate) enum Work {
    /// A run in an interpreter of its own.
    Run(RunRequest),
    /// The same in a session.
    RunInSession(Interpreter, CellRequest),
    /// A tool of the interpreter.
    Call(Interpreter, Call),
}

impl Work {
    /// Whether it runs code, which may take its time.
    pub(crate) fn is_code(&self) -> bool {
        matches!(self, Work::Run(_) | Work::RunInSession(..) | Work::Call(_, Call::Execute(_)))
    }

    /// The same work, whose code's questions go to `questions`, and which notes in `phases` what it waits for.
    pub(crate) fn heard_by(self, questions: Option<InputRequests>, phases: Option<Arc<Phases>>) -> Self {
        let cell = |cell: CellRequest, questions, phases| cell.with_input_requests(questions).with_phases(phases);
        match self {
            Work::Run(request) => Work::Run(request.with_input_requests(questions).with_phases(phases)),
            Work::RunInSession(interpreter, request) => {
                Work::RunInSession(interpreter, cell(request, questions, phases))
            }
            Work::Call(interpreter, Call::Execute(request)) => {
                Work::Call(interpreter, Call::Execute(cell(request, questions, phases)))
            }
            other => other,
        }
    }
}
