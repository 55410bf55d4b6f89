//! What goes on at an endpoint, and how it ends.

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::fmt;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Requests of an endpoint that are not answered yet.
#[derive(Debug)]
pub(crate) struct Activity {
    running: watch::Sender<usize>,
    draining: Draining,
}

/// In a request's extensions: fires when the server begins to stop, for what would never end by itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draining(CancellationToken);

impl Draining {
    /// Waits until the server of this request stops; for ever, if that is not known.
    pub(crate) async fn of(context: &RequestContext<RoleServer>) {
        let head = context.extensions.get::<http::request::Parts>();
        match head.and_then(|head| head.extensions.get::<Self>()) {
            Some(draining) => draining.0.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Default for Activity {
    fn default() -> Self {
        Self { running: watch::Sender::new(0), draining: Draining::default() }
    }
}

/// A request that runs; until it is dropped.
pub(crate) struct Running(watch::Sender<usize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl Activity {
    pub(crate) fn begin(&self) -> Running {
        self.running.send_modify(|running| *running += 1);
        Running(self.running.clone())
    }

    pub(crate) fn running(&self) -> usize {
        *self.running.borrow()
    }

    pub(crate) fn draining(&self) -> &Draining {
        &self.draining
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.0.is_cancelled()
    }

    /// From now on nothing begins.
    pub(crate) fn drain(&self) {
        self.draining.0.cancel();
    }

    /// Waits until nothing runs.
    pub(crate) async fn finished(&self) {
        // The sender is ours: this fails never.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }
}

/// How a server ends.
#[derive(Clone)]
pub(crate) struct Farewell {
    /// Running requests may go on for this long.
    pub(crate) patience: Duration,
    /// What is cancelled then, and how long it has to answer.
    pub(crate) interrupt: Option<(CancellationToken, Duration)>,
}

impl fmt::Debug for Farewell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Farewell").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Farewell {
    /// Waits for `finished` as long as it may take.
    pub(crate) async fn wait(&self, finished: impl Future<Output = ()>) {
        tokio::pin!(finished);
        if tokio::time::timeout(self.patience, &mut finished).await.is_ok() {
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
