//! `brumate pipe`: serves one language package (the Python package `brumate`) over the socket that is its standard input.
//!
//! A request is a frame with an `id` and a `call`. Its events have the same `id`; its last frame has `result` or `error`. Requests run
//! concurrently, except those of one session.
//!
//! | call | fields | bytes | result |
//! |---|---|---|---|
//! | `run` | `code`, `globals` (JSON text), `file_name`, `input`, `timeout` (milliseconds, or nothing) | | [`results::run_result`] |
//! | `session.new` | | | `session` |
//! | `session.run` | `session`, `code`, `globals`, `input`, `timeout` | | [`results::cell_result`] |
//! | `session.fork` | `session` | | `session` |
//! | `session.snapshot` | `session`, `path` | | `done`, and a snapshot in that file ([`brumate::snapshot`]) |
//! | `session.restore` | `path` | | `session` |
//! | `session.reset`, `session.clear`, `session.interrupt` | `session` | | `done` |
//! | `session.files` | `session` | | `files` |
//! | `session.list` | | | `sessions` |
//! | `file.write` | `session`, `name`, `offset`, `last` | the part | `file` |
//! | `file.read` | `session`, `name`, `offset` | | `size`, and the part as bytes |
//! | `cancel` | `of`: an id | | none |
//! | `answer` | `of`: an id, `text` or nothing | | none |
//!
//! `brumate pipe --check` reads the other options, says what is wrong with them, and ends.

mod calls;
mod events;
mod frame;
mod results;

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use brumate_packages::Requirement;
use brumate_session::sessions::Sessions;
use brumate_session::{Allowances, CancellationToken, InputReply, Runner};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc, oneshot};

use self::frame::Frame;
use super::print_error;
use super::serving::{self, McpService};
use crate::cli::PipeArgs;
use crate::exit_status;
use crate::settings::Settings;
use crate::signals::Signals;

/// Version of the protocol. A package rejects a binary with another version.
const PROTOCOL: u32 = 1;

/// Most concurrent requests. Further ones are read when one has ended; the package sends them later.
const MAX_REQUESTS: usize = 1024;

/// Most frames that wait to be read by the package. Then running code waits.
const WRITE_QUEUE: usize = 64;

/// State that all requests share.
struct PipeServer {
    runner: Runner,
    sessions: Sessions,
    cache_dir: PathBuf,
    frames: mpsc::Sender<Frame>,
    /// Running requests by id.
    running: Mutex<HashMap<u64, RunningRequest>>,
}

/// A running request.
struct RunningRequest {
    cancel: CancellationToken,
    /// Receives the answer to the input request that the code waits for.
    question: Option<oneshot::Sender<InputReply>>,
}

pub(crate) async fn run(settings: &Settings, arguments: &PipeArgs) -> anyhow::Result<u8> {
    if arguments.check {
        return Ok(check(settings));
    }
    let stream = stream().context("`brumate pipe` is for language packages: its standard input must be a socket")?;
    let Some(service) = McpService::start(settings, Allowances::default()).await? else {
        return Ok(exit_status::FAILURE);
    };
    let McpService { runner, sessions, telemetry, shutdown_started, .. } = service;
    let sessions = sessions.context("there is no home directory for sessions: name a directory with --data-dir")?;
    let shutdown = CancellationToken::new();
    let serving = async {
        let served = serve(stream, runner, sessions.clone(), &settings.cache_dir, &shutdown).await;
        let written = serving::end(&shutdown_started, Some(&sessions), telemetry).await;
        served.map(|()| written)
    };
    let (result, signalled) = Signals::listen()?.guard(&shutdown, serving).await;
    Ok(serving::exit_status_of(signalled, result?))
}

/// Checks the settings that are otherwise read by the first run. Returns the exit status.
fn check(settings: &Settings) -> u8 {
    for text in &settings.runner.dependencies {
        if let Err(error) = text.parse::<Requirement>() {
            print_error(&format!("brumate: {error}"));
            return exit_status::USAGE;
        }
    }
    exit_status::SUCCESS
}

