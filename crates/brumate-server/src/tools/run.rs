//! The tool `run_python_code`. mcp-run-python has the same names and texts, and its clients depend on them.

use std::sync::Arc;

use brumate_mcp::{Context, Error, Tool, ToolResult};
use brumate_session::{Report, Request, RunError};
use serde_json::{Value, json};

use super::{ArgumentReader, tool};
use crate::code_call::{CodeCall, runs_code};
use crate::format::{failure_text, result_text, structured_fields};
use crate::results::{self, error_text};
use crate::state::{ServerState, ToolSet};

/// The instructions for models of a server that has this tool only.
pub(super) const INSTRUCTIONS: &str = "Call the \"run_python_code\" tool with the Python code to run.";

/// Addition to the instructions of servers with sessions.
pub(super) const BESIDE_SESSIONS: &str =
    "The \"run_python_code\" tool runs code in an interpreter of its own, or in a session if it is given a session_id.";

const DESCRIPTION: &str = "Tool to execute Python code and return stdout, stderr, and return value.

The code may be async, and the value on the last line will be returned as the return value.

The code will be executed with Python 3.14.";

/// Makes the tool. In a server with all tools it takes a session as well.
pub(super) fn run_python_code(state: &Arc<ServerState>) -> Tool {
    let schemas = (input_schema(state.tools), output_schema());
    runs_code(tool("run_python_code", ("Run Python code", DESCRIPTION), schemas, state, run), state)
}

async fn run(state: Arc<ServerState>, mut arguments: ArgumentReader, context: Context) -> Result<ToolResult, Error> {
    let code = arguments.code("python_code", "the Python code to run");
    let request = Request::new(code).with_globals(arguments.globals("global_variables"));
    let session = if state.tools == ToolSet::All { arguments.session() } else { None };
    let request = arguments.finish(request)?;
    let call = CodeCall::new(&state, &context);
    let report = match (session, &state.sessions) {
        (Some(session), Some(sessions)) => {
            let ran = call.run_in_session(sessions, request.in_session(Some(&session))).await;
            ran.map(|report| report.run).map_err(|error| error_text(&error))
        }
        _ => {
            let runner = state.runner.clone();
            let run = call.run(request, |request, cancel, events| {
                Box::pin(async move { runner.run(request, cancel, events).await })
            });
            run.await.map_err(|error| {
                if let RunError::Engine(error) = &error {
                    tracing::error!(%error, "a run failed in the engine");
                }
                error.to_string()
            })
        }
    };
    let result = match report {
        Ok(report) => result(&state, report).await,
        Err(message) => ToolResult::error(failure_text(&message, state.mode)),
    };
    call.end(&result);
    Ok(result)
}

async fn result(state: &ServerState, report: Report) -> ToolResult {
    let limits = state.runner.limits();
    let text = result_text(&report, limits, state.mode);
    let mut result = ToolResult::text(text).structured(structured_fields(&report, limits)).omit_is_error();
    if state.figures {
        result.extend(results::image_blocks(report.images).await);
    }
    result
}

fn input_schema(tools: ToolSet) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "python_code": {"type": "string", "description": "Python code to run"},
            "global_variables": {
                "type": "object",
                "additionalProperties": {},
                "default": {},
                "description": "Map of global variables in context when the code is executed",
            },
        },
        "required": ["python_code"],
        "additionalProperties": false,
        "$schema": "http://json-schema.org/draft-07/schema#",
    });
    if tools == ToolSet::All {
        schema["properties"]["session_id"] = json!({
            "type": "string",
            "default": "",
            "description": "Session to run in, as execute_code gives it; empty for an interpreter of its own",
        });
    }
    schema
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": {
                "type": "string",
                "enum": ["success", "install-error", "run-error"],
                "description": "How the run ended",
            },
            "output": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Lines written to stdout and stderr, in order",
            },
            "dependencies": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Packages that were loaded; left out when there are none",
            },
            "return_value": {
                "description": "Value of the last expression; left out after an error, and if it has an integer of more than 64 bits \
                                or is nested more than 100 deep",
            },
            "return_value_json": {
                "type": "string",
                "description": "The same value as JSON text, exactly; only if return_value is left out, or has an integer beyond \
                                9007199254740991 (2**53 - 1), which many JSON readers round",
            },
            "error": {"type": "string", "description": "Traceback or reason; only after an error"},
        },
        "required": ["status", "output"],
        "$schema": "http://json-schema.org/draft-07/schema#",
    })
}
