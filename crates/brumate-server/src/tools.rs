//! The tools of the server. Each has a function that makes it, with its texts and schemas, and a function that answers its calls.

mod arguments;
mod execute;
mod files;
mod run;
mod sessions;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use brumate_mcp::{Arguments, Context, Error, Layer, Next, Tool, ToolCall, ToolResult};
use futures::FutureExt as _;
use serde_json::{Value, json};

use crate::client_sessions::ClientSessions;
use crate::format::failure_text;
use crate::state::{ServerState, ToolSet, suspension};
use arguments::ArgumentReader;

/// The instructions for models of a server with sessions.
const INSTRUCTIONS: &str = "Call the \"execute_code\" tool to run Python in a session that keeps variables, \
    imports and files. The first call makes the session; pass its session_id in later calls. Files that code writes to \
    its working directory, and figures that it shows, are resources.";

/// The text of a result when a handler panics.
const DEFECT: &str = "Brumate failed; this is a defect, and its log says more. Other calls are not affected.";

/// Returns the name of a server with these tools, and its instructions for models.
pub(crate) fn introduction(tools: ToolSet) -> (&'static str, String) {
    match tools {
        ToolSet::Run => ("MCP Run Python", run::INSTRUCTIONS.to_owned()),
        ToolSet::Interpreter => ("Python Code Interpreter", INSTRUCTIONS.to_owned()),
        ToolSet::All => ("Brumate", format!("{INSTRUCTIONS} {}", run::BESIDE_SESSIONS)),
    }
}

/// Returns the tools of a server, in the order of `tools/list`.
pub(crate) fn tools(state: &Arc<ServerState>) -> Vec<Tool> {
    let mut tools = Vec::new();
    if state.tools != ToolSet::Interpreter {
        tools.push(run::run_python_code(state));
    }
    if let Some(sessions) = &state.sessions {
        tools.extend([
            execute::execute_code(state),
            files::list_session_files(sessions),
            sessions::clear_session(sessions),
            files::upload_file(state),
            sessions::fork_session(state),
            sessions::reset_session(sessions),
            sessions::interrupt(sessions),
        ]);
    }
    tools
}

/// Makes a tool from its title and description, its input and output schemas, and the function that answers its calls.
/// The function gets `state`. It checks the arguments itself, so that an error names all their faults.
fn tool<S, Fut>(
    name: &'static str,
    (title, description): (&str, &str),
    (input, output): (Value, Value),
    state: &S,
    answer: fn(S, ArgumentReader, Context) -> Fut,
) -> Tool
where
    S: Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolResult, Error>> + Send + 'static,
{
    let state = state.clone();
    let tool = Tool::new(name).title(title).description(description).input_schema(input).output_schema(output);
    // All tools suspend: a cancelled call puts in order what it began.
    let tool = tool.suspends(suspension());
    tool.unchecked_handler(move |arguments: Arguments, context| {
        answer(state.clone(), ArgumentReader::new(name, arguments), context)
    })
}

/// Code around all calls: it turns a panic into a result, and notifies the client when the list of resources has changed.
pub(crate) struct ToolLayer(Arc<ServerState>);

impl ToolLayer {
    pub(crate) fn new(state: &Arc<ServerState>) -> Self {
        Self(Arc::clone(state))
    }
}

impl Layer for ToolLayer {
    async fn call(&self, call: ToolCall, next: Next) -> Result<ToolResult, Error> {
        let context = call.context().clone();
        let result = AssertUnwindSafe(next.run(call)).catch_unwind().await.unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<&str>().map(ToString::to_string);
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            tracing::error!(%message, "a call panicked; this is a defect");
            Ok(ToolResult::error(failure_text(DEFECT, self.0.mode)))
        });
        if self.0.sessions.is_some() {
            ClientSessions::notify(&context).await;
        }
        result
    }
}

/// Returns the schema of arguments that are an object with these properties only.
fn input(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Returns the schema of a result with these properties.
fn output(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// Returns the schema of arguments that are a session only.
fn session_input() -> Value {
    input(json!({"session_id": {"type": "string", "description": "The session"}}), &["session_id"])
}

/// Returns the schema of an optional session id.
fn optional_session() -> Value {
    json!({
        "type": "string",
        "default": "",
        "description": "Session to go on with; empty or \"0\" for a new one",
    })
}

/// Returns the first 64 characters of an invalid session id, escaped, for messages.
fn shortened_id(id: &str) -> String {
    id.escape_debug().take(64).collect()
}
