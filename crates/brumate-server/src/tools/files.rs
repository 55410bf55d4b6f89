//! The tools for the files of sessions, and the schemas of files in results.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brumate_mcp::{Context, Error, Resource, Tool, ToolResult};
use brumate_session::sessions::{FileName, InputDirs, SessionFile, Sessions, Upload};
use serde_json::{Value, json};

use super::{ArgumentReader, input, optional_session, output, session_input, shortened_id, tool};
use crate::client_sessions::ClientSessions;
use crate::results::{self, error_text};
use crate::state::{ServerState, principal};

const UPLOAD_CONTENT: &str = "Write a file into the working directory of a session, where code can open it by its name. \
    Large files go in parts: give each its offset, and last=false for all but the last.";

const UPLOAD_FROM: &str = "Write a file into the working directory of a session, where code can open it by its name: its \
    content, or, with from, a file of the host's input directory, which is copied without passing through this call.";

/// Makes the tool `list_session_files`.
pub(super) fn list_session_files(sessions: &Sessions) -> Tool {
    let texts = ("List files", "List all files in the working directory of a session.");
    tool("list_session_files", texts, (session_input(), list_output()), sessions, list)
}

async fn list(sessions: Sessions, arguments: ArgumentReader, context: Context) -> Result<ToolResult, Error> {
    let id = arguments.only_session()?;
    Ok(match sessions.files(principal(&context), &id).await {
        Ok(files) => {
            ClientSessions::add(&context, &id);
            let listed: Vec<Value> = files.iter().map(|file| results::file(&id, file)).collect();
            let mut result = results::structured(json!({"session_id": id, "files": listed}));
            result.extend(links(&id, &files));
            result
        }
        Err(error) => {
            results::structured(json!({"session_id": shortened_id(&id), "files": [], "error": error_text(&error)}))
        }
    })
}

/// Makes the tool `upload_file`. With input directories it has the argument `from`.
pub(super) fn upload_file(state: &Arc<ServerState>) -> Tool {
    let inputs = state.sessions.as_ref().map(|sessions| &sessions.settings().inputs);
    let (description, input) = match inputs.filter(|inputs| !inputs.is_empty()) {
        Some(inputs) => (UPLOAD_FROM, upload_from_input(inputs)),
        None => (UPLOAD_CONTENT, upload_input()),
    };
    tool("upload_file", ("Upload file", description), (input, upload_output()), state, upload)
}

/// The file that a call uploads.
enum Uploaded {
    /// A file, or a part of one, whose bytes are in the call.
    Content(Upload),
    /// The name of the new file, and the path of the file of an input directory that is copied.
    From(FileName, String),
}

async fn upload(state: Arc<ServerState>, mut arguments: ArgumentReader, context: Context) -> Result<ToolResult, Error> {
    let given = arguments.optional("filename");
    let from = arguments.optional("from").filter(|from| !from.is_empty());
    let session = arguments.session();
    let uploaded = match from {
        Some(from) => read_from(&mut arguments, given, from),
        None => read_content(&mut arguments, given),
    };
    // A missing file has a problem, so `finish` returns an error.
    let uploaded = arguments.finish(uploaded)?.ok_or_else(|| Error::new(""))?;
    let (sessions, principal, cancel) = (state.sessions()?, principal(&context), state.call_token(&context));
    let (written, uploaded) = match uploaded {
        Uploaded::Content(upload) => {
            let written = upload.bytes.len() as u64;
            (Some(written), sessions.upload(principal, session.as_deref(), upload, &cancel).await)
        }
        Uploaded::From(name, from) => {
            (None, sessions.upload_from(principal, session.as_deref(), name, &from, &cancel).await)
        }
    };
    let (id, file) = match uploaded {
        Ok(uploaded) => uploaded,
        Err(error) => {
            return Ok(results::structured(
                json!({"success": false, "message": error_text(&error), "file": null, "session_info": null}),
            ));
        }
    };
    ClientSessions::add(&context, id.as_str());
    ClientSessions::of(&context).set_changed();
    let written = written.unwrap_or(file.size);
    let info = session.is_none().then(|| results::session_info(id.as_str(), sessions.timeout_in_words()));
    let mut result = results::structured(json!({
        "success": true,
        "message": format!("{written} bytes written to {}, which has {} now", file.name, file.size),
        "file": results::file(id.as_str(), &file),
        "session_info": info,
    }));
    result.extend(links(id.as_str(), &[file]));
    Ok(result)
}

/// Reads the arguments of an upload whose bytes are in the call. Returns `None` if there are problems.
fn read_content(arguments: &mut ArgumentReader, given: Option<String>) -> Option<Uploaded> {
    let name = given.unwrap_or_else(|| {
        arguments.problem("`filename` (string, name of the file) is missing".to_owned());
        String::new()
    });
    let content = arguments.required("content", "content of the file");
    let encoding = arguments.optional("encoding").unwrap_or_else(|| "text".to_owned());
    let offset = arguments.number("offset");
    let last = arguments.flag("last", true);
    let bytes = match encoding.as_str() {
        "text" => content.into_bytes(),
        "base64" => {
            let joined: String = content.split_ascii_whitespace().collect();
            STANDARD.decode(joined).unwrap_or_else(|error| {
                arguments.problem(format!("`content` is not base64: {error}"));
                Vec::new()
            })
        }
        _ => {
            arguments.problem("`encoding` must be \"text\" or \"base64\"".to_owned());
            Vec::new()
        }
    };
    let name = file_name(arguments, &name)?;
    Some(Uploaded::Content(Upload { name, offset, bytes, last }))
}

/// Reads the arguments of an upload from an input directory. The default name is the name of the file there.
fn read_from(arguments: &mut ArgumentReader, given: Option<String>, from: String) -> Option<Uploaded> {
    if arguments.optional("content").is_some() {
        arguments.problem("`content` and `from` exclude each other".to_owned());
    }
    // These arguments have no effect here, so only their defaults are accepted.
    if arguments.optional("encoding").is_some_and(|encoding| encoding != "text")
        || arguments.number("offset") != 0
        || !arguments.flag("last", true)
    {
        arguments.problem("`encoding`, `offset` and `last` belong to `content`, not to `from`".to_owned());
    }
    let name = given.filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| from.rsplit('/').next().unwrap_or(&from).to_owned());
    Some(Uploaded::From(file_name(arguments, &name)?, from))
}

fn file_name(arguments: &mut ArgumentReader, name: &str) -> Option<FileName> {
    FileName::parse(name).map_err(|error| arguments.problem(format!("`filename`: {error}"))).ok()
}

/// Returns resource links to files.
fn links(id: &str, files: &[SessionFile]) -> impl Iterator<Item = Resource> {
    files.iter().map(move |file| results::resource(id, file))
}

fn list_output() -> Value {
    output(
        json!({
            "session_id": {"type": "string"},
            "files": file_list_schema(),
            "error": {"type": "string", "description": "Why there is no list; left out when there is one"},
        }),
        &["session_id", "files"],
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

fn upload_output() -> Value {
    output(
        json!({
            "success": {"type": "boolean"},
            "message": {"type": "string"},
            "file": {"anyOf": [file_schema(), {"type": "null"}], "description": "The file as it is now"},
            "session_info": session_info_schema(),
        }),
        &["success", "message", "file", "session_info"],
    )
}

/// Returns the schema of a new session in a result.
pub(super) fn session_info_schema() -> Value {
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

/// Returns the schema of a list of files.
pub(super) fn file_list_schema() -> Value {
    json!({"type": "array", "items": file_schema()})
}

fn file_schema() -> Value {
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
