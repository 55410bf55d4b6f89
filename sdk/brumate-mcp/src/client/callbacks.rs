//! Handles the messages that a server sends on its own: input requests, progress, logs, changes.

use super::input_requests::InputCallbacks;
use crate::error::Error;
use crate::log_level::LogLevel;
use crate::sync::lock;
use rmcp::ErrorData;
use rmcp::model as wire;
use rmcp::model::{ProgressNotificationParam, ProgressToken, ServerNotification};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, RoleClient};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, broadcast};

/// The most input requests of the server that are open at a time. Further ones are refused.
pub const MAX_OPEN_INPUT_REQUESTS: usize = 64;

/// The most log messages in a second that callbacks get. Further ones are counted.
pub const MAX_LOG_MESSAGES: u32 = 1000;

/// The most changes that a subscription keeps until they are read. Older ones are dropped.
const MAX_CHANGES: usize = 1024;

/// The most reports of progress that are kept for requests that are just being sent.
const MAX_EARLY: usize = 64;

/// A log message of the server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogMessage {
    /// The level.
    pub level: LogLevel,
    /// The logger that the server names.
    pub logger: Option<String>,
    /// The message: a text, or any other JSON.
    pub data: Value,
}

/// A report of progress.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The progress so far, in the server's unit.
    pub done: f64,
    /// The total, if it is known.
    pub total: Option<f64>,
    /// A text about the current step.
    pub message: Option<String>,
}

/// A change at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerChange {
    /// The list of tools has changed.
    Tools,
    /// The list of resources or of templates has changed.
    Resources,
    /// The list of prompts has changed.
    Prompts,
    /// A resource that the client has subscribed to has changed; its URI.
    Resource(String),
}

impl ServerChange {
    /// Returns the change that a notification reports; `None` for other notifications.
    pub(super) fn of(notification: &ServerNotification) -> Option<Self> {
        match notification {
            ServerNotification::ToolListChangedNotification(_) => Some(Self::Tools),
            ServerNotification::ResourceListChangedNotification(_) => Some(Self::Resources),
            ServerNotification::PromptListChangedNotification(_) => Some(Self::Prompts),
            ServerNotification::ResourceUpdatedNotification(update) => Some(Self::Resource(update.params.uri.clone())),
            _ => None,
        }
    }
}

pub(super) type OnLog = Arc<dyn Fn(LogMessage) + Send + Sync>;
pub(super) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;
pub(super) type OnChange = Arc<dyn Fn(ServerChange) + Send + Sync>;

/// The callbacks of one client.
pub(super) struct Callbacks {
    config: wire::ClientConfig,
    input_callbacks: InputCallbacks,
    on_log: Option<OnLog>,
    on_change: Option<OnChange>,
    progress: Mutex<ProgressCallbacks>,
    logs: Mutex<LogBudget>,
    open_input_requests: Semaphore,
    changes: broadcast::Sender<ServerChange>,
    /// The number of changes of the list of tools.
    tools_changed: AtomicU64,
}

#[derive(Default)]
struct ProgressCallbacks {
    callbacks: HashMap<ProgressToken, OnProgress>,
    /// Reports whose request is not known yet. Its token becomes known when it is sent.
    early: VecDeque<ProgressNotificationParam>,
}

struct LogBudget {
    second: Instant,
    shown: u32,
    dropped: u32,
}

impl Callbacks {
    pub(super) fn new(
        implementation: wire::Implementation,
        input_callbacks: InputCallbacks,
        on_log: Option<OnLog>,
        on_change: Option<OnChange>,
    ) -> Self {
        let capabilities = serde_json::from_value(input_callbacks.capabilities()).unwrap_or_default();
        Self {
            config: wire::ClientConfig::new(capabilities, implementation)
                .with_protocol_version(wire::ProtocolVersion::LATEST_WITH_INITIALIZE),
            input_callbacks,
            on_log,
            on_change,
            progress: Mutex::default(),
            logs: Mutex::new(LogBudget { second: Instant::now(), shown: 0, dropped: 0 }),
            open_input_requests: Semaphore::new(MAX_OPEN_INPUT_REQUESTS),
            changes: broadcast::channel(MAX_CHANGES).0,
            tools_changed: AtomicU64::new(0),
        }
    }

