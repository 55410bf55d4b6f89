//! The tools that end, copy, empty and interrupt sessions.

use std::sync::Arc;

use brumate_mcp::{Context, Error, Tool, ToolResult};
use brumate_session::CancellationToken;
use brumate_session::sessions::{SessionError, Sessions};
use serde_json::{Value, json};

use super::{ArgumentReader, input, output, session_input, shortened_id, tool};
use crate::client_sessions::ClientSessions;
use crate::results::{self, error_text};
use crate::state::{ServerState, principal};

/// Most copies of a session that one call makes.
const MAX_COPIES: u64 = 16;

/// Makes the tool `clear_session`.
pub(super) fn clear_session(sessions: &Sessions) -> Tool {
    let texts = ("Clear session", "End a session and delete its state and all its files.");
    tool("clear_session", texts, (session_input(), status_output()), sessions, clear)
}

async fn clear(sessions: Sessions, arguments: ArgumentReader, context: Context) -> Result<ToolResult, Error> {
    let id = arguments.only_session()?;
    Ok(match sessions.clear(principal(&context), &id).await {
        Ok(true) => {
            ClientSessions::of(&context).remove(&id);
            status_result(true, format!("Session {id} cleared and all files deleted"))
        }
        Ok(false) => status_result(false, format!("Session {} not found", shortened_id(&id))),
        Err(error) => status_result(false, error_text(&error)),
    })
}

/// Makes the tool `fork_session`.
pub(super) fn fork_session(state: &Arc<ServerState>) -> Tool {
    let description = "Copy a session with all its variables, imports and files. All go on independently.";
    tool("fork_session", ("Fork session", description), (fork_input(), fork_output()), state, fork)
}

async fn fork(state: Arc<ServerState>, mut arguments: ArgumentReader, context: Context) -> Result<ToolResult, Error> {
    let id = arguments.required("session_id", "the session");
    let count = arguments.number_or("count", 1);
    if !(1..=MAX_COPIES).contains(&count) {
        arguments.problem(format!("`count` must be from 1 to {MAX_COPIES}"));
    }
    arguments.finish(())?;
    let cancel = state.call_token(&context);
    Ok(match copies(state.sessions()?, principal(&context), (&id, count), &cancel).await {
        Ok(copies) => {
            copies.iter().for_each(|copy| ClientSessions::add(&context, copy));
            ClientSessions::of(&context).set_changed();
            let (noun, list) = (if count == 1 { "copy is session" } else { "copies are sessions" }, copies.join(", "));
            let message = format!("Session {id} copied; the {noun} {list}");
            results::structured(json!({
                "success": true, "message": message, "session_id": copies.first(), "session_ids": copies,
            }))
        }
        Err(error) => results::structured(json!({
            "success": false, "message": error_text(&error), "session_id": null, "session_ids": [],
        })),
    })
}

/// Copies a session `count` times. All copies have the same state: the others are copies of the first, whose id nobody knows yet.
///
/// # Errors
///
/// Returns the error of the first copy that fails. The copies before it are cleared.
async fn copies(
    sessions: &Sessions,
    principal: &str,
    (id, count): (&str, u64),
    cancel: &CancellationToken,
) -> Result<Vec<String>, SessionError> {
    let mut copies: Vec<String> = Vec::new();
    for _ in 0..count {
        let from = copies.first().map_or(id, String::as_str);
        match sessions.fork(principal, from, cancel).await {
            Ok(copy) => copies.push(copy.as_str().to_owned()),
            Err(error) => {
                for copy in &copies {
                    // A copy that cannot be cleared expires like any session.
                    let _ = sessions.clear(principal, copy).await;
                }
                return Err(error);
            }
        }
    }
    Ok(copies)
}

/// Makes the tool `reset_session`.
pub(super) fn reset_session(sessions: &Sessions) -> Tool {
    let description = "Empty a session: a fresh interpreter without files under the same session_id.";
    let schemas = (session_input(), status_output());
    tool("reset_session", ("Reset session", description), schemas, sessions, reset)
}

async fn reset(sessions: Sessions, arguments: ArgumentReader, context: Context) -> Result<ToolResult, Error> {
    let id = arguments.only_session()?;
    Ok(match sessions.reset(principal(&context), &id).await {
        Ok(()) => {
            ClientSessions::of(&context).set_changed();
            status_result(true, format!("Session {id} reset and all files deleted"))
        }
        Err(error) => status_result(false, error_text(&error)),
    })
}

/// Makes the tool `interrupt`.
pub(super) fn interrupt(sessions: &Sessions) -> Tool {
    let description = "Stop the code that a session is running: KeyboardInterrupt. What it did until then stays.";
    let schemas = (session_input(), status_output());
    tool("interrupt", ("Interrupt", description), schemas, sessions, interrupt_code)
}

async fn interrupt_code(sessions: Sessions, arguments: ArgumentReader, context: Context) -> Result<ToolResult, Error> {
    let id = arguments.only_session()?;
    Ok(match sessions.interrupt(principal(&context), &id).await {
        Ok(true) => status_result(true, format!("The code of session {id} is interrupted")),
        Ok(false) => status_result(false, format!("Session {id} is not running code")),
        Err(error) => status_result(false, error_text(&error)),
    })
}

/// Returns a result with `success` and `message`.
fn status_result(success: bool, message: String) -> ToolResult {
    results::structured(json!({"success": success, "message": message}))
}

fn fork_input() -> Value {
    let session = json!({"type": "string", "description": "The session to copy"});
    let count = json!({
        "type": "integer", "minimum": 1, "maximum": MAX_COPIES, "default": 1, "description": "How many copies to make",
    });
    input(json!({"session_id": session, "count": count}), &["session_id"])
}

fn fork_output() -> Value {
    output(
        json!({
            "success": {"type": "boolean"},
            "message": {"type": "string"},
            "session_id": {"type": ["string", "null"], "description": "The new session, the first of several"},
            "session_ids": {"type": "array", "items": {"type": "string"}, "description": "All new sessions"},
        }),
        &["success", "message", "session_id", "session_ids"],
    )
}

/// Returns the schema of a result with `success` and `message`.
fn status_output() -> Value {
    output(json!({"success": {"type": "boolean"}, "message": {"type": "string"}}), &["success", "message"])
}
