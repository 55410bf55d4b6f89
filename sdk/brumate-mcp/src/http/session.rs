//! One session over HTTP, before 2026-07-28: routes messages of the server to streams, within limits.

#![expect(deprecated, reason = "log levels, which the protocol keeps until July 2027 at least")]

mod manager;
mod reader;
mod transport;

use super::budget::{Account, BudgetExceeded, RetainedStreams};
use super::charged_message::ChargedMessage;
use super::credentials::Credential;
use super::session_store::SessionJournal;
use super::streams::{STANDALONE, SessionStreams};
use crate::principal::Principal;
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

/// The most bytes of all messages of a session that were not read or are kept for clients that reconnect. Beyond,
/// notifications are dropped, and answers are replaced by an error.
const MAX_SESSION_BYTES: usize = 48 << 20;

/// The reason why a message could not be passed on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("there is no such session")]
    NotFound,
    #[error("the session has ended")]
    Ended,
    #[error("there are too many sessions: try again later")]
    TooMany,
    #[error("the message was not sent: {0}")]
    BudgetExceeded(BudgetExceeded),
    #[error("there is nothing to resume at this event")]
    NothingToResume,
}

/// One client's session.
///
/// It has two locks. Code that needs both locks `streams` first.
#[derive(Debug)]
pub(crate) struct Session {
    /// The principal that the session belongs to.
    principal: Option<Principal>,
    account: Account,
    streams: Mutex<SessionStreams>,
    /// The largest notification or request of the server.
    max_message: usize,
    /// Boxed: a channel has room for 32 values from the beginning, and an idle session is to be small.
    inbox: mpsc::Sender<Box<ClientJsonRpcMessage>>,
    client: Mutex<SessionClient>,
    ended: CancellationToken,
    retry: Duration,
    /// The event store, if there is one.
    journal: Option<SessionJournal>,
}

/// The client of a session.
#[derive(Debug)]
struct SessionClient {
    /// The token of its last request, where tokens are needed.
    credential: Option<Arc<Credential>>,
    /// Receives the answer to `initialize`.
    initialized: Option<oneshot::Sender<ServerJsonRpcMessage>>,
    /// The protocol version; empty before the answer to `initialize`.
    version: String,
    last_used: Instant,
    /// Readers of the standalone stream.
    readers: usize,
    /// The log level of an earlier process, until the server has set it again.
    level: Option<String>,
}

impl SessionClient {
    fn new(credential: Option<Arc<Credential>>, level: Option<String>) -> Self {
        let (initialized, version, last_used) = (None, String::new(), Instant::now());
        Self { credential, initialized, version, last_used, readers: 0, level }
    }
}

/// The id of the request that sets the log level of a restored session. Ids of clients differ from it.
const LEVEL_REQUEST: &str = "brumate-mcp/level";

impl Session {
    fn touch(&self) {
        lock(&self.client).last_used = Instant::now();
    }

    /// Returns how long nothing has run and nobody has read.
    fn idle(&self) -> Duration {
        let streams = lock(&self.streams);
        if streams.running() > 0 || streams.is_read() { Duration::ZERO } else { lock(&self.client).last_used.elapsed() }
    }

    /// Ends the session, and removes it from the event store.
    fn end(&self) {
        self.ended.cancel();
        if let Some(journal) = &self.journal {
            journal.remove();
        }
    }

    /// Returns whether the token of its last request was revoked.
    fn is_revoked(&self) -> bool {
        lock(&self.client).credential.as_ref().is_some_and(|credential| credential.revoked().is_cancelled())
    }

    /// Returns the receiver of the answer to `initialize`, once.
    fn take_initialized(&self) -> Option<oneshot::Sender<ServerJsonRpcMessage>> {
        lock(&self.client).initialized.take()
    }

    /// Puts a message of the server on its stream.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no room for a request of the server.
    fn route(self: &Arc<Self>, message: ServerJsonRpcMessage) -> Result<(), SessionError> {
        self.touch();
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if answered.is_some()
            && let Some(initialized) = self.take_initialized()
        {
            if let ServerJsonRpcMessage::Response(response) = &message
                && let ServerResult::InitializeResult(result) = &response.result
            {
                lock(&self.client).version = result.protocol_version.to_string();
            }
            // The receiver may be gone. The session is reaped then.
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
        // Outside of the lock, because it may drop a stream of this session.
        if let Some(ended) = ended {
            let this: Arc<dyn RetainedStreams> = self.clone();
            self.account.retain(Arc::downgrade(&this), ended);
        }
        Ok(())
    }

    /// Returns the stream of a message. `answered` is the request that it answers.
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

    /// Puts a message on the principal's account, within the limits of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no room for a request of the server.
    fn charged(&self, stream: u64, message: ServerJsonRpcMessage) -> Result<Option<ChargedMessage>, SessionError> {
        let is_answer = matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_));
        let limit = if is_answer { MAX_SESSION_BYTES } else { self.max_message };
        let reserved = if is_answer { lock(&self.streams).reserved(stream) } else { None };
        let room = |bytes: usize| {
            if bytes > limit {
                return Err(BudgetExceeded::TooLarge { bytes, limit });
            }
            let mut streams = lock(&self.streams);
            let full = |streams: &SessionStreams| streams.bytes() + bytes > MAX_SESSION_BYTES;
            if full(&streams) {
                streams.forget_expired();
            }
            if full(&streams) { Err(BudgetExceeded::Full { bytes: streams.bytes() }) } else { Ok(()) }
        };
        ChargedMessage::charged(message, &self.account, reserved, room).map_err(SessionError::BudgetExceeded)
    }
}

impl RetainedStreams for Session {
    fn forget(&self, stream: u64) {
        lock(&self.streams).forget(stream);
    }
}
