//! The tools of the code interpreter: arguments in, answers out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brumate_session::sessions::{CellReport, CellRequest, FileName, SessionError, SessionFile, SessionId, Upload};
use brumate_session::{CancellationToken, RunEvent};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

use super::schemas::{CLEAR, EXECUTE, FORK, INTERRUPT, LIST, RESET, UPLOAD};
use super::{Interpreter, answer};
use crate::arguments::{Reader, SESSION_ID};

/// A call of one of the tools, with arguments that make sense.
#[derive(Debug)]
pub(crate) enum Call {
    Execute(CellRequest),
    List(String),
    Clear(String),
    Upload(Option<String>, Upload),
    /// Session, name in it, name in an input directory.
    UploadFrom(Option<String>, FileName, String),
    Fork(String),
    Reset(String),
    Interrupt(String),
}

impl Call {
    /// Reads a call; `None` when there is no tool of that name.
    pub(crate) fn parse(tool: &str, arguments: Option<JsonObject>) -> Option<Result<Self, String>> {
        let of_session = |tool: &'static str, call: fn(String) -> Call| {
            let mut reader = Reader::new(tool, arguments.clone());
            let id = reader.required(SESSION_ID, "the session");
            reader.finish(call(id))
        };
        Some(match tool {
            EXECUTE => {
                let mut reader = Reader::new(EXECUTE, arguments);
                let code = reader.code("code", "the Python code to execute");
                let session = reader.session();
                reader.finish(Call::Execute(CellRequest::new(session.as_deref(), code)))
            }
            LIST => of_session(LIST, Call::List),
            CLEAR => of_session(CLEAR, Call::Clear),
            UPLOAD => upload(arguments),
            FORK => of_session(FORK, Call::Fork),
            RESET => of_session(RESET, Call::Reset),
            INTERRUPT => of_session(INTERRUPT, Call::Interrupt),
            _ => return None,
        })
    }
}

fn upload(arguments: Option<JsonObject>) -> Result<Call, String> {
    let mut reader = Reader::new(UPLOAD, arguments);
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
    // Without a name there is a problem, so that nothing comes of the missing upload.
    let call = upload.map(|upload| Call::Upload(session, upload));
    reader.finish(call)?.ok_or_else(String::new)
}

/// A file of the host; it is called as there unless the caller says otherwise.
fn upload_from(
    mut reader: Reader,
    session: Option<String>,
    given: Option<String>,
    from: String,
) -> Result<Call, String> {
    if reader.optional("content").is_some() {
        reader.problem("`content` and `from` exclude each other".to_owned());
    }
    // Without an effect here; what they may say is what they say by default.
    if reader.optional("encoding").is_some_and(|encoding| encoding != "text")
        || reader.number("offset") != 0
        || !reader.flag("last", true)
    {
        reader.problem("`encoding`, `offset` and `last` belong to `content`, not to `from`".to_owned());
    }
    let name = given.filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| from.rsplit('/').next().unwrap_or(&from).to_owned());
    let name = FileName::parse(&name).map_err(|error| reader.problem(format!("`filename`: {error}")));
    let call = name.ok().map(|name| Call::UploadFrom(session, name, from));
    // Without a name there is a problem, so that nothing comes of the missing upload.
    reader.finish(call)?.ok_or_else(String::new)
}

