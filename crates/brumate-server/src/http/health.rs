//! Health and metrics for monitoring: `/healthz`, `/readyz` and `/metrics`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use brumate_mcp::App;
use brumate_session::sessions::Sessions;
use brumate_session::{Admission, CancellationToken};

/// The state that `/healthz`, `/readyz` and `/metrics` report. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Health {
    ready: Arc<AtomicBool>,
    admission: Option<Admission>,
    sessions: Option<Sessions>,
}

impl Health {
    /// Adds the metrics of the interpreter's sessions.
    #[must_use]
    pub fn with_sessions(mut self, sessions: Option<Sessions>) -> Self {
        self.sessions = sessions;
        self
    }

    /// Adds the metrics of running and waiting code.
    #[must_use]
    pub fn with_admission(mut self, admission: Admission) -> Self {
        self.admission = Some(admission);
        self
    }

    /// Reports from now on that the server is ready for code.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// Returns the routes. They reveal nothing about clients and content.
    pub(crate) fn router(&self, app: App, shutdown: CancellationToken) -> Router {
        let state = self.clone();
        let is_ready = move || async move {
            let is_disk_full = || state.sessions.as_ref().is_some_and(Sessions::is_disk_full);
            match (shutdown.is_cancelled(), state.ready.load(Ordering::Relaxed)) {
                (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n"),
                (_, false) => (StatusCode::SERVICE_UNAVAILABLE, "starting\n"),
                _ if is_disk_full() => (
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the disk of the sessions is full: clear sessions that are not needed, or free some of the disk\n",
                ),
                _ => (StatusCode::OK, "ready\n"),
            }
        };
        let this = self.clone();
        let metrics =
            move || async move { ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], this.metrics(&app)) };
        Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(is_ready))
            .route("/metrics", get(metrics))
    }

    /// Returns the metrics in Prometheus's text format, version 0.0.4.
    fn metrics(&self, app: &App) -> String {
        let mut text = String::new();
        let mut gauge = |name: &str, help: &str, value: usize| {
            // Writing to a string never fails.
            let _ = write!(text, "# HELP brumate_{name} {help}\n# TYPE brumate_{name} gauge\nbrumate_{name} {value}\n");
        };
        gauge("ready", "Whether the server is ready for code.", usize::from(self.ready.load(Ordering::Relaxed)));
        gauge("mcp_sessions", "Sessions of the protocol.", app.session_count());
        gauge("mcp_requests", "Requests that are not answered yet, subscriptions included.", app.running_requests());
        if let Some(admission) = &self.admission {
            gauge("runs", "Runs of code that are under way, in sessions and without.", admission.running());
            gauge("runs_waiting", "Runs of code that wait for a place.", admission.waiting());
        }
        if let Some(sessions) = &self.sessions {
            gauge("interpreter_sessions", "Sessions of the code interpreter, asleep or awake.", sessions.count());
            gauge("interpreter_sessions_awake", "Sessions of the code interpreter that are awake.", sessions.live());
        }
        text
    }
}
