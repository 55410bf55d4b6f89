//! Log messages and progress, which travel on the stream of their request.

#![expect(deprecated, reason = "logging, sampling and roots, which the protocol keeps until July 2027 at least")]

use super::Context;
use crate::log_level::LogLevel;
use crate::sync::lock;
use rmcp::model as wire;
use rmcp::service::OriginatingRequestId;
use rmcp::{Peer, RoleServer};
use serde::Serialize;

macro_rules! levels {
    ($($method:ident $level:ident)*) => {$(
        #[doc = concat!("Logs at level `", stringify!($method), "`; see [`Context::log`].")]
        pub async fn $method(&self, data: impl Serialize) {
            self.log(LogLevel::$level, None, data).await;
        }
    )*};
}

impl Context {
    /// Sends a log message to the client if it wants this level. Since 2026-07-28 a client gets log messages only if
    /// its request sets a level. Before that, a session without a level gets all of them.
    pub async fn log(&self, level: LogLevel, logger: Option<&str>, data: impl Serialize) {
        if !self.wants_log(level) {
            return;
        }
        let receiver = self.with_current(|request| (request.peer.clone(), request.id.clone()));
        let Some((peer, id)) = receiver else { return };
        let data = match serde_json::to_value(data) {
            Ok(data) => data,
            Err(error) => return tracing::warn!(%error, "a log message cannot be written as JSON"),
        };
        let mut params = wire::LoggingMessageNotificationParam::new(level.into_wire(), data);
        params.logger = logger.map(str::to_owned);
        let mut notification = wire::LoggingMessageNotification::new(params);
        // Transports route by this. It is not sent.
        notification.extensions.insert(OriginatingRequestId(id));
        notify(&peer, wire::ServerNotification::LoggingMessageNotification(notification)).await;
    }

    /// Returns whether the client gets log messages of this level now. Use it before costly messages.
    pub fn wants_log(&self, level: LogLevel) -> bool {
        if self.is_task() {
            return false;
        }
        let wanted = match self.inner.stateless {
            true => self.with_current(|request| request.meta.log_level()).flatten().map(LogLevel::from_wire),
            false => Some(self.inner.connection.level()),
        };
        wanted.is_some_and(|wanted| level >= wanted)
    }

    /// Returns whether the client gets progress notifications now: it has sent a progress token, and the call is no task.
    pub fn wants_progress(&self) -> bool {
        !self.is_task() && self.progress_receiver().is_some()
    }

    levels! {
        debug Debug
        info Info
        notice Notice
        warning Warning
        error Error
        critical Critical
        alert Alert
        emergency Emergency
    }

    /// Sends a sign of life as a progress notification: the next whole number, and a text. A client that did not ask for progress gets
    /// nothing, and neither does a task.
    pub async fn notify_progress(&self, message: Option<String>) {
        let Some((peer, token)) = self.progress_receiver().filter(|_| !self.is_task()) else { return };
        let number = {
            let mut last = lock(&self.inner.progress);
            *last = if last.is_finite() { last.floor() + 1.0 } else { 1.0 };
            *last
        };
        notify(&peer, progress_notification(token, number, None, message)).await;
    }

    pub(super) async fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let (receiver, task) = (self.progress_receiver(), self.task());
        if receiver.is_none() && task.is_none() {
            return;
        }
        {
            // Progress must increase; NaN does not.
            let mut last = lock(&self.inner.progress);
            if done.partial_cmp(&last) != Some(std::cmp::Ordering::Greater) {
                return;
            }
            *last = done;
        }
        if let Some(task) = task {
            let of = total.map(|total| format!("{done} of {total}"));
            return task.set_status_message(message.or(of).unwrap_or_else(|| done.to_string()));
        }
        let Some((peer, token)) = receiver else { return };
        notify(&peer, progress_notification(token, done, total, message)).await;
    }

    /// Returns the receiver of progress: the client of the current request, if it has sent a token.
    fn progress_receiver(&self) -> Option<(Peer<RoleServer>, wire::ProgressToken)> {
        self.with_current(|request| Some((request.peer.clone(), request.meta.get_progress_token()?))).flatten()
    }
}

fn progress_notification(
    token: wire::ProgressToken,
    done: f64,
    total: Option<f64>,
    message: Option<String>,
) -> wire::ServerNotification {
    let mut params = wire::ProgressNotificationParam::new(token, done);
    params.total = total;
    params.message = message;
    wire::ServerNotification::ProgressNotification(wire::ProgressNotification::new(params))
}

/// Sends a notification. A client that has gone away misses it; the handler learns of that by cancellation.
async fn notify(peer: &Peer<RoleServer>, notification: wire::ServerNotification) {
    if let Err(error) = peer.send_notification(notification).await {
        tracing::debug!(%error, "a notification was not sent");
    }
}
