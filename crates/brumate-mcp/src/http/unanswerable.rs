//! Answers of the transports' own, in the place of what cannot be passed on or sent.

use super::budget::OverBudget;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, JsonRpcMessage, RequestId, ServerJsonRpcMessage};

fn error(id: &RequestId, code: ErrorCode, text: String) -> ServerJsonRpcMessage {
    JsonRpcMessage::error(ErrorData::new(code, text, None), Some(id.clone()))
}

/// Answers a request whose id is that of one which is not answered yet.
pub fn id_in_use(id: &RequestId) -> ServerJsonRpcMessage {
    let text = "the id of this request is in use: an earlier request with it is not answered yet";
    error(id, ErrorCode::INVALID_REQUEST, text.to_owned())
}

/// Answers a request of a session that has `limit` of them under way.
pub fn too_many_requests(id: &RequestId, limit: usize) -> ServerJsonRpcMessage {
    let text = format!("{limit} requests of this session are not answered yet: wait for some of them, then try again");
    error(id, ErrorCode::INTERNAL_ERROR, text)
}

/// Answers a request whose answer there is no room for.
pub(crate) fn not_sent(id: RequestId, refused: &OverBudget) -> ServerJsonRpcMessage {
    error(&id, ErrorCode::INTERNAL_ERROR, format!("the answer was not sent: {refused}"))
}

/// Stands for an answer that is not kept: it is larger than what is kept for clients that come back.
pub(crate) fn not_kept(id: &RequestId, bytes: usize) -> ServerJsonRpcMessage {
    let text = format!("the answer was not kept: it has {bytes} bytes and nobody was reading; send the request again");
    error(id, ErrorCode::INTERNAL_ERROR, text)
}
