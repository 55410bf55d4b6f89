//! JSON-RPC errors of the transports, for requests that are not passed on and answers that are not sent.

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use std::fmt::Display;

fn error(id: &RequestId, code: ErrorCode, text: String) -> ServerJsonRpcMessage {
    JsonRpcMessage::error(ErrorData::new(code, text, None), Some(id.clone()))
}

/// Makes the answer to a request whose id an unanswered request has.
pub(crate) fn duplicate_id_error(id: &RequestId) -> ServerJsonRpcMessage {
    let text = "the id of this request is in use: an earlier request with it is not answered yet";
    error(id, ErrorCode::INVALID_REQUEST, text.to_owned())
}

/// Makes the answer to a request of a session that has `limit` requests under way.
pub(crate) fn too_many_requests_error(id: &RequestId, limit: usize) -> ServerJsonRpcMessage {
    let text = format!("{limit} requests of this session are not answered yet: wait for some of them, then try again");
    error(id, ErrorCode::INTERNAL_ERROR, text)
}

/// Makes the answer to a request whose own answer has no room or is too long.
pub(crate) fn not_sent(id: RequestId, reason: &impl Display) -> ServerJsonRpcMessage {
    error(&id, ErrorCode::INTERNAL_ERROR, format!("the answer was not sent: {reason}"))
}

/// Makes the message that replaces an answer that is too large to be kept for clients that reconnect.
pub(crate) fn not_kept(id: &RequestId, bytes: usize) -> ServerJsonRpcMessage {
    let text = format!("the answer was not kept: it has {bytes} bytes and nobody was reading; send the request again");
    error(id, ErrorCode::INTERNAL_ERROR, text)
}
