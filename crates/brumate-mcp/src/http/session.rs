//! One session over HTTP, before 2026-07-28: which stream a message of the server belongs to, and whether there is room for it.

#![expect(deprecated, reason = "log levels, which the protocol keeps until July 2027 at least")]

mod manager;
mod reader;

use super::budget::{Account, OverBudget, Retainer};
use super::credentials::Credential;
use super::outgoing::Outgoing;
use super::principal::Principal;
use super::store::Journal;
use super::streams::{STANDALONE, Streams};
use crate::sync::lock;
pub(crate) use manager::Sessions;
use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions as _, RequestId, ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use rmcp::service::OriginatingRequestId;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Bytes of all messages of a session that were not read, or are kept for clients that come back. Beyond, notifications are
/// dropped and answers are replaced by an error.
const MAX_SESSION_BYTES: usize = 48 << 20;

/// Why a message could not be passed on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("there is no such session")]
    NotFound,
    #[error("the session has ended")]
    Ended,
    #[error("there are too many sessions: try again later")]
    TooMany,
    #[error("the message was not sent: {0}")]
    OverBudget(OverBudget),
    #[error("there is nothing to resume at this event")]
    NothingToResume,
}

/// One client's session.
#[derive(Debug)]
pub(crate) struct Session {
    /// Whose it is: for others it does not exist.
    principal: Option<Principal>,
    account: Account,
    /// The token that was shown last for it, where tokens are asked for.
    credential: Mutex<Option<Arc<Credential>>>,
    streams: Mutex<Streams>,
    /// The largest message that may be a notification or a question.
    max_message: usize,
    inbox: mpsc::Sender<ClientJsonRpcMessage>,
    initialized: Mutex<Option<oneshot::Sender<ServerJsonRpcMessage>>>,
    version: Mutex<String>,
    used: Mutex<Instant>,
    waiting: Mutex<usize>,
    ended: CancellationToken,
    retry: Duration,
    /// Where it is kept, if it is.
    journal: Option<Journal>,
    /// The log level that it had in an earlier process, until it has it again.
    level: Mutex<Option<String>>,
}

/// The id of the request that gives a session its log level back. No client's: those are strings of its own or numbers.
const LEVEL_REQUEST: &str = "brumate-mcp/level";

/// In a request's extensions: the session and stream it came by.
#[derive(Clone, Debug)]
pub(crate) struct RequestStream {
    session: Arc<Session>,
    stream: u64,
}

impl RequestStream {
    /// Ends the connection that reads the stream; the client may resume it.
    pub(crate) fn release(&self) {
        lock(&self.session.streams).detach(self.stream, None);
    }

    /// Fires when the session ends.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.session.ended.clone()
    }
}

impl Session {
    fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// How long nothing has been going on.
    fn idle(&self) -> Duration {
        let streams = lock(&self.streams);
        if streams.running() > 0 || streams.is_read() { Duration::ZERO } else { lock(&self.used).elapsed() }
    }

    /// Whether the token that was shown last for it was revoked.
    fn is_revoked(&self) -> bool {
        lock(&self.credential).as_ref().is_some_and(|credential| credential.revoked().is_cancelled())
    }

    /// Puts a message of the server on the stream where it belongs.
    ///
    /// # Errors
    ///
    /// There is no room for a request of the server's.
    fn route(self: &Arc<Self>, message: ServerJsonRpcMessage) -> Result<(), SessionError> {
        self.touch();
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if answered.is_some()
            && let Some(initialized) = lock(&self.initialized).take()
        {
            if let ServerJsonRpcMessage::Response(response) = &message
                && let ServerResult::InitializeResult(result) = &response.result
            {
                *lock(&self.version) = result.protocol_version.to_string();
            }
            // Whoever waited may have left; the session is reaped then.
            let _ = initialized.send(message);
            return Ok(());
        }
        if matches!(&answered, Some(RequestId::String(id)) if &**id == LEVEL_REQUEST) {
            return Ok(());
        }
        let stream = self.stream_of(&message, answered.as_ref());
        let Some(outgoing) = self.charged(stream, message)? else { return Ok(()) };
        let ended = {
            let mut streams = lock(&self.streams);
            streams.push(stream, outgoing);
            answered.and_then(|answered| streams.end(&answered))
        };
        // Outside of the lock: it may make room in this very session.
        if let Some(ended) = ended {
            let this: Arc<dyn Retainer> = self.clone();
            self.account.retain(Arc::downgrade(&this), ended);
        }
        Ok(())
    }

    /// The stream of a message that answers the request `answered`, or none.
    fn stream_of(&self, message: &ServerJsonRpcMessage, answered: Option<&RequestId>) -> u64 {
        let streams = lock(&self.streams);
        let by_request = |id: Option<&RequestId>| id.and_then(|id| streams.of_request(id));
        let stream = match message {
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => by_request(answered),
            ServerJsonRpcMessage::Request(request) => {
                by_request(request.request.extensions().get::<OriginatingRequestId>().map(|origin| &origin.0))
            }
            ServerJsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => streams.of_token(&progress.params.progress_token),
                ServerNotification::LoggingMessageNotification(log) => {
                    by_request(log.extensions.get::<OriginatingRequestId>().map(|origin| &origin.0))
                }
                ServerNotification::CancelledNotification(cancelled) => {
                    by_request(cancelled.params.request_id.as_ref())
                }
                _ => None,
            },
        };
        stream.unwrap_or(STANDALONE)
    }

    /// Puts a message on the principal's account, within what one session may hold.
    ///
    /// # Errors
    ///
    /// There is no room for a request of the server's.
    fn charged(&self, stream: u64, message: ServerJsonRpcMessage) -> Result<Option<Outgoing>, SessionError> {
        let is_answer = matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_));
        let limit = if is_answer { MAX_SESSION_BYTES } else { self.max_message };
        let reserved = if is_answer { lock(&self.streams).reserved(stream) } else { None };
        let room = |bytes: usize| {
            if bytes > limit {
                return Err(OverBudget::TooLarge { bytes, limit });
            }
            let mut streams = lock(&self.streams);
            let full = |streams: &Streams| streams.bytes() + bytes > MAX_SESSION_BYTES;
            if full(&streams) {
                streams.forget_expired();
            }
            if full(&streams) { Err(OverBudget::Full { bytes: streams.bytes() }) } else { Ok(()) }
        };
        Outgoing::charged(message, &self.account, reserved, room).map_err(SessionError::OverBudget)
    }
}

impl Retainer for Session {
    fn forget(&self, stream: u64) {
        lock(&self.streams).forget(stream);
    }
}
