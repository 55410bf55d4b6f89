//! The tool `execute_code`. The server "Python Code Interpreter" has the same names, arguments and results, and its
//! clients depend on them.

use std::sync::Arc;

use brumate_mcp::{Context, Error, Tool, ToolResult};
use brumate_session::Request;
use brumate_session::sessions::{CellReport, SessionError, Sessions};
use serde_json::{Value, json};

use super::files::{file_list_schema, session_info_schema};
use super::{ArgumentReader, input, optional_session, output, tool};
use crate::client_sessions::ClientSessions;
use crate::code_call::{CodeCall, runs_code};
use crate::results::{self, error_text};
use crate::state::ServerState;

const DESCRIPTION: &str = "Execute Python code in a stateful session: variables, imports and files stay for the next call.\n\n\
    Leave session_id empty (or \"0\") in the first call; the answer's session_info has the id for the following ones. The text \
    of the last expression is the result. Figures that are shown or left open are saved and listed under files, as is every \
    file that the code writes to its working directory.";

/// Makes the tool.
pub(super) fn execute_code(state: &Arc<ServerState>) -> Tool {
    let schemas = (input_schema(), output_schema());
    runs_code(tool("execute_code", ("Execute code", DESCRIPTION), schemas, state, execute), state)
}

async fn execute(
    state: Arc<ServerState>,
    mut arguments: ArgumentReader,
    context: Context,
) -> Result<ToolResult, Error> {
    let sessions = state.sessions()?;
    let code = arguments.code("code", "the Python code to execute");
    let session = arguments.session();
    let request = arguments.finish(Request::cell(session.as_deref(), code))?;
    let call = CodeCall::new(&state, &context);
    let result = match call.run_in_session(sessions, request).await {
        Ok(report) => results::execute_result(report, sessions.limits(), sessions.timeout_in_words()).await,
        Err(error) => results::execute_error(&error_text(&error)),
    };
    call.end(&result);
    Ok(result)
}

impl CodeCall<'_> {
    /// Runs code in a session. The client sees the session's files listed from then on.
    pub(super) async fn run_in_session(
        &self,
        sessions: &Sessions,
        request: Request,
    ) -> Result<CellReport, SessionError> {
        let executing = sessions.clone();
        let run = self.run(request, |request, cancel, events| {
            Box::pin(async move { executing.execute(request, cancel, events).await })
        });
        let report = run.await?;
        ClientSessions::add(self.context(), report.id.as_str());
        if report.files_changed {
            ClientSessions::of(self.context()).set_changed();
        }
        Ok(report)
    }
}

fn input_schema() -> Value {
    input(
        json!({
            "code": {"type": "string", "description": "Python code to execute"},
            "session_id": optional_session(),
        }),
        &["code"],
    )
}

fn output_schema() -> Value {
    output(
        json!({
            "success": {"type": "boolean", "description": "The code ran to its end"},
            "output": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What was written and displayed, in order, and a line for each file that was made or changed",
            },
            "result": {"type": ["string", "null"], "description": "Text of the last expression's value"},
            "error": {"type": ["string", "null"], "description": "Name and message of the exception"},
            "traceback": {"type": "array", "items": {"type": "string"}, "description": "Lines of the traceback"},
            "files": file_list_schema(),
            "session_info": session_info_schema(),
        }),
        &["success", "output", "result", "error", "traceback", "files", "session_info"],
    )
}
