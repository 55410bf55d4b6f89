//! Handles the calls of a package.

use std::path::PathBuf;
use std::sync::Arc;

use brumate::{Error, snapshot};
use brumate_session::sessions::{CellRequest, FileName, LOCAL_PRINCIPAL, SessionError, Upload, mime_of_content};
use brumate_session::{CancellationToken, InputRequest, InputRequests, RunError, RunRequest, input_requests};
use serde::Deserialize;
use serde_json::{Value, json};

use super::events::EventQueue;
use super::frame::Frame;
use super::{Server, answers};

/// Fields of a request; which of them count depends on the call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields {
    session: String,
    code: String,
    file_name: String,
    /// A JSON object as text; empty: none.
    globals: String,
    /// Somebody answers the questions of the code.
    input: bool,
    name: String,
    offset: u64,
    last: bool,
    /// A file of this host.
    path: PathBuf,
}

/// Why a call failed, for the package: `kind` decides which exception it becomes.
#[derive(Debug, serde::Serialize)]
pub(super) struct CallError {
    kind: &'static str,
    message: String,
}

impl CallError {
    fn usage(message: impl Into<String>) -> Self {
        Self { kind: "usage", message: message.into() }
    }
}

/// Parses variables. They travel as text, because they may be nested more deeply than the JSON of a frame.
fn globals(text: &str) -> Result<serde_json::Map<String, Value>, CallError> {
    if text.is_empty() {
        return Ok(serde_json::Map::new());
    }
    serde_json::from_str(text).map_err(|error| CallError::usage(format!("the variables cannot be taken over: {error}")))
}

impl From<RunError> for CallError {
    fn from(failure: RunError) -> Self {
        Error::from(failure).into()
    }
}

impl From<SessionError> for CallError {
    fn from(error: SessionError) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Busy(_) => "busy",
            Error::Cancelled => "cancelled",
            Error::Sandbox(_) => "sandbox",
            Error::SessionNotFound(_) => "session-not-found",
            Error::SessionLost(_) => "session-lost",
            Error::HostFile { .. } | Error::SessionFile(_) => "file",
            _ => "session",
        };
        Self { kind, message: error.to_string() }
    }
}

impl Server {
    /// Handles a request; returns the last frame of its answer.
    ///
    /// # Errors
    ///
    /// When the request is malformed, or its session or the sandbox cannot be used.
    pub(super) async fn call(
        self: &Arc<Self>,
        id: u64,
        call: &str,
        frame: Frame,
        cancel: &CancellationToken,
    ) -> Result<Frame, CallError> {
        let fields: Fields =
            serde_json::from_value(frame.json).map_err(|error| CallError::usage(format!("{call}: {error}")))?;
        let (sessions, who, session) = (&self.sessions, LOCAL_PRINCIPAL, fields.session.as_str());
        let result = match call {
            "run" => return self.run(id, fields, cancel).await,
            "session.run" => return self.cell(id, fields, cancel).await,
            "file.read" => {
                let name = FileName::parse_existing(&fields.name)?;
                let chunk = sessions.read_file(who, session, &name, fields.offset, cancel).await?;
                return Ok(Frame { json: json!({"result": {"size": chunk.size}}), bytes: chunk.bytes });
            }
            "session.new" => {
                let new = sessions.execute(who, CellRequest::new(None, ""), cancel, &mut |_| {}).await?;
                json!({"session": new.id.as_str()})
            }
            "session.fork" => json!({"session": sessions.fork(who, session, cancel).await?.as_str()}),
            "session.snapshot" => {
                snapshot::write(sessions, &self.cache_dir, session, &fields.path, cancel).await?;
                json!({"done": true})
            }
            "session.restore" => {
                json!({"session": snapshot::restore(sessions, &self.cache_dir, &fields.path, cancel).await?.as_str()})
            }
            "session.reset" => {
                sessions.reset(who, session).await?;
                json!({"done": true})
            }
            "session.clear" => json!({"done": sessions.clear(who, session).await?}),
            "session.interrupt" => json!({"done": sessions.interrupt(who, session).await?}),
            "session.files" => {
                let files = sessions.files(who, session).await?;
                json!({"files": files.iter().map(answers::file).collect::<Vec<_>>()})
            }
            "session.list" => {
                let records = sessions.list(who).await;
                json!({"sessions": records.iter().map(answers::session).collect::<Vec<_>>()})
            }
            "file.write" => {
                let name = FileName::parse(&fields.name)?;
                let upload = Upload { name, offset: fields.offset, bytes: frame.bytes, last: fields.last };
                let (_, file) = sessions.upload(who, Some(session), upload, cancel).await?;
                json!({"file": answers::file(&file)})
            }
            _ => return Err(CallError::usage(format!("there is no call {call:?}: package and binary do not match"))),
        };
        Ok(json!({ "result": result }).into())
    }

    async fn run(self: &Arc<Self>, id: u64, fields: Fields, cancel: &CancellationToken) -> Result<Frame, CallError> {
        let request = RunRequest::new(fields.code)
            .with_globals(globals(&fields.globals)?)
            .with_file_name(fields.file_name)
            .with_input_requests(fields.input.then(|| self.asker(id)))
            .with_principal(LOCAL_PRINCIPAL);
        let queue = EventQueue::default();
        let (report, ()) = tokio::join!(
            async {
                let ran = self.runner.run(request, cancel, &mut |event| queue.add(event)).await;
                queue.close();
                ran
            },
            self.send_events(id, &queue),
        );
        let report = report?;
        for bytes in &report.figures {
            let mime = mime_of_content(bytes);
            self.event(id, Frame { json: json!({"event": "figure", "mime": mime}), bytes: bytes.clone() }).await;
        }
        Ok(json!({"result": answers::of_run(&report)}).into())
    }

    async fn cell(self: &Arc<Self>, id: u64, fields: Fields, cancel: &CancellationToken) -> Result<Frame, CallError> {
        let request = CellRequest::new(Some(&fields.session), fields.code)
            .with_globals(globals(&fields.globals)?)
            .with_input_requests(fields.input.then(|| self.asker(id)))
            .without_shell();
        let queue = EventQueue::default();
        let (report, ()) = tokio::join!(
            async {
                let ran = self.sessions.execute(LOCAL_PRINCIPAL, request, cancel, &mut |event| queue.add(event)).await;
                queue.close();
                ran
            },
            self.send_events(id, &queue),
        );
        let report = report?;
        for image in &report.images {
            let json = json!({"event": "figure", "mime": image.mime, "name": image.name});
            self.event(id, Frame { json, bytes: image.bytes.clone() }).await;
        }
        Ok(json!({"result": answers::of_cell(&report)}).into())
    }

    /// Sends the events of a request until the queue is closed.
    async fn send_events(&self, id: u64, queue: &EventQueue) {
        while let Some(event) = queue.next().await {
            self.event(id, event.into()).await;
        }
    }

    /// Returns the way to the package for questions of a request's code.
    fn asker(self: &Arc<Self>, id: u64) -> InputRequests {
        let (sender, mut asked) = input_requests();
        let server = self.clone();
        tokio::spawn(async move {
            while let Some(InputRequest { prompt, password, reply, .. }) = asked.recv().await {
                match server.running().get_mut(&id) {
                    Some(running) => running.question = Some(reply),
                    None => return,
                }
                server.event(id, json!({"event": "input", "prompt": prompt, "password": password}).into()).await;
            }
        });
        sender
    }
}
