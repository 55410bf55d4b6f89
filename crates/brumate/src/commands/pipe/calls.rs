//! Handles the calls of a package.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use brumate::ranges::check_time;
use brumate::{Error, snapshot};
use brumate_notebook::OutputPolicy;
use brumate_session::sessions::{CellReport, FileName, FilePart, LOCAL_PRINCIPAL, ReadAdmission, SessionError, Upload};
use brumate_session::{
    CancellationToken, FrontendRequest, Globals, InputRequest, InputRequests, Request, RunError, input_requests,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::events::EventQueue;
use super::frame::Frame;
use super::{PipeServer, results};

/// The fields of a request. Each call uses some of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallFields {
    call: String,
    session: String,
    code: String,
    file_name: String,
    /// Global variables: a JSON object as text. Empty: none.
    globals: String,
    /// Whether the package answers input requests.
    input: bool,
    /// Time limit of a run in milliseconds. `None`: that of the settings.
    timeout: Option<u64>,
    name: String,
    offset: u64,
    last: bool,
    /// Whether a cell is left out of its session's history.
    internal: bool,
    /// Path on the host.
    path: PathBuf,
}

/// The reason why a call failed. The package chooses the exception by `kind`.
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

/// Returns the time limit of a run.
fn time_limit(milliseconds: Option<u64>) -> Result<Option<Duration>, CallError> {
    let time = milliseconds.map(|number| check_time("timeout", Duration::from_millis(number)));
    time.transpose().map_err(CallError::usage)
}

