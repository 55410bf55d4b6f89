//! The builder of a run.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use brumate_engine_api::StreamName;
use brumate_session::sessions::LOCAL_PRINCIPAL;
use brumate_session::{CancellationToken, Globals, InputReply, InputRequests, Request, RunEvent, input_requests};
use serde::Serialize;

use super::error::Error;
use super::result::RunResult;
use super::sandbox_core::SandboxCore;
use crate::ranges::check_time;

/// Builder of a run, in a fresh interpreter or in a session. `await` starts the run and returns its [`RunResult`].
///
/// ```no_run
/// # async fn example(sandbox: brumate::Sandbox) -> Result<(), brumate::Error> {
/// let result = sandbox.run("print(name)").global("name", "Ada").on_event(|event| println!("{event:?}")).await?;
/// # Ok(()) }
/// ```
///
/// Dropping the future interrupts the code.
#[must_use = "`await` starts the run"]
pub struct RunBuilder<'a> {
    core: &'a SandboxCore,
    session: Option<&'a str>,
    code: String,
    file_name: String,
    globals: Globals,
    timeout: Option<Duration>,
    /// Whether the run is left out of its session's history.
    unrecorded: bool,
    /// The first error of a setter. `await` returns it.
    error: Option<Error>,
    on_event: Box<dyn FnMut(Event) + Send + 'a>,
    on_input: Option<Box<InputHandler>>,
}

/// Answers input requests.
type InputHandler = dyn FnMut(InputRequest) -> Option<String> + Send;

/// An event of running code.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The code wrote this text to standard output.
    Stdout(String),
    /// The code wrote this text to standard error.
    Stderr(String),
    /// These packages were loaded for the code.
    Packages(Vec<String>),
}

/// A request of running code for a line of input: `input()` or `getpass()`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputRequest {
    /// The prompt. May be empty.
    pub prompt: String,
    /// Whether the input is a password, which must not be shown.
    pub is_password: bool,
}

impl std::fmt::Debug for RunBuilder<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RunBuilder")
            .field("code", &self.code)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl<'a> RunBuilder<'a> {
    pub(super) fn new(core: &'a SandboxCore, session: Option<&'a str>, code: String) -> Self {
        Self {
            core,
            session,
            code,
            file_name: String::new(),
            globals: Globals::default(),
            timeout: None,
            unrecorded: false,
            error: None,
            on_event: Box::new(|_| {}),
            on_input: None,
        }
    }

    /// Sets a global variable of the code. The value is converted through JSON, with all digits of its integers. JSON has neither NaN nor
    /// infinities: they become `None`.
    pub fn global(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        match serde_json::value::to_raw_value(&value) {
            Ok(value) => self.globals.insert(&name, &value),
            Err(source) => self.error = self.error.or(Some(Error::Global { name, source })),
        }
        self
    }

    /// Sets the file name in tracebacks. Default: `main.py`. Runs in a session ignore it.
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.file_name = name.into();
        self
    }

    /// Sets the wall-clock time limit of this run: 50 milliseconds to a day. Default: that of
    /// [`SandboxBuilder::timeout`](crate::SandboxBuilder::timeout). Time that the run waits for others does not count.
    pub fn timeout(mut self, time: Duration) -> Self {
        match check_time("timeout", time) {
            Ok(time) => self.timeout = Some(time),
            Err(reason) => self.error = self.error.or(Some(Error::Settings(reason))),
        }
        self
    }

    /// Sets a function that receives the events of the run while it runs. The function must not block.
    pub fn on_event(mut self, handler: impl FnMut(Event) + Send + 'a) -> Self {
        self.on_event = Box::new(handler);
        self
    }

    /// Sets a function that returns a line for `input()` and `getpass()`, or `None` for the end of the input (`EOFError`). It is called
    /// on a thread of its own and may block. Default: the end of the input.
    pub fn on_input(mut self, handler: impl FnMut(InputRequest) -> Option<String> + Send + 'static) -> Self {
        self.on_input = Some(Box::new(handler));
        self
    }

    /// Leaves the run out of its session's history.
    pub(super) fn unrecorded(mut self) -> Self {
        self.unrecorded = true;
        self
    }

    async fn run(self) -> Result<RunResult, Error> {
        let RunBuilder { core, session, code, file_name, globals, timeout, unrecorded, error, mut on_event, on_input } =
            self;
        if let Some(error) = error {
            return Err(error);
        }
        let cancel = CancellationToken::new();
        let _cancel_when_dropped = cancel.clone().drop_guard();
        let questions = on_input.map(input_channel);
        let request = Request::new(code)
            .with_globals(globals)
            .with_file_name(file_name)
            .with_input_requests(questions)
            .with_time_limit(timeout)
            .with_unrecorded(unrecorded)
            .with_principal(LOCAL_PRINCIPAL);
        let Some(session) = session else {
            let mut event_sink = |event| forward(&mut *on_event, event);
            let report = core.runner.run(request, &cancel, &mut event_sink).await?;
            return Ok(RunResult::from_run(report));
        };
        let request = request.in_session(Some(session)).without_shell();
        let mut partial = RunResult::default();
        let mut event_sink = |event| {
            match &event {
                RunEvent::Output { name, text } => partial.append_output(*name, text),
                RunEvent::Loaded { wheels } => partial.packages.clone_from(wheels),
                _ => {}
            }
            forward(&mut *on_event, event);
        };
        let report = core.sessions().await?.execute(request, &cancel, &mut event_sink).await?;
        Ok(RunResult::from_cell(report, partial))
    }
}

impl<'a> IntoFuture for RunBuilder<'a> {
    type Output = Result<RunResult, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Passes an event on, if the public API has it.
fn forward(on_event: &mut (dyn FnMut(Event) + Send), event: RunEvent) {
    match event {
        RunEvent::Output { name: StreamName::Stdout, text } => on_event(Event::Stdout(text)),
        RunEvent::Output { name: StreamName::Stderr, text } => on_event(Event::Stderr(text)),
        RunEvent::Loaded { wheels } => on_event(Event::Packages(wheels)),
        _ => {}
    }
}

/// Returns a channel for input requests. `on_input` is called on a blocking thread.
fn input_channel(mut on_input: Box<InputHandler>) -> InputRequests {
    let (sender, mut receiver) = input_requests();
    tokio::task::spawn_blocking(move || {
        while let Some(question) = receiver.blocking_recv() {
            let answer = on_input(InputRequest { prompt: question.prompt, is_password: question.password });
            // The code may have stopped waiting.
            let _ = question.reply.send(answer.map_or(InputReply::End, InputReply::Line));
        }
    });
    sender
}
