//! Streams of an earlier process, from the event store.

use super::stream::{EventStream, StreamEvent};
use super::{STANDALONE, SessionStreams};
use crate::http::budget::Account;
use crate::http::charged_message::ChargedMessage;
use crate::http::limits::ResumptionLimits;
use crate::http::session_store::SessionJournal;
use crate::http::store::StoredStream;
use rmcp::ErrorData;
use rmcp::model::{
    CustomNotification, CustomRequest, CustomResult, ErrorCode, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerRequest, ServerResult,
};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

impl SessionStreams {
    /// Restores the streams of an earlier process. Requests that it was working on are answered with an error.
    pub(crate) fn restore(
        limits: ResumptionLimits,
        journal: SessionJournal,
        stored: Vec<StoredStream>,
        account: Account,
    ) -> Self {
        let mut this = Self::new(limits, None, account);
        let mut lost = Vec::new();
        for StoredStream { id, request, next, events } in stored {
            let mut stream = EventStream::new(None);
            for (number, text) in events {
                let Some(message) = read(&text) else { continue };
                stream.bytes += text.len();
                let charge = Arc::new(this.account.charge(text.len()));
                let message = Arc::new(message);
                stream.events.push_back(StreamEvent { number, message, bytes: text.len(), _charge: charge });
            }
            stream.next = next;
            let request = request.map(|request| serde_json::from_str::<RequestId>(&request));
            match request {
                Some(Ok(request)) => {
                    this.requests.insert(request.clone(), id);
                    lost.push((id, request));
                }
                _ if id != STANDALONE => stream.ended = Some(Instant::now()),
                _ => {}
            }
            this.next_stream = this.next_stream.max(id + 1);
            this.streams.insert(id, stream);
        }
        this.journal = Some(journal);
        for (id, request) in lost {
            let text = "the server ended while it worked on this request, which may have been done in part";
            let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, text, None);
            let message = JsonRpcMessage::error(error, Some(request.clone()));
            let message = ChargedMessage::small(message, &this.account);
            this.push(id, message);
            this.end(&request);
        }
        this.forget_expired();
        this
    }
}

/// Reads a message so that it is sent again unchanged. Its method and its result are not interpreted.
fn read(text: &str) -> Option<ServerJsonRpcMessage> {
    let Ok(Value::Object(mut message)) = serde_json::from_str(text) else { return None };
    let id = message.get("id").cloned().and_then(|id| serde_json::from_value::<RequestId>(id).ok());
    if let Some(result) = message.remove("result") {
        return Some(JsonRpcMessage::response(ServerResult::CustomResult(CustomResult::new(result)), id?));
    }
    if let Some(error) = message.remove("error") {
        return Some(JsonRpcMessage::error(serde_json::from_value(error).ok()?, id));
    }
    let method = message.get("method")?.as_str()?.to_owned();
    let params = message.remove("params");
    Some(match id {
        Some(id) => JsonRpcMessage::request(ServerRequest::CustomRequest(CustomRequest::new(method, params)), id),
        None => {
            let notification = CustomNotification::new(method, params);
            JsonRpcMessage::notification(ServerNotification::CustomNotification(notification))
        }
    })
}