/// Returns global variables of their text. The guest reads it.
fn globals(text: String) -> Result<Globals, CallError> {
    Globals::from_json(text).map_err(CallError::usage)
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

impl PipeServer {
    /// Handles a request. Returns its last frame.
    ///
    /// # Errors
    ///
    /// The request is malformed, or its session or the sandbox cannot be used.
    pub(super) async fn call(
        self: &Arc<Self>,
        id: u64,
        frame: Frame,
        cancel: &CancellationToken,
    ) -> Result<Frame, CallError> {
        let fields: CallFields =
            serde_json::from_value(frame.json).map_err(|error| CallError::usage(error.to_string()))?;
        let call = fields.call.as_str();
        let (sessions, who, session) = (&self.sessions, LOCAL_PRINCIPAL, fields.session.as_str());
        let result = match call {
            "run" => return self.run(id, fields, cancel).await,
            "session.run" => return self.cell(id, fields, cancel).await,
            "session.cell" => return self.notebook_cell(id, fields, cancel).await,
            "session.notebook" => {
                let never = ReadAdmission::always();
                let FilePart { bytes, .. } = sessions.read_notebook(who, session, None, never).await?;
                return Ok(Frame { json: json!({"result": {"done": true}}), bytes });
            }
            "file.read" => {
                let name = FileName::parse_existing(&fields.name)?;
                let chunk = sessions.read_file(who, session, &name, fields.offset, cancel).await?;
                return Ok(Frame { json: json!({"result": {"size": chunk.size}}), bytes: chunk.bytes });
            }
            "session.new" => {
                let new = sessions.execute(Request::cell(None, "").with_principal(who), cancel, &mut |_| {}).await?;
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
                json!({"files": files.iter().map(results::file).collect::<Vec<_>>()})
            }
            "session.list" => {
                let records = sessions.list(who).await;
                json!({"sessions": records.iter().map(results::session).collect::<Vec<_>>()})
            }
            "file.write" => {
                let name = FileName::parse(&fields.name)?;
                let upload = Upload { name, offset: fields.offset, bytes: frame.bytes, last: fields.last };
                let (_, file) = sessions.upload(who, Some(session), upload, cancel).await?;
                json!({"file": results::file(&file)})
            }
            _ => {
                return Err(CallError::usage(format!(
                    "unknown call {call:?}: package and binary have different versions"
                )));
            }
        };
        Ok(json!({ "result": result }).into())
    }

    async fn run(
        self: &Arc<Self>,
        id: u64,
        fields: CallFields,
        cancel: &CancellationToken,
    ) -> Result<Frame, CallError> {
        let request = Request::new(fields.code)
            .with_globals(globals(fields.globals)?)
            .with_file_name(fields.file_name)
            .with_input_requests(fields.input.then(|| self.input_channel(id)))
            .with_time_limit(time_limit(fields.timeout)?)
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
        for image in &report.images {
            let json = json!({"event": "figure", "mime": image.mime});
            self.event(id, Frame { json, bytes: image.bytes.clone() }).await;
        }
        Ok(json!({"result": results::run_result(&report)}).into())
    }

    async fn cell(
        self: &Arc<Self>,
        id: u64,
        fields: CallFields,
        cancel: &CancellationToken,
    ) -> Result<Frame, CallError> {
        let request = Request::cell(Some(&fields.session), fields.code)
            .with_globals(globals(fields.globals)?)
            .with_input_requests(fields.input.then(|| self.input_channel(id)))
            .with_time_limit(time_limit(fields.timeout)?)
            .with_unrecorded(fields.internal)
            .without_shell()
            .with_principal(LOCAL_PRINCIPAL);
        let report = self.in_session(id, request, cancel).await?;
        for image in &report.run.images {
            let json = json!({"event": "figure", "mime": image.mime, "name": image.name});
            self.event(id, Frame { json, bytes: image.bytes.clone() }).await;
        }
        Ok(json!({"result": results::cell_result(&report)}).into())
    }

    /// Runs a cell in IPython's shell, as a frontend's. Its outputs are events.
    async fn notebook_cell(
        self: &Arc<Self>,
        id: u64,
        fields: CallFields,
        cancel: &CancellationToken,
    ) -> Result<Frame, CallError> {
        const EXECUTE: &str = "execute_request";
        let content = json!({"code": fields.code, "silent": false, "store_history": true, "allow_stdin": false});
        let header = json!({"msg_id": id.to_string(), "msg_type": EXECUTE});
        let request = Request::frontend(&fields.session, &FrontendRequest::new(EXECUTE, content, &header))
            .with_time_limit(time_limit(fields.timeout)?)
            .with_unrecorded(fields.internal)
            .with_principal(LOCAL_PRINCIPAL);
        let report = self.in_session(id, request, cancel).await?;
        let reply = report.run.value.as_ref().and_then(|value| serde_json::from_str(&value.json).ok());
        let mut result = results::cell_result(&report);
        // The reply of the code's shell; none if its interpreter has ended.
        result["reply"] = OutputPolicy::Passive.reply(reply.filter(Value::is_object).unwrap_or_else(|| json!({})));
        result["value"] = Value::Null;
        result["text"] = Value::Null;
        Ok(json!({ "result": result }).into())
    }

    /// Runs a cell, and sends its events.
    async fn in_session(
        self: &Arc<Self>,
        id: u64,
        request: Request,
        cancel: &CancellationToken,
    ) -> Result<CellReport, SessionError> {
        let queue = EventQueue::default();
        let (report, ()) = tokio::join!(
            async {
                let ran = self.sessions.execute(request, cancel, &mut |event| queue.add(event)).await;
                queue.close();
                ran
            },
            self.send_events(id, &queue),
        );
        report
    }

    /// Sends the events of a request until the queue is closed.
    async fn send_events(&self, id: u64, queue: &EventQueue) {
        while let Some(event) = queue.next().await {
            self.event(id, event.into()).await;
        }
    }

    /// Returns the channel that sends input requests of a request's code to the package.
    fn input_channel(self: &Arc<Self>, id: u64) -> InputRequests {
        let (sender, mut receiver) = input_requests();
        let server = self.clone();
        tokio::spawn(async move {
            while let Some(InputRequest { prompt, password, reply, .. }) = receiver.recv().await {
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
