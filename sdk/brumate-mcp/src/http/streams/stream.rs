//! One event stream of a session: its messages, and who reads them.

use crate::http::budget::{Account, Charge};
use crate::http::charged_message::ChargedMessage;
use crate::http::response_body::ResponseReservation;
use crate::http::rpc_errors::not_kept;
use rmcp::model::{JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long an answered stream is kept after its reader has taken all of it: the connection may have broken before the
/// client had it.
pub(super) const KEEP_READ: Duration = Duration::from_secs(10);

/// A message and its size as JSON, charged to the account of the session's principal.
#[derive(Clone, Debug)]
pub(crate) struct StreamEvent {
    pub(crate) number: u64,
    pub(crate) message: Arc<ServerJsonRpcMessage>,
    pub(super) bytes: usize,
    pub(super) _charge: Arc<Charge>,
}

/// A queue of messages that one reader follows.
#[derive(Debug)]
pub(super) struct EventStream {
    pub(super) events: VecDeque<StreamEvent>,
    pub(super) bytes: usize,
    pub(super) next: u64,
    /// The number of the reader, if there is one.
    pub(super) reader: Option<u64>,
    pub(super) ended: Option<Instant>,
    /// When a reader had taken all of the ended stream.
    pub(super) read: Option<Instant>,
    pub(super) changed: Arc<Notify>,
    pub(super) reservation: Option<ResponseReservation>,
}

impl EventStream {
    pub(super) fn new(reservation: Option<ResponseReservation>) -> Self {
        let (events, changed) = Default::default();
        Self { events, bytes: 0, next: 1, reader: None, ended: None, read: None, changed, reservation }
    }

    pub(super) fn is_over(&self, keep: Duration) -> bool {
        let read = self.read.is_some_and(|read| read.elapsed() >= KEEP_READ.min(keep));
        self.reader.is_none() && (read || self.ended.is_some_and(|ended| ended.elapsed() >= keep))
    }

    /// Replaces a message that is larger than `limit` by a small one.
    pub(super) fn shrink(&mut self, index: usize, limit: usize, account: &Account) {
        let Some(event) = self.events.get_mut(index).filter(|event| event.bytes > limit) else { return };
        let Some(request) = answer_to(&event.message) else { return };
        let ChargedMessage { message, text, charge } = ChargedMessage::small(not_kept(&request, event.bytes), account);
        self.bytes = self.bytes - event.bytes + text.len();
        let (message, charge) = (Arc::new(message), Arc::new(charge));
        *event = StreamEvent { number: event.number, message, bytes: text.len(), _charge: charge };
    }
}

/// Returns the request that a message answers.
pub(super) fn answer_to(message: &ServerJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        _ => None,
    }
}
