//! Messages that the host writes itself, to the client and to the server.

use super::envelope::EnvelopeError;
use super::request_id::RequestId;
use super::requests::{MAX_OPEN, OpenRequest, Refusal};

/// Error code of a request that was stopped at its time limit, as the SDKs have it.
const REQUEST_TIMEOUT: i32 = -32001;
/// Error code of a request whose server has died.
const INTERNAL_ERROR: i32 = -32603;
/// Error code of a request that is not passed on.
const INVALID_REQUEST: i32 = -32600;

/// The reason for which the host answers a request itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopCause {
    /// Its time limit was reached.
    TimeLimit,
    /// The machine of the server has ended.
    MachineEnd,
}

/// Makes the answer to a request that was stopped. A call of a tool gets a result that says so, which a model can read.
pub(super) fn stopped(id: &RequestId, request: &OpenRequest, cause: StopCause, reason: &str) -> String {
    if request.is_tool_call {
        let text = serde_json::Value::from(reason);
        let result =
            format!(r#"{{"content":[{{"type":"text","text":{text}}}],"isError":true,"resultType":"complete"}}"#);
        return format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json());
    }
    let code = match cause {
        StopCause::TimeLimit => REQUEST_TIMEOUT,
        StopCause::MachineEnd => INTERNAL_ERROR,
    };
    error(Some(id.as_json()), code, reason)
}

/// Makes the answer to a request that is not passed on.
pub(super) fn refused(id: &RequestId, refusal: Refusal) -> String {
    let reason = match refusal {
        Refusal::IdInUse => "Invalid request: an unanswered request has this id".to_owned(),
        Refusal::TooMany => format!("Invalid request: {MAX_OPEN} requests are not answered yet"),
    };
    error(Some(id.as_json()), INVALID_REQUEST, &reason)
}

/// Makes the answer to a line that is no message. `id` is JSON.
pub(super) fn invalid(id: Option<&str>, invalid: &EnvelopeError) -> String {
    error(id, invalid.code(), &invalid.to_string())
}

fn error(id: Option<&str>, code: i32, message: &str) -> String {
    let (id, message) = (id.unwrap_or("null"), serde_json::Value::from(message));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

/// Makes the notification that a request is cancelled.
pub(super) fn cancelled(id: &RequestId, reason: &str) -> String {
    let reason = serde_json::Value::from(reason);
    let params = format!(r#"{{"requestId":{},"reason":{reason}}}"#, id.as_json());
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#)
}

/// Makes the answer of a server to `initialize` that declares changes of its lists. Returns nothing if there is nothing to change.
pub(super) fn with_changing_lists(id: &RequestId, answer: &[u8]) -> Option<String> {
    let mut answer: serde_json::Value = serde_json::from_slice(answer).ok()?;
    let result = answer.get_mut("result")?;
    let capabilities = result.get_mut("capabilities")?.as_object_mut()?;
    for list in ["tools", "prompts", "resources"] {
        if let Some(serde_json::Value::Object(capability)) = capabilities.get_mut(list) {
            capability.insert("listChanged".to_owned(), true.into());
        }
    }
    Some(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json()))
}

/// Makes a `ping`.
pub(super) fn ping(id: &RequestId) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, id.as_json())
}

/// Makes a notification without parameters.
pub(super) fn notification(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}

#[cfg(test)]
mod tests {
    use super::super::envelope::{Message, parse};
    use super::*;

    #[test]
    fn changes_of_lists_are_declared() {
        let id = RequestId::of_text("a");
        let answer =
            br#"{"jsonrpc":"2.0","id":"a","result":{"capabilities":{"tools":{"listChanged":false},"logging":{}}}}"#;
        let declared = with_changing_lists(&id, answer).unwrap();
        let capabilities = r#"{"tools":{"listChanged":true},"logging":{}}"#;
        assert_eq!(declared, format!(r#"{{"jsonrpc":"2.0","id":"a","result":{{"capabilities":{capabilities}}}}}"#));
        assert_eq!(with_changing_lists(&id, br#"{"jsonrpc":"2.0","id":"a","error":{}}"#), None);
        assert_eq!(with_changing_lists(&id, br#"{"jsonrpc":"2.0","id":"a","result":{}}"#), None);
    }

    #[test]
    fn answers_are_messages() {
        let id = RequestId::of_text("a\"\n");
        let response = Message::Response { id: Some(id.clone()) };
        for is_tool_call in [true, false] {
            let answer = stopped(&id, &OpenRequest { is_tool_call }, StopCause::TimeLimit, "\"quoted\"\n");
            assert_eq!(parse(answer.as_bytes()).unwrap(), response, "{answer}");
            assert_eq!(answer.contains("isError"), is_tool_call);
        }
        assert_eq!(parse(refused(&id, Refusal::TooMany).as_bytes()).unwrap(), response);
        let line = invalid(None, &EnvelopeError::Syntax("x".to_owned()));
        assert_eq!(parse(line.as_bytes()).unwrap(), Message::Response { id: None });
        let message = cancelled(&id, "r");
        let expected = Message::Notification { method: "notifications/cancelled".into(), cancelled: Some(id.clone()) };
        assert_eq!(parse(message.as_bytes()).unwrap(), expected);
        assert_eq!(parse(ping(&id).as_bytes()).unwrap(), Message::Request { id, method: "ping".into() });
    }
}