    pub(super) fn input_callbacks(&self) -> &InputCallbacks {
        &self.input_callbacks
    }

    pub(super) fn config(&self) -> &wire::ClientConfig {
        &self.config
    }

    pub(super) fn wants_changes(&self) -> bool {
        self.on_change.is_some()
    }

    /// Returns a receiver of the changes from now on.
    pub(super) fn changes(&self) -> broadcast::Receiver<ServerChange> {
        self.changes.subscribe()
    }

    /// Returns how often the list of tools has changed.
    pub(super) fn tools_changed(&self) -> u64 {
        self.tools_changed.load(Ordering::Acquire)
    }

    /// Calls `callback` with the progress of the request with this token, until the value is dropped.
    pub(super) fn follow_progress(
        self: &Arc<Self>,
        token: ProgressToken,
        callback: OnProgress,
    ) -> ProgressSubscription {
        let early = {
            let mut progress = lock(&self.progress);
            let (early, others) = progress.early.drain(..).partition(|report| report.progress_token == token);
            progress.early = others;
            progress.callbacks.insert(token.clone(), callback.clone());
            early
        };
        let early: VecDeque<ProgressNotificationParam> = early;
        early.into_iter().for_each(|report| call(&callback, progress_of(report)));
        ProgressSubscription { callbacks: self.clone(), token }
    }

    /// Passes a notification to its callback. Returns whether it was handled, so that rmcp need not see it.
    pub(super) fn notice(&self, notification: &ServerNotification) -> bool {
        use rmcp::model::GetMeta as _;
        if notification.get_meta().subscription_id().is_some() {
            // It belongs to a subscription.
            return false;
        }
        match notification {
            ServerNotification::LoggingMessageNotification(message) => self.notice_log(&message.params),
            ServerNotification::ProgressNotification(report) => self.notice_progress(&report.params),
            other => match ServerChange::of(other) {
                Some(change) => self.notice_change(change),
                None => return false,
            },
        }
        true
    }

    #[expect(deprecated, reason = "logging, which the protocol keeps until July 2027 at least")]
    fn notice_log(&self, message: &wire::LoggingMessageNotificationParam) {
        let Some(callback) = &self.on_log else { return };
        let dropped = {
            let mut logs = lock(&self.logs);
            let mut dropped = 0;
            if logs.second.elapsed() >= Duration::from_secs(1) {
                dropped = std::mem::take(&mut logs.dropped);
                (logs.second, logs.shown) = (Instant::now(), 0);
            }
            if logs.shown == MAX_LOG_MESSAGES {
                logs.dropped = logs.dropped.saturating_add(1);
                return;
            }
            logs.shown += 1;
            dropped
        };
        if dropped > 0 {
            tracing::warn!(dropped, "the server sends more log messages than {MAX_LOG_MESSAGES} a second");
        }
        let (level, logger) = (LogLevel::from_wire(message.level), message.logger.clone());
        call(callback, LogMessage { level, logger, data: message.data.clone() });
    }

    fn notice_progress(&self, report: &ProgressNotificationParam) {
        let callback = {
            let mut progress = lock(&self.progress);
            let callback = progress.callbacks.get(&report.progress_token).cloned();
            if callback.is_none() {
                if progress.early.len() == MAX_EARLY {
                    progress.early.pop_front();
                }
                progress.early.push_back(report.clone());
            }
            callback
        };
        if let Some(callback) = callback {
            call(&callback, progress_of(report.clone()));
        }
    }

    pub(super) fn notice_change(&self, change: ServerChange) {
        if change == ServerChange::Tools {
            self.tools_changed.fetch_add(1, Ordering::AcqRel);
        }
        // Fails if there is no subscription.
        let _ = self.changes.send(change.clone());
        if let Some(callback) = &self.on_change {
            call(callback, change);
        }
    }

    fn enter(&self) -> Result<tokio::sync::SemaphorePermit<'_>, ErrorData> {
        let refused = || format!("more than {MAX_OPEN_INPUT_REQUESTS} input requests at once");
        self.open_input_requests.try_acquire().map_err(|_| ErrorData::internal_error(refused(), None))
    }
}

