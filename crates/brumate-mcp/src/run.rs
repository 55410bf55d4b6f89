//! Runs handlers: catches their panics, and ends them with their request.

use crate::context::{AbortPayload, Context, RequestState};
use crate::error::Error;
use crate::watchdog::watched;
use futures::FutureExt as _;
use rmcp::model::InputRequest;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, resume_unwind};

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

/// Runs `work` for the request of `context`.
pub(crate) async fn run<T>(context: &Context, work: impl Future<Output = Result<T, Error>>) -> RunOutcome<T> {
    let work = watched(context, AssertUnwindSafe(work).catch_unwind());
    tokio::select! {
        biased;
        done = work => match done {
            Ok(result) => RunOutcome::Returned(result),
            Err(payload) if payload.is::<AbortPayload>() => asked(context).unwrap_or(RunOutcome::Cancelled),
            Err(payload) => RunOutcome::Panicked(message(payload.as_ref())),
        },
        () = context.input_requests().asked() => asked(context).unwrap_or(RunOutcome::Cancelled),
        () = context.cancelled() => RunOutcome::Cancelled,
    }
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
