//! Calls whose handlers run on between their requests ([`Suspension`](crate::Suspension)), and the store of the calls
//! that wait for input.

use crate::context::Context;
use crate::error::{Error, InputError};
use crate::principal::Principal;
use crate::result::ToolResult;
use crate::run::{RunOutcome, run_to_end};
use crate::suspended_calls::{CallDigest, SuspendedCalls};
use crate::suspension::Suspension;
use crate::sync::lock;
use crate::tool::ServedTool;
use rmcp::model::InputRequiredResult;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::DropGuard;

/// The most principals whose waiting calls are kept apart. Beyond it, principals without waiting calls are removed.
const MAX_PRINCIPALS: usize = 10_000;

/// A call whose handler runs in a task of its own. Dropping it tells the handler that the call is cancelled.
#[derive(Debug)]
pub(crate) struct KeptCall {
    pub(crate) served: Arc<ServedTool>,
    pub(crate) context: Context,
    pub(crate) digest: CallDigest,
    work: JoinHandle<RunOutcome<ToolResult>>,
    _cancelled_when_dropped: DropGuard,
}

impl KeptCall {
    /// Starts the work of a call.
    pub(crate) fn start(
        served: Arc<ServedTool>,
        context: Context,
        digest: CallDigest,
        suspension: &Suspension,
        work: impl Future<Output = Result<ToolResult, Error>> + Send + 'static,
    ) -> Self {
        context.set_suspends();
        let (cancelled, grace) = (context.cancellation().drop_guard(), suspension.grace);
        let of_work = context.clone();
        let work = tokio::spawn(async move { run_to_end(&of_work, grace, work).await });
        Self { served, context, digest, work, _cancelled_when_dropped: cancelled }
    }

    /// Waits for the outcome.
    pub(crate) async fn outcome(&mut self) -> RunOutcome<ToolResult> {
        // The work catches its panics. Only a runtime that shuts down ends it otherwise.
        (&mut self.work).await.unwrap_or(RunOutcome::Cancelled)
    }

    /// Waits for the outcome without a client, who did not come back with its input.
    async fn run_alone(mut self, waited: Duration) {
        self.context.input_requests().abandon();
        self.context.input_requests().fail(&InputError::TimedOut(waited));
        self.outcome().await;
        tracing::info!("the client did not come back with the input that a call waited for; its handler has ended");
    }
}

/// The calls of a server that wait for input, for each principal.
#[derive(Debug, Default)]
pub(crate) struct KeptCalls {
    known: Mutex<HashMap<Option<Principal>, SuspendedCalls<KeptCall>>>,
}

impl KeptCalls {
    /// Ends all waiting calls: no client can bring their input any more. Their handlers are told that they are cancelled.
    pub(crate) fn cancel_all(&self) {
        let known = std::mem::take(&mut *lock(&self.known));
        known.values().for_each(SuspendedCalls::cancel_all);
    }

    /// Returns the calls of a principal. Clients without one are one principal.
    pub(crate) fn of(&self, principal: Option<&Principal>) -> SuspendedCalls<KeptCall> {
        let mut known = lock(&self.known);
        if known.len() >= MAX_PRINCIPALS && !known.contains_key(&principal.cloned()) {
            known.retain(|_, calls| calls.is_in_use());
        }
        known.entry(principal.cloned()).or_default().clone()
    }
}

impl SuspendedCalls<KeptCall> {
    /// Keeps a call until its client repeats it with the input that the handler requests. Returns the answer for the client.
    ///
    /// # Errors
    ///
    /// Returns the call, which goes on, if too many calls wait or if it is cancelled. Its input requests have failed
    /// then. Returns the call also if its handler has withdrawn all input requests.
    pub(crate) fn keep(&self, call: KeptCall) -> Result<InputRequiredResult, KeptCall> {
        let (context, digest) = (call.context.clone(), call.digest);
        if context.is_cancelled() {
            context.input_requests().fail(&InputError::call_cancelled());
            return Err(call);
        }
        let Some((requests, timeout)) = context.input_requests().take_open() else { return Err(call) };
        match self.suspend(call, digest, requests, timeout, move |call| call.run_alone(timeout)) {
            Ok(required) => {
                context.leave_request();
                Ok(required)
            }
            Err(call) => {
                context.input_requests().fail(&InputError::TooManyCalls);
                Err(call)
            }
        }
    }
}