/// A callback for the progress of one request, until it is dropped.
pub(super) struct ProgressSubscription {
    callbacks: Arc<Callbacks>,
    token: ProgressToken,
}

impl Drop for ProgressSubscription {
    fn drop(&mut self) {
        lock(&self.callbacks.progress).callbacks.remove(&self.token);
    }
}

#[expect(deprecated, reason = "sampling and roots, which the protocol keeps until July 2027 at least")]
impl ClientHandler for Callbacks {
    fn get_info(&self) -> wire::ClientConfig {
        self.config.clone()
    }

    async fn create_message(
        &self,
        params: wire::CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<wire::CreateMessageResult, ErrorData> {
        let _permit = self.enter()?;
        answer_of(self.input_callbacks.sample(serde_json::to_value(params).map_err(internal)?).await)
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<wire::ListRootsResult, ErrorData> {
        let _permit = self.enter()?;
        answer_of(self.input_callbacks.list_roots().await)
    }

    async fn create_elicitation(
        &self,
        request: wire::ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<wire::ElicitResult, ErrorData> {
        let _permit = self.enter()?;
        answer_of(self.input_callbacks.elicit(serde_json::to_value(request).map_err(internal)?).await)
    }
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Returns the answer to an input request as the protocol has it.
fn answer_of<T: DeserializeOwned>(answer: Result<Value, Error>) -> Result<T, ErrorData> {
    let answer = answer.map_err(|error| error.as_protocol().unwrap_or_else(|| internal(error.message())))?;
    serde_json::from_value(answer).map_err(internal)
}

fn progress_of(report: ProgressNotificationParam) -> Progress {
    Progress { done: report.progress, total: report.total, message: report.message }
}

/// Calls a callback. A panic of the callback does not end the connection.
fn call<T>(callback: &Arc<dyn Fn(T) + Send + Sync>, value: T) {
    if catch_unwind(AssertUnwindSafe(|| callback(value))).is_err() {
        tracing::error!("a callback of an MCP client panicked");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn callbacks(on_log: Option<OnLog>) -> Arc<Callbacks> {
        Arc::new(Callbacks::new(wire::Implementation::new("test", "0"), InputCallbacks::default(), on_log, None))
    }

    fn report(token: i64, done: f64) -> ServerNotification {
        let token = ProgressToken(wire::NumberOrString::Number(token));
        ServerNotification::ProgressNotification(wire::ProgressNotification::new(ProgressNotificationParam::new(
            token, done,
        )))
    }

    #[test]
    fn progress_that_comes_before_its_request_is_known_is_kept() {
        let callbacks = callbacks(None);
        for done in 0..3 {
            assert!(callbacks.notice(&report(7, f64::from(done))));
        }
        for other in 0..2 * MAX_EARLY as i64 {
            callbacks.notice(&report(100 + other, 1.0));
        }
        callbacks.notice(&report(7, 3.0));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let token = ProgressToken(wire::NumberOrString::Number(7));
        let kept = seen.clone();
        let subscription = callbacks.follow_progress(token, Arc::new(move |progress| lock(&kept).push(progress.done)));
        callbacks.notice(&report(7, 4.0));
        assert_eq!(*lock(&seen), [3.0, 4.0], "what is kept is bounded");
        drop(subscription);
        callbacks.notice(&report(7, 5.0));
        assert_eq!(lock(&seen).len(), 2);
    }

    #[test]
    #[expect(deprecated, reason = "logging")]
    fn log_messages_are_bounded_and_a_panic_ends_nothing() {
        let shown = Arc::new(Mutex::new(0));
        let count = shown.clone();
        let callbacks = callbacks(Some(Arc::new(move |_| {
            *lock(&count) += 1;
            panic!("of the test");
        })));
        let params = wire::LoggingMessageNotificationParam::new(wire::LoggingLevel::Info, json!("text"));
        let message = ServerNotification::LoggingMessageNotification(wire::LoggingMessageNotification::new(params));
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        for _ in 0..MAX_LOG_MESSAGES + 10 {
            assert!(callbacks.notice(&message));
        }
        std::panic::set_hook(hook);
        assert!(*lock(&shown) >= MAX_LOG_MESSAGES && *lock(&shown) < MAX_LOG_MESSAGES + 10);
    }
}