/// Returns standard input as a socket.
fn stream() -> std::io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    // Fails if it is not a socket.
    socket.peer_addr()?;
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

async fn serve(
    stream: UnixStream,
    runner: Runner,
    sessions: Sessions,
    cache_dir: &Path,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let (mut input, mut output) = stream.into_split();
    let (frames, mut queue) = mpsc::channel::<Frame>(WRITE_QUEUE);
    let writing = tokio::spawn(async move {
        while let Some(frame) = queue.recv().await {
            if frame::write(&mut output, &frame).await.is_err() {
                // The package is gone. The end of the input ends its requests.
                break;
            }
        }
    });
    let hello = json!({"brumate": env!("CARGO_PKG_VERSION"), "protocol": PROTOCOL});
    let _ = frames.send(hello.into()).await;
    let server =
        Arc::new(PipeServer { runner, sessions, cache_dir: cache_dir.to_owned(), frames, running: Mutex::default() });
    let permits = Arc::new(Semaphore::new(MAX_REQUESTS));
    let all_requests = shutdown.child_token();
    let result = loop {
        let read = tokio::select! {
            read = frame::read(&mut input) => read,
            () = shutdown.cancelled() => break Ok(()),
        };
        match read {
            Ok(Some(frame)) => {
                let Some((id, frame)) = server.handle_message(frame) else { continue };
                let Ok(permit) = permits.clone().acquire_owned().await else { break Ok(()) };
                server.begin(id, frame, all_requests.child_token(), permit);
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error).context("the package sent an invalid frame"),
        }
    };
    all_requests.cancel();
    // Wait for running requests, which hold permits.
    let _ = permits.acquire_many(MAX_REQUESTS as u32).await;
    drop(server);
    let _ = writing.await;
    result
}

impl PipeServer {
    fn running(&self) -> parking_lot::MutexGuard<'_, HashMap<u64, RunningRequest>> {
        self.running.lock()
    }

    /// Handles a message about another request. Returns a frame that is a request, with its id.
    fn handle_message(&self, frame: Frame) -> Option<(u64, Frame)> {
        let number = |name: &str| frame.json.get(name).and_then(Value::as_u64);
        let call = frame.json.get("call").and_then(Value::as_str).unwrap_or_default();
        match (call, number("of"), number("id")) {
            ("cancel", Some(of), _) => {
                if let Some(running) = self.running().get(&of) {
                    running.cancel.cancel();
                }
            }
            ("answer", Some(of), _) => {
                let text = frame.json.get("text").and_then(Value::as_str);
                let reply = text.map_or(InputReply::End, |text| InputReply::Line(text.to_owned()));
                let question = self.running().get_mut(&of).and_then(|running| running.question.take());
                if let Some(question) = question {
                    // The code may have stopped waiting.
                    let _ = question.send(reply);
                }
            }
            (_, _, Some(id)) => return Some((id, frame)),
            _ => tracing::warn!(call, "a request without an id is ignored"),
        }
        None
    }

    /// Runs a request in a task of its own.
    fn begin(
        self: &Arc<Self>,
        id: u64,
        frame: Frame,
        cancel: CancellationToken,
        permit: tokio::sync::OwnedSemaphorePermit,
    ) {
        self.running().insert(id, RunningRequest { cancel: cancel.clone(), question: None });
        let server = self.clone();
        tokio::spawn(async move {
            let mut answer = match server.call(id, frame, &cancel).await {
                Ok(frame) => frame,
                Err(error) => json!({"error": error}).into(),
            };
            server.running().remove(&id);
            answer.json["id"] = id.into();
            let _ = server.frames.send(answer).await;
            drop(permit);
        });
    }

    /// Sends an event of a request.
    async fn event(&self, id: u64, mut event: Frame) {
        event.json["id"] = id.into();
        let _ = self.frames.send(event).await;
    }
}
