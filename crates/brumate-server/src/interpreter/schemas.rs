//! The tools of the code interpreter: names, descriptions and schemas. Names, arguments and results of the first three are those of
//! the server "Python Code Interpreter", whose clients depend on them.

use brumate_session::sessions::InputDirs;
use serde_json::{Value, json};

use super::InterpreterCall;
use super::calls::{MAX_COPIES, execute, fork, of_session, upload};
use crate::tool::ToolDefinition;

/// The server's name when it has these tools only.
pub(crate) const SERVER_NAME: &str = "Python Code Interpreter";
/// The server's instructions for models.
pub(crate) const INSTRUCTIONS: &str = "Call the \"execute_code\" tool to run Python in a session that keeps variables, \
    imports and files. The first call makes the session; pass its session_id in later calls. Files that code writes to \
    its working directory, and figures that it shows, are resources.";

const EXECUTE_CODE: &str = "Execute Python code in a stateful session: variables, imports and files stay for the next call.\n\n\
    Leave session_id empty (or \"0\") in the first call; the answer's session_info has the id for the following ones. The text \
    of the last expression is the result. Figures that are shown or left open are saved and listed under files, as is every \
    file that the code writes to its working directory.";

const UPLOAD_CONTENT: &str = "Write a file into the working directory of a session, where code can open it by its name. \
    Large files go in parts: give each its offset, and last=false for all but the last.";

const UPLOAD_FROM: &str = "Write a file into the working directory of a session, where code can open it by its name: its \
    content, or, with from, a file of the host's input directory, which is copied without passing through this call.";

/// Returns the tools, in the order of `tools/list`. With input directories, `upload_file` has the argument `from`.
pub(crate) fn tools(inputs: &InputDirs) -> Vec<ToolDefinition<InterpreterCall>> {
    let (upload_description, upload_input) =
        if inputs.is_empty() { (UPLOAD_CONTENT, upload_input()) } else { (UPLOAD_FROM, upload_from_input(inputs)) };
    vec![
        ToolDefinition::new(
            "execute_code",
            ("Execute code", EXECUTE_CODE),
            (execute_input(), execute_output()),
            execute,
        ),
        ToolDefinition::new(
            "list_session_files",
            ("List files", "List all files in the working directory of a session."),
            (session_input("The session"), list_output()),
            |arguments| of_session(arguments, InterpreterCall::List),
        ),
        ToolDefinition::new(
            "clear_session",
            ("Clear session", "End a session and delete its state and all its files."),
            (session_input("The session"), status_output()),
            |arguments| of_session(arguments, InterpreterCall::Clear),
        ),
        ToolDefinition::new(
            "upload_file",
            ("Upload file", upload_description),
            (upload_input, upload_output()),
            upload,
        ),
        ToolDefinition::new(
            "fork_session",
            ("Fork session", "Copy a session with all its variables, imports and files. All go on independently."),
            (fork_input(), fork_output()),
            fork,
        ),
        ToolDefinition::new(
            "reset_session",
            ("Reset session", "Empty a session: a fresh interpreter without files under the same session_id."),
            (session_input("The session"), status_output()),
            |arguments| of_session(arguments, InterpreterCall::Reset),
        ),
        ToolDefinition::new(
            "interrupt",
            ("Interrupt", "Stop the code that a session is running: KeyboardInterrupt. What it did until then stays."),
            (session_input("The session"), status_output()),
            |arguments| of_session(arguments, InterpreterCall::Interrupt),
        ),
    ]
}

fn input(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn output(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// Returns the schema of arguments that are a session only.
fn session_input(description: &str) -> Value {
    input(json!({"session_id": {"type": "string", "description": description}}), &["session_id"])
}

/// Returns the schema of an optional session id.
fn optional_session() -> Value {
    json!({
        "type": "string",
        "default": "",
        "description": "Session to go on with; empty or \"0\" for a new one",
    })
}

fn execute_input() -> Value {
    input(
        json!({
            "code": {"type": "string", "description": "Python code to execute"},
            "session_id": optional_session(),
        }),
        &["code"],
    )
}

fn upload_input() -> Value {
    input(
        json!({
            "filename": {"type": "string", "description": "Name of the file, relative to the working directory"},
            "content": {"type": "string", "description": "The content, or a part of it"},
            "session_id": optional_session(),
            "encoding": {
                "type": "string",
                "enum": ["text", "base64"],
                "default": "text",
                "description": "How the content is written; base64 for everything that is not text",
            },
            "offset": {
                "type": "integer",
                "minimum": 0,
                "default": 0,
                "description": "Byte of the file at which this part begins",
            },
            "last": {
                "type": "boolean",
                "default": true,
                "description": "The file ends with this part",
            },
        }),
        &["filename", "content"],
    )
}

/// Returns the schema of [`upload_input`] with the argument `from`, an alternative to `content`.
fn upload_from_input(inputs: &InputDirs) -> Value {
    let named: Vec<String> = inputs.names().filter(|name| !name.is_empty()).map(|name| format!("{name}/...")).collect();
    let mut description = "File of the input directory to copy instead of content, by its path there".to_owned();
    if !named.is_empty() {
        description = format!("{description}; directories with names: {}", named.join(", "));
    }
    let mut schema = upload_input();
    schema["properties"]["from"] = json!({"type": "string", "description": description});
    schema["properties"]["filename"]["description"] =
        json!("Name of the file, relative to the working directory; with from, its name there if left out");
    schema["required"] = json!([]);
    schema
}

fn list_output() -> Value {
    output(
        json!({
            "session_id": {"type": "string"},
            "files": files(),
            "error": {"type": "string", "description": "Why there is no list; left out when there is one"},
        }),
        &["session_id", "files"],
    )
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

fn upload_output() -> Value {
    output(
        json!({
            "success": {"type": "boolean"},
            "message": {"type": "string"},
            "file": {"anyOf": [file(), {"type": "null"}], "description": "The file as it is now"},
            "session_info": session_info(),
        }),
        &["success", "message", "file", "session_info"],
    )
}

fn execute_output() -> Value {
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
            "files": files(),
            "session_info": session_info(),
        }),
        &["success", "output", "result", "error", "traceback", "files", "session_info"],
    )
}

fn session_info() -> Value {
    json!({
        "anyOf": [
            {
                "type": "object",
                "properties": {"session_id": {"type": "string"}, "instructions": {"type": "string"}},
                "required": ["session_id", "instructions"],
            },
            {"type": "null"},
        ],
        "description": "The new session; null unless this call made one",
    })
}

fn files() -> Value {
    json!({"type": "array", "items": file()})
}

fn file() -> Value {
    json!({
        "type": "object",
        "properties": {
            "uri": {"type": "string", "description": "Resource with the content"},
            "mime_type": {"type": "string"},
            "name": {"type": "string"},
            "size": {"type": "integer", "description": "Bytes"},
        },
        "required": ["uri", "mime_type", "name", "size"],
    })
}

/// Returns the schema of a result with `success` and `message`.
fn status_output() -> Value {
    output(json!({"success": {"type": "boolean"}, "message": {"type": "string"}}), &["success", "message"])
}
