//! The tools of the code interpreter: parses their arguments and performs them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brumate_mcp::{Resource, ToolResult};
use brumate_session::sessions::{CellReport, FileName, SessionError, SessionFile, SessionId, Upload};
use brumate_session::{CancellationToken, Request, RunEvent};
use serde_json::{Value, json};

use super::{Interpreter, results};
use crate::arguments::{ArgumentReader, SESSION_ID};

/// Most copies of a session that one call makes.
pub(super) const MAX_COPIES: u64 = 16;

/// A call of one of the interpreter's tools, with valid arguments.
#[derive(Debug)]
pub(crate) enum InterpreterCall {
    Execute(Box<Request>),
    List(String),
    Clear(String),
    Upload(Option<String>, Upload),
    /// Session, name of the new file, path in an input directory.
    UploadFrom(Option<String>, FileName, String),
    /// Session, number of copies.
    Fork(String, u64),
    Reset(String),
    Interrupt(String),
}

/// Parses the arguments of `execute_code`.
///
/// # Errors
///
/// A text for the model.
pub(super) fn execute(mut reader: ArgumentReader) -> Result<InterpreterCall, String> {
    let code = reader.code("code", "the Python code to execute");
    let session = reader.session();
    reader.finish(InterpreterCall::Execute(Box::new(Request::cell(session.as_deref(), code))))
}

/// Parses the arguments of a tool that takes a session only.
///
/// # Errors
///
/// A text for the model.
pub(super) fn of_session(
    mut reader: ArgumentReader,
    call: fn(String) -> InterpreterCall,
) -> Result<InterpreterCall, String> {
    let id = reader.required(SESSION_ID, "the session");
    reader.finish(call(id))
}

/// Parses the arguments of `fork_session`.
///
/// # Errors
///
/// A text for the model.
pub(super) fn fork(mut reader: ArgumentReader) -> Result<InterpreterCall, String> {
    let id = reader.required(SESSION_ID, "the session");
    let count = reader.number_or("count", 1);
    if !(1..=MAX_COPIES).contains(&count) {
        reader.problem(format!("`count` must be from 1 to {MAX_COPIES}"));
    }
    reader.finish(InterpreterCall::Fork(id, count))
}

/// Parses the arguments of `upload_file`.
///
/// # Errors
///
/// A text for the model.
pub(super) fn upload(mut reader: ArgumentReader) -> Result<InterpreterCall, String> {
    let given = reader.optional("filename");
    let from = reader.optional("from").filter(|from| !from.is_empty());
    let session = reader.session();
    if let Some(from) = from {
        return upload_from(reader, session, given, from);
    }
    let name = given.unwrap_or_else(|| {
        reader.problem("`filename` (string, name of the file) is missing".to_owned());
        String::new()
    });
    let content = reader.required("content", "content of the file");
    let encoding = reader.optional("encoding").unwrap_or_else(|| "text".to_owned());
    let offset = reader.number("offset");
    let last = reader.flag("last", true);
    let bytes = match encoding.as_str() {
        "text" => content.into_bytes(),
        "base64" => {
            let joined: String = content.split_ascii_whitespace().collect();
            STANDARD.decode(joined).unwrap_or_else(|error| {
                reader.problem(format!("`content` is not base64: {error}"));
                Vec::new()
            })
        }
        _ => {
            reader.problem("`encoding` must be \"text\" or \"base64\"".to_owned());
            Vec::new()
        }
    };
    let name = FileName::parse(&name).map_err(|error| {
        reader.problem(format!("`filename`: {error}"));
    });
    let upload = name.ok().map(|name| Upload { name, offset, bytes, last });
    // A missing call has a problem, so `finish` returns an error.
    let call = upload.map(|upload| InterpreterCall::Upload(session, upload));
    reader.finish(call)?.ok_or_else(String::new)
}

/// Parses an upload from an input directory. Default name: that of the file there.
fn upload_from(
    mut reader: ArgumentReader,
    session: Option<String>,
    given: Option<String>,
    from: String,
) -> Result<InterpreterCall, String> {
    if reader.optional("content").is_some() {
        reader.problem("`content` and `from` exclude each other".to_owned());
    }
    // These arguments have no effect here, so only their defaults are accepted.
    if reader.optional("encoding").is_some_and(|encoding| encoding != "text")
        || reader.number("offset") != 0
        || !reader.flag("last", true)
    {
        reader.problem("`encoding`, `offset` and `last` belong to `content`, not to `from`".to_owned());
    }
    let name = given.filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| from.rsplit('/').next().unwrap_or(&from).to_owned());
    let name = FileName::parse(&name).map_err(|error| reader.problem(format!("`filename`: {error}")));
    let call = name.ok().map(|name| InterpreterCall::UploadFrom(session, name, from));
    // A missing call has a problem, so `finish` returns an error.
    reader.finish(call)?.ok_or_else(String::new)
}