impl Interpreter {
    /// Does what is asked for. Everything that can go wrong is part of the answer.
    pub(crate) async fn perform(
        &self,
        call: Call,
        cancel: &CancellationToken,
        onlooker: &mut (dyn FnMut(RunEvent) + Send),
    ) -> CallToolResult {
        let principal = self.principal();
        match call {
            Call::Execute(request) => match self.sessions().execute(principal, request, cancel, onlooker).await {
                Ok(report) => {
                    self.note(&report);
                    answer::executed(report, self.sessions().limits(), self.sessions().timeout_in_words()).await
                }
                Err(error) => answer::refused(&told(&error)),
            },
            Call::List(id) => self.list(&id).await,
            Call::Clear(id) => match self.sessions().clear(principal, &id).await {
                Ok(true) => {
                    self.forget(&id);
                    done(true, format!("Session {id} cleared and all files deleted"))
                }
                Ok(false) => done(false, format!("Session {} not found", brief(&id))),
                Err(error) => done(false, told(&error)),
            },
            Call::Upload(session, upload) => {
                let written = upload.bytes.len() as u64;
                let uploaded = self.sessions().upload(principal, session.as_deref(), upload, cancel).await;
                self.uploaded(session.is_none(), Some(written), uploaded)
            }
            Call::UploadFrom(session, name, from) => {
                let uploaded = self.sessions().upload_from(principal, session.as_deref(), name, &from, cancel).await;
                self.uploaded(session.is_none(), None, uploaded)
            }
            Call::Fork(id) => match self.sessions().fork(principal, &id, cancel).await {
                Ok(fork) => {
                    self.remember(fork.as_str());
                    self.set_changed();
                    let message = format!("Session {id} copied; the copy is session {fork}");
                    answer::structured(json!({"success": true, "message": message, "session_id": fork.as_str()}))
                }
                Err(error) => {
                    answer::structured(json!({"success": false, "message": told(&error), "session_id": null}))
                }
            },
            Call::Reset(id) => match self.sessions().reset(principal, &id).await {
                Ok(()) => {
                    self.set_changed();
                    done(true, format!("Session {id} reset and all files deleted"))
                }
                Err(error) => done(false, told(&error)),
            },
            Call::Interrupt(id) => match self.sessions().interrupt(principal, &id).await {
                Ok(true) => done(true, format!("The code that session {id} was running is interrupted")),
                Ok(false) => done(false, format!("Session {id} is not running code")),
                Err(error) => done(false, told(&error)),
            },
        }
    }

    /// Runs code for `run_python_code` in a session.
    ///
    /// # Errors
    ///
    /// A text for the model.
    pub(crate) async fn run(
        &self,
        request: CellRequest,
        cancel: &CancellationToken,
        onlooker: &mut (dyn FnMut(RunEvent) + Send),
    ) -> Result<CellReport, String> {
        let ran = self.sessions().execute(self.principal(), request, cancel, onlooker).await;
        let report = ran.map_err(|error| told(&error))?;
        self.note(&report);
        Ok(report)
    }

    async fn list(&self, id: &str) -> CallToolResult {
        match self.sessions().files(self.principal(), id).await {
            Ok(files) => {
                self.remember(id);
                let listed: Vec<Value> = files.iter().map(|file| answer::file(id, file)).collect();
                let mut result = answer::structured(json!({"session_id": id, "files": listed}));
                result.content.extend(links(id, &files));
                result
            }
            Err(error) => answer::structured(json!({"session_id": brief(id), "files": [], "error": told(&error)})),
        }
    }

    /// The answer of `upload_file`; `written` bytes, or all that the file has now.
    fn uploaded(
        &self,
        created: bool,
        written: Option<u64>,
        uploaded: Result<(SessionId, SessionFile), SessionError>,
    ) -> CallToolResult {
        match uploaded {
            Ok((id, file)) => {
                let written = written.unwrap_or(file.size);
                self.remember(id.as_str());
                self.set_changed();
                let timeout = self.sessions().timeout_in_words();
                let info = created.then(|| answer::session_info(id.as_str(), timeout));
                let mut result = answer::structured(json!({
                    "success": true,
                    "message": format!("{written} bytes written to {}, which has {} now", file.name, file.size),
                    "file": answer::file(id.as_str(), &file),
                    "session_info": info,
                }));
                result.content.extend(links(id.as_str(), &[file]));
                result
            }
            Err(error) => answer::structured(
                json!({"success": false, "message": told(&error), "file": null, "session_info": null}),
            ),
        }
    }

    /// Remembers what a cell means for this connection.
    fn note(&self, report: &CellReport) {
        self.remember(report.id.as_str());
        if report.files_changed {
            self.set_changed();
        }
    }
}

fn links(id: &str, files: &[SessionFile]) -> Vec<ContentBlock> {
    files.iter().map(|file| ContentBlock::resource_link(answer::resource(id, file))).collect()
}

fn done(success: bool, message: String) -> CallToolResult {
    answer::structured(json!({"success": success, "message": message}))
}

/// An error for the model; what is a defect or the host's trouble is logged as well.
pub(crate) fn told(error: &SessionError) -> String {
    if matches!(error, SessionError::Engine(_) | SessionError::Storage(_)) {
        tracing::error!(%error, "a call on a session failed");
    }
    error.to_string()
}

/// What a caller wrote instead of an id, so short that it can be repeated.
fn brief(id: &str) -> String {
    id.escape_debug().take(64).collect()
}
