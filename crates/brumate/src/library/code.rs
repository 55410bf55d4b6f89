//! Code that is about to run.

use std::future::{Future, IntoFuture};
use std::pin::Pin;

use brumate_engine_api::StreamName;
use brumate_session::sessions::{CellRequest, LOCAL_PRINCIPAL};
use brumate_session::{CancellationToken, InputReply, InputRequests, RunEvent, RunRequest, input_requests};
use serde::Serialize;
use serde_json::{Map, Value};

use super::core::Core;
use super::error::Error;
use super::result::RunResult;

/// Code that is about to run, in a fresh interpreter or in a session. `await` runs it.
///
/// ```no_run
/// # async fn example(sandbox: brumate::Sandbox) -> Result<(), brumate::Error> {
/// let result = sandbox.run("print(name)").global("name", "Ada").on_event(|event| println!("{event:?}")).await?;
/// # Ok(()) }
/// ```
///
/// A future that is dropped interrupts the code.
#[must_use = "`await` runs the code"]
pub struct Code<'a> {
    core: &'a Core,
    session: Option<&'a str>,
    code: String,
    file_name: String,
    globals: Map<String, Value>,
    failed: Option<Error>,
    listener: Box<dyn FnMut(Event) + Send + 'a>,
    answerer: Option<Box<Answerer>>,
}

/// Answers questions.
type Answerer = dyn FnMut(Question) -> Option<String> + Send;

/// What running code does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// It wrote to standard output.
    Stdout(String),
    /// It wrote to standard error.
    Stderr(String),
    /// Packages were loaded for it.
    Packages(Vec<String>),
}

/// A question of running code: `input()`, or `getpass()`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// The text to show; may be empty.
    pub prompt: String,
    /// The answer is not to be shown.
    pub is_password: bool,
}

impl std::fmt::Debug for Code<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Code").field("code", &self.code).field("session", &self.session).finish_non_exhaustive()
    }
}

impl<'a> Code<'a> {
    pub(super) fn new(core: &'a Core, session: Option<&'a str>, code: String) -> Self {
        Self {
            core,
            session,
            code,
            file_name: String::new(),
            globals: Map::new(),
            failed: None,
            listener: Box::new(|_| {}),
            answerer: None,
        }
    }

    /// Sets a variable that the code begins with: whatever serializes to JSON.
    pub fn global(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        match serde_json::to_value(value) {
            Ok(value) => {
                self.globals.insert(name, value);
            }
            Err(source) => self.failed = Some(Error::Global { name, source }),
        }
        self
    }

    /// Sets the name that tracebacks show; `main.py` by default. Code in a session has none.
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.file_name = name.into();
        self
    }

    /// Calls `listener` with what the code does, as it does it. It must not block.
    pub fn on_event(mut self, listener: impl FnMut(Event) + Send + 'a) -> Self {
        self.listener = Box::new(listener);
        self
    }

    /// Answers the code's questions, on a thread of its own; `None` is the end of the input. Without it they find the end at once.
    pub fn answer(mut self, answerer: impl FnMut(Question) -> Option<String> + Send + 'static) -> Self {
        self.answerer = Some(Box::new(answerer));
        self
    }

    async fn run(self) -> Result<RunResult, Error> {
        let Code { core, session, code, file_name, globals, failed, mut listener, answerer } = self;
        if let Some(error) = failed {
            return Err(error);
        }
        let cancel = CancellationToken::new();
        let _cancelled_when_dropped = cancel.clone().drop_guard();
        let questions = answerer.map(asker);
        let Some(session) = session else {
            let request = RunRequest::new(code)
                .with_globals(globals)
                .with_file_name(file_name)
                .with_input_requests(questions)
                .with_principal(LOCAL_PRINCIPAL);
            let mut onlooker = |event| tell(&mut *listener, event);
            let report = core.runner.run(request, &cancel, &mut onlooker).await?;
            return Ok(RunResult::of_run(report));
        };
        let request =
            CellRequest::new(Some(session), code).with_globals(globals).with_input_requests(questions).without_shell();
        let mut written = RunResult::default();
        let mut onlooker = |event| {
            match &event {
                RunEvent::Output { name, text } => written.write(*name, text),
                RunEvent::Loaded { wheels } => written.packages.clone_from(wheels),
                _ => {}
            }
            tell(&mut *listener, event);
        };
        let report = core.sessions().await?.execute(LOCAL_PRINCIPAL, request, &cancel, &mut onlooker).await?;
        Ok(RunResult::of_cell(report, written))
    }
}

impl<'a> IntoFuture for Code<'a> {
    type Output = Result<RunResult, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

fn tell(listener: &mut (dyn FnMut(Event) + Send), event: RunEvent) {
    match event {
        RunEvent::Output { name: StreamName::Stdout, text } => listener(Event::Stdout(text)),
        RunEvent::Output { name: StreamName::Stderr, text } => listener(Event::Stderr(text)),
        RunEvent::Loaded { wheels } => listener(Event::Packages(wheels)),
        _ => {}
    }
}

/// Returns a channel for questions. `answerer` is asked on a thread that may wait for a person.
fn asker(mut answerer: Box<Answerer>) -> InputRequests {
    let (sender, mut asked) = input_requests();
    tokio::task::spawn_blocking(move || {
        while let Some(question) = asked.blocking_recv() {
            let answer = answerer(Question { prompt: question.prompt, is_password: question.password });
            // The code may have stopped waiting.
            let _ = question.reply.send(answer.map_or(InputReply::End, InputReply::Line));
        }
    });
    sender
}
