//! Runs handlers: catches their panics, and ends them with their request.

use crate::context::{AbortPayload, Context, RequestState};
use crate::error::Error;
use crate::watchdog::watched;
use futures::FutureExt as _;
use rmcp::model::InputRequest;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::time::Duration;

/// How the run of a handler ended.
#[derive(Debug)]
pub(crate) enum RunOutcome<T> {
    /// The handler returned.
    Returned(Result<T, Error>),
    /// The handler panicked. The message is for the log, not for the client.
    Panicked(String),
    /// The client has cancelled the request or has gone away.
    Cancelled,
    /// The handler waits for input that only another round can bring.
    InputRequired(BTreeMap<String, InputRequest>, RequestState),
}

/// Runs `work` for the request of `context`. It is dropped when it requests input or when the request is cancelled.
pub(crate) async fn run<T>(context: &Context, work: impl Future<Output = Result<T, Error>>) -> RunOutcome<T> {
    let work = watched(context, AssertUnwindSafe(work).catch_unwind());
    tokio::select! {
        biased;
        done = work => done.map_or_else(|payload| unwound(context, payload), RunOutcome::Returned),
        () = context.input_requests().asked() => asked(context).unwrap_or(RunOutcome::Cancelled),
        () = context.cancelled() => RunOutcome::Cancelled,
    }
}

/// Runs `work` for a call whose handler runs on between its requests. At the cancellation the handler has `grace` to return.
pub(crate) async fn run_to_end<T>(
    context: &Context,
    grace: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> RunOutcome<T> {
    let mut work = pin!(watched(context, AssertUnwindSafe(work).catch_unwind()));
    let done = tokio::select! {
        biased;
        done = &mut work => Some(done),
        () = context.cancelled() => tokio::time::timeout(grace, work).await.ok(),
    };
    match done {
        Some(Ok(result)) => RunOutcome::Returned(result),
        Some(Err(payload)) => unwound(context, payload),
        None => RunOutcome::Cancelled,
    }
}

/// Returns the outcome of a handler that unwound.
fn unwound<T>(context: &Context, payload: Box<dyn Any + Send>) -> RunOutcome<T> {
    if payload.is::<AbortPayload>() {
        return asked(context).unwrap_or(RunOutcome::Cancelled);
    }
    RunOutcome::Panicked(message(payload.as_ref()))
}

/// Returns the input that the handler requests, if it requests any.
fn asked<T>(context: &Context) -> Option<RunOutcome<T>> {
    let (asked, known) = context.input_requests().take();
    (!asked.is_empty()).then_some(RunOutcome::InputRequired(asked, known))
}

/// Runs `work`, which may block, on a thread for blocking work.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(output) => output,
        Err(error) => match error.try_into_panic() {
            Ok(payload) => resume_unwind(payload),
            // Only a runtime that shuts down cancels tasks. Nobody waits for the answer.
            Err(_) => std::future::pending().await,
        },
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)").to_owned()
}
