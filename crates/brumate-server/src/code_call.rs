//! Code that runs for a tool call: its output goes to the client while it runs, and its input comes from there.

mod input;
mod log;
mod progress;

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use brumate_mcp::{Context, TaskSupport, Tool, ToolResult};
use brumate_session::{CancellationToken, Request, RunEvent, input_requests};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::state::{ServerState, principal};
use crate::traces::{RequestSpan, RunSpan};
use log::LogSender;
use progress::ProgressSender;

/// Default time for an answer to `input()`: 10 minutes.
pub(crate) const DEFAULT_INPUT_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Default time after which a call becomes a task: 2 seconds. Shorter calls are answered directly, which is faster than polling.
pub(crate) const TASK_AFTER: Duration = Duration::from_secs(2);
/// How much of the end of the output a task's status shows, in bytes.
const MAX_SHOWN: usize = 2048;

/// Lets a tool that runs code become a task, for clients that know tasks.
pub(crate) fn runs_code(tool: Tool, state: &ServerState) -> Tool {
    tool.tasks(TaskSupport::Optional).task_after(state.task_after)
}

/// A run of code for a call.
pub(crate) struct CodeCall<'a> {
    state: &'a ServerState,
    context: &'a Context,
    span: Option<RunSpan>,
}

impl<'a> CodeCall<'a> {
    /// Makes the run of a call.
    pub(crate) fn new(state: &'a ServerState, context: &'a Context) -> Self {
        Self { state, context, span: context.extension::<RequestSpan>().map(|span| span.run()) }
    }

    /// Runs code with `run` until it has ended, and its output was sent. A cancelled call interrupts the code.
    pub(crate) async fn run<T>(
        &self,
        request: Request,
        run: impl for<'r> FnOnce(Request, &'r CancellationToken, &'r mut (dyn FnMut(RunEvent) + Send)) -> BoxFuture<'r, T>,
    ) -> T {
        let Self { state, context, span } = self;
        let (questions, asked) = input_requests();
        let request = request
            .with_principal(principal(context))
            .with_input_requests(context.can_elicit().then_some(questions))
            .with_phases(span.as_ref().map(RunSpan::phases));
        let cancel = state.call_token(context);
        let output = OutputSender::new(state, context);
        let result = async {
            let mut push = |event| output.push(&event);
            let result = run(request, &cancel, &mut push).await;
            output.close();
            result
        };
        // A client that cancelled a request receives no more messages about it.
        let send = async {
            tokio::select! {
                () = output.send() => {}
                () = cancel.cancelled() => {}
            }
        };
        let answer_input = async {
            input::answer(asked, context, state.input_timeout, &output).await;
            pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            (result, ()) = async { tokio::join!(result, send) } => result,
            never = answer_input => match never {},
        }
    }

    /// Returns the context of the call.
    pub(crate) fn context(&self) -> &Context {
        self.context
    }

    /// Ends the record of the run with its result.
    pub(crate) fn end(self, result: &ToolResult) {
        if let Some(span) = self.span {
            span.end(result);
        }
    }
}

/// Waits until `is_so` returns true. `changed` is notified when that may be.
async fn wait_until(changed: &Notify, is_so: impl Fn() -> bool) {
    loop {
        let notified = changed.notified();
        if is_so() {
            return;
        }
        notified.await;
    }
}

/// Sends the output of code to the client: as log messages, as progress, and as the status of a task.
pub(crate) struct OutputSender<'a> {
    context: &'a Context,
    log: LogSender<'a>,
    progress: ProgressSender<'a>,
    /// The end of the output.
    tail: Mutex<String>,
}

impl<'a> OutputSender<'a> {
    fn new(state: &ServerState, context: &'a Context) -> Self {
        let (log, progress) = (LogSender::new(context), ProgressSender::new(context, state.runner.preparing()));
        Self { context, log, progress, tail: Mutex::default() }
    }

    /// Adds an event. This never waits.
    fn push(&self, event: &RunEvent) {
        self.log.push(event);
        self.progress.push(event);
        let mut tail = self.tail.lock();
        match event {
            RunEvent::Output { text, .. } => tail.push_str(text),
            RunEvent::Loading { wheels } => tail.push_str(&format!("Loading {}\n", wheels.join(", "))),
            _ => return,
        }
        if tail.len() > MAX_SHOWN {
            let from = tail.ceil_char_boundary(tail.len() - MAX_SHOWN);
            tail.drain(..from);
        }
        self.context.set_status_message(tail.as_str());
    }

    /// Says that no more events follow.
    fn close(&self) {
        self.log.close();
        self.progress.close();
    }

    /// Sends messages until [`OutputSender::close`] was called and all of them are sent.
    async fn send(&self) {
        tokio::join!(self.log.run(), self.progress.run());
    }

    /// Waits until everything so far is sent, unfinished lines too.
    async fn flush(&self) {
        tokio::join!(self.log.flush(), self.progress.flush());
    }
}