impl Interpreter {
    /// Copies a session `count` times. All copies have the same state: the others are copies of the first, whose id nobody knows yet.
    ///
    /// # Errors
    ///
    /// The error of the first copy that fails. The copies before it are cleared.
    async fn fork(&self, id: &str, count: u64, cancel: &CancellationToken) -> Result<Vec<String>, SessionError> {
        let (sessions, principal) = (self.sessions(), self.principal());
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

    /// Performs a call. Errors are part of the result.
    pub(crate) async fn perform(
        &self,
        call: InterpreterCall,
        cancel: &CancellationToken,
        event_sink: &mut (dyn FnMut(RunEvent) + Send),
    ) -> ToolResult {
        let principal = self.principal();
        match call {
            InterpreterCall::Execute(request) => {
                match self.sessions().execute(request.with_principal(principal), cancel, event_sink).await {
                    Ok(report) => {
                        self.record_cell(&report);
                        results::execute_result(report, self.sessions().limits(), self.sessions().timeout_in_words())
                            .await
                    }
                    Err(error) => results::execute_error(&error_text(&error)),
                }
            }
            InterpreterCall::List(id) => self.list(&id).await,
            InterpreterCall::Clear(id) => match self.sessions().clear(principal, &id).await {
                Ok(true) => {
                    self.remove_from_list(&id);
                    status_result(true, format!("Session {id} cleared and all files deleted"))
                }
                Ok(false) => status_result(false, format!("Session {} not found", shortened_id(&id))),
                Err(error) => status_result(false, error_text(&error)),
            },
            InterpreterCall::Upload(session, upload) => {
                let written = upload.bytes.len() as u64;
                let uploaded = self.sessions().upload(principal, session.as_deref(), upload, cancel).await;
                self.upload_result(session.is_none(), Some(written), uploaded)
            }
            InterpreterCall::UploadFrom(session, name, from) => {
                let uploaded = self.sessions().upload_from(principal, session.as_deref(), name, &from, cancel).await;
                self.upload_result(session.is_none(), None, uploaded)
            }
            InterpreterCall::Fork(id, count) => match self.fork(&id, count, cancel).await {
                Ok(copies) => {
                    copies.iter().for_each(|copy| self.add_to_list(copy));
                    self.set_changed();
                    let (noun, list) =
                        (if count == 1 { "copy is session" } else { "copies are sessions" }, copies.join(", "));
                    let message = format!("Session {id} copied; the {noun} {list}");
                    results::structured(json!({
                        "success": true, "message": message, "session_id": copies.first(), "session_ids": copies,
                    }))
                }
                Err(error) => results::structured(json!({
                    "success": false, "message": error_text(&error), "session_id": null, "session_ids": [],
                })),
            },
            InterpreterCall::Reset(id) => match self.sessions().reset(principal, &id).await {
                Ok(()) => {
                    self.set_changed();
                    status_result(true, format!("Session {id} reset and all files deleted"))
                }
                Err(error) => status_result(false, error_text(&error)),
            },
            InterpreterCall::Interrupt(id) => match self.sessions().interrupt(principal, &id).await {
                Ok(true) => status_result(true, format!("The code of session {id} is interrupted")),
                Ok(false) => status_result(false, format!("Session {id} is not running code")),
                Err(error) => status_result(false, error_text(&error)),
            },
        }
    }

    /// Runs the code of `run_python_code` in a session.
    ///
    /// # Errors
    ///
    /// A text for the model.
    pub(crate) async fn run(
        &self,
        request: Request,
        cancel: &CancellationToken,
        event_sink: &mut (dyn FnMut(RunEvent) + Send),
    ) -> Result<CellReport, String> {
        let ran = self.sessions().execute(request.with_principal(self.principal()), cancel, event_sink).await;
        let report = ran.map_err(|error| error_text(&error))?;
        self.record_cell(&report);
        Ok(report)
    }

    async fn list(&self, id: &str) -> ToolResult {
        match self.sessions().files(self.principal(), id).await {
            Ok(files) => {
                self.add_to_list(id);
                let listed: Vec<Value> = files.iter().map(|file| results::file(id, file)).collect();
                let mut result = results::structured(json!({"session_id": id, "files": listed}));
                result.extend(links(id, &files));
                result
            }
            Err(error) => {
                results::structured(json!({"session_id": shortened_id(id), "files": [], "error": error_text(&error)}))
            }
        }
    }

    /// Returns the result of `upload_file`. `written`: bytes that were written; `None`: the whole file.
    fn upload_result(
        &self,
        created: bool,
        written: Option<u64>,
        uploaded: Result<(SessionId, SessionFile), SessionError>,
    ) -> ToolResult {
        match uploaded {
            Ok((id, file)) => {
                let written = written.unwrap_or(file.size);
                self.add_to_list(id.as_str());
                self.set_changed();
                let timeout = self.sessions().timeout_in_words();
                let info = created.then(|| results::session_info(id.as_str(), timeout));
                let mut result = results::structured(json!({
                    "success": true,
                    "message": format!("{written} bytes written to {}, which has {} now", file.name, file.size),
                    "file": results::file(id.as_str(), &file),
                    "session_info": info,
                }));
                result.extend(links(id.as_str(), &[file]));
                result
            }
            Err(error) => results::structured(
                json!({"success": false, "message": error_text(&error), "file": null, "session_info": null}),
            ),
        }
    }

    /// Lists the session of a cell, and records whether its files changed.
    fn record_cell(&self, report: &CellReport) {
        self.add_to_list(report.id.as_str());
        if report.files_changed {
            self.set_changed();
        }
    }
}

/// Returns resource links to files.
fn links(id: &str, files: &[SessionFile]) -> impl Iterator<Item = Resource> {
    files.iter().map(move |file| results::resource(id, file))
}

/// Returns a result with `success` and `message`.
fn status_result(success: bool, message: String) -> ToolResult {
    results::structured(json!({"success": success, "message": message}))
}

/// Returns the text of an error for the model. Errors of the engine and of the storage are logged as well.
pub(crate) fn error_text(error: &SessionError) -> String {
    if matches!(error, SessionError::Engine(_) | SessionError::Storage(_)) {
        tracing::error!(%error, "a call on a session failed");
    }
    error.to_string()
}

/// Returns the first 64 characters of an invalid session id, escaped, for messages.
fn shortened_id(id: &str) -> String {
    id.escape_debug().take(64).collect()
}
