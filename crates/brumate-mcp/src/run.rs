//! Running a handler: what it panics with stays inside, and it ends when its request does.

use crate::context::{Context, Known};
use crate::error::Error;
use futures::FutureExt as _;
use rmcp::model::InputRequest;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, resume_unwind};

/// How a handler's run ended.
#[derive(Debug)]
pub(crate) enum Outcome<T> {
    /// It returned.
    Done(Result<T, Error>),
    /// It panicked; the message is for the log, not for the client.
    Panicked(String),
    /// The client has cancelled the request or is gone.
    Cancelled,
    /// It waits for answers that only another round can bring.
    Asks(BTreeMap<String, InputRequest>, Known),
}

/// Runs `work` for the request of `context`.
pub(crate) async fn run<T>(context: &Context, work: impl Future<Output = Result<T, Error>>) -> Outcome<T> {
    let work = AssertUnwindSafe(work).catch_unwind();
    tokio::select! {
        biased;
        done = work => match done {
            Ok(result) => Outcome::Done(result),
            Err(payload) if payload.is::<Unwound>() => asked(context).unwrap_or(Outcome::Cancelled),
            Err(payload) => Outcome::Panicked(message(payload.as_ref())),
        },
        () = context.questions().asked() => asked(context).unwrap_or(Outcome::Cancelled),
        () = context.cancelled() => Outcome::Cancelled,
    }
}

/// What the handler asks, if it asks anything.
fn asked<T>(context: &Context) -> Option<Outcome<T>> {
    let (asked, known) = context.questions().take();
    (!asked.is_empty()).then_some(Outcome::Asks(asked, known))
}

/// What a blocking handler unwinds with when its request has ended, or waits for answers.
pub(crate) struct Unwound;

/// Runs `work`, which may block, on a thread for such work.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(output) => output,
        Err(error) => match error.try_into_panic() {
            Ok(payload) => resume_unwind(payload),
            // Only a runtime that shuts down cancels tasks; nobody is left to see the answer.
            Err(_) => std::future::pending().await,
        },
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)").to_owned()
}
