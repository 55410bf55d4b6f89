//! The running requests of an endpoint, and how the endpoint shuts down.

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::fmt;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The requests of an endpoint that are not answered yet.
#[derive(Debug)]
pub(crate) struct RunningRequests {
    running: watch::Sender<usize>,
    draining: DrainSignal,
}

/// Fires when requests should end that would not end by themselves: over HTTP when the server begins to stop, over
/// streams when requests are interrupted. It is in the extensions of each request. Over HTTP it is in the extensions of
/// the request's head.
#[derive(Clone, Debug, Default)]
pub(crate) struct DrainSignal(CancellationToken);

impl DrainSignal {
    /// Makes the signal that fires with `token`.
    pub(crate) fn new(token: CancellationToken) -> Self {
        Self(token)
    }

    /// Waits until this request should end; for ever if its transport does not say.
    pub(crate) async fn of(context: &RequestContext<RoleServer>) {
        let of_head = || context.extensions.get::<http::request::Parts>()?.extensions.get::<Self>();
        match context.extensions.get::<Self>().or_else(of_head) {
            Some(draining) => draining.0.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Default for RunningRequests {
    fn default() -> Self {
        Self { running: watch::Sender::new(0), draining: DrainSignal::default() }
    }
}

/// A running request, until it is dropped.
pub(crate) struct RunningRequest(watch::Sender<usize>);

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl RunningRequests {
    pub(crate) fn begin(&self) -> RunningRequest {
        self.running.send_modify(|running| *running += 1);
        RunningRequest(self.running.clone())
    }

    pub(crate) fn running(&self) -> usize {
        *self.running.borrow()
    }

    pub(crate) fn draining(&self) -> &DrainSignal {
        &self.draining
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.0.is_cancelled()
    }

    /// Begins to drain: new requests are refused from now on.
    pub(crate) fn drain(&self) {
        self.draining.0.cancel();
    }

    /// Waits until no request runs.
    pub(crate) async fn finished(&self) {
        // This cannot fail: the sender is in `self`.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }
}

/// How long running requests may take when the server stops.
#[derive(Clone)]
pub(crate) struct ShutdownPolicy {
    /// How long running requests may go on.
    pub(crate) drain_timeout: Duration,
    /// The token that is cancelled then, and how long requests have to answer.
    pub(crate) interrupt: Option<(CancellationToken, Duration)>,
}

impl fmt::Debug for ShutdownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShutdownPolicy").field("drain_timeout", &self.drain_timeout).finish_non_exhaustive()
    }
}

impl ShutdownPolicy {
    /// Waits for `finished` as long as the policy allows.
    pub(crate) async fn wait(&self, finished: impl Future<Output = ()>) {
        tokio::pin!(finished);
        if tokio::time::timeout(self.drain_timeout, &mut finished).await.is_ok() {
            return;
        }
        if let Some((token, grace)) = &self.interrupt {
            tracing::info!("requests that are still running are interrupted");
            token.cancel();
            if tokio::time::timeout(*grace, &mut finished).await.is_ok() {
                return;
            }
        }
        tracing::warn!("requests were still running when the server stopped");
    }
}
