//! Parses a line of the stdio transport: JSON text to messages, or to the error answer.

use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonObject, JsonRpcMessage,
    Request, RequestId, ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::Value;

/// Most messages in one JSON-RPC batch (protocol 2025-03-26).
const MAX_BATCH: usize = 256;

/// A message of a line, or the error answer to it.
#[derive(Debug)]
pub(super) enum ParsedLine {
    /// A message for the server.
    Message(Box<ClientJsonRpcMessage>),
    /// The error answer to an invalid message.
    Invalid(Box<ServerJsonRpcMessage>),
}

/// Parses a line: one message, or a batch. Empty lines and unknown notifications give nothing.
pub(super) fn parse_line(line: &[u8]) -> Vec<ParsedLine> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Vec::new();
    }
    if let Some(message) = plain_call(line) {
        return vec![ParsedLine::Message(Box::new(message))];
    }
    match serde_json::from_slice(line) {
        Ok(Value::Array(batch)) if batch.is_empty() => vec![invalid(None, "Invalid request: an empty batch")],
        Ok(Value::Array(batch)) if batch.len() > MAX_BATCH => {
            vec![invalid(None, &format!("Invalid request: more than {MAX_BATCH} messages in a batch"))]
        }
        Ok(Value::Array(batch)) => batch.into_iter().filter_map(parse_message).collect(),
        Ok(value) => parse_message(value).into_iter().collect(),
        Err(error) => {
            let data = ErrorData::new(ErrorCode::PARSE_ERROR, format!("Parse error: {error}"), None);
            vec![ParsedLine::Invalid(Box::new(JsonRpcMessage::error(data, None)))]
        }
    }
}

/// Parses the most frequent message, a tool call without `_meta`, faster than the general parser. Returns `None` for all
/// other messages, malformed ones included.
fn plain_call(line: &[u8]) -> Option<ClientJsonRpcMessage> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Call {
        jsonrpc: String,
        id: RequestId,
        method: String,
        params: Params,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Params {
        name: String,
        arguments: Option<JsonObject>,
    }
    let Call { jsonrpc, id, method, params } = serde_json::from_slice(line).ok()?;
    if jsonrpc != "2.0" || method != "tools/call" {
        return None;
    }
    let mut call = CallToolRequestParams::new(params.name);
    call.arguments = params.arguments;
    Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(Request::new(call)), id))
}

/// Returns the error answer to a line of more than `limit` bytes.
pub(super) fn too_long(limit: usize) -> ServerJsonRpcMessage {
    let message = format!("Invalid request: the message is longer than {limit} bytes");
    JsonRpcMessage::error(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None), None)
}

fn parse_message(value: Value) -> Option<ParsedLine> {
    let id = match value.get("id") {
        Some(Value::String(id)) => Some(RequestId::String(id.as_str().into())),
        Some(Value::Number(id)) => id.as_i64().map(RequestId::Number),
        _ => None,
    };
    let has_method = value.get("method").is_some_and(Value::is_string);
    let is_notification = has_method && value.get("id").is_none();
    match serde_json::from_value::<ClientJsonRpcMessage>(value) {
        Ok(message) => Some(ParsedLine::Message(Box::new(message))),
        // JSON-RPC forbids answers to notifications, also to malformed ones.
        Err(_) if is_notification => None,
        Err(_) => Some(invalid(id, "Invalid request: not a JSON-RPC 2.0 message")),
    }
}

fn invalid(id: Option<RequestId>, message: &str) -> ParsedLine {
    let data = ErrorData::new(ErrorCode::INVALID_REQUEST, message.to_owned(), None);
    ParsedLine::Invalid(Box::new(JsonRpcMessage::error(data, id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ok` for a message, the answer otherwise.
    fn parsed(line: &str) -> Vec<String> {
        parse_line(line.as_bytes())
            .into_iter()
            .map(|parsed| match parsed {
                ParsedLine::Message(_) => "ok".to_owned(),
                ParsedLine::Invalid(answer) => serde_json::to_string(&answer).unwrap(),
            })
            .collect()
    }

    #[test]
    fn messages_and_batches() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(parsed(ping), ["ok"]);
        assert_eq!(parsed(&format!("\u{feff} {ping} \r\n")), ["ok"]);
        assert_eq!(parsed(&format!("[{ping},{initialized}]")), ["ok", "ok"]);
        assert_eq!(parsed("  \n"), Vec::<String>::new());
        assert_eq!(parsed(r#"{"method":"textDocument/didOpen"}"#), Vec::<String>::new());
    }

    #[test]
    fn a_plain_call_is_what_it_would_be_otherwise() {
        for (line, plain) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"run","arguments":{"a":[1,null]}}}"#,
                true,
            ),
            (r#"{"id":"x","params":{"name":"run"},"method":"tools/call","jsonrpc":"2.0"}"#, true),
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"run","arguments":null}}"#, true),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"r","_meta":{"progressToken":1}}}"#,
                false,
            ),
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"r","requestState":"s"}}"#, false),
            (r#"{"jsonrpc":"1.0","id":7,"method":"tools/call","params":{"name":"run"}}"#, false),
            (r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"run"}}"#, false),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, false),
        ] {
            let message = plain_call(line.as_bytes());
            assert_eq!(message.is_some(), plain, "{line}");
            if let Some(message) = message {
                let otherwise: ClientJsonRpcMessage = serde_json::from_str(line).unwrap();
                assert_eq!(format!("{message:?}"), format!("{otherwise:?}"), "{line}");
            }
        }
    }

    #[test]
    fn what_is_no_message_is_answered() {
        for (line, answer) in [
            (
                "{oops",
                r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error: key must be a string at line 1 column 2"}}"#,
            ),
            (
                "3",
                r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: not a JSON-RPC 2.0 message"}}"#,
            ),
            ("[]", r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: an empty batch"}}"#),
            (
                r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"Invalid request: not a JSON-RPC 2.0 message"}}"#,
            ),
        ] {
            assert_eq!(parsed(line), [answer], "{line}");
        }
        assert_eq!(parsed("\"\\ud800\"").len(), 1);
        assert_eq!(parse_line(b"\xff\xfe").len(), 1);
        assert!(parsed(&format!("[{}]", vec!["1"; MAX_BATCH + 1].join(",")))[0].contains("256"));
    }

    #[test]
    fn deep_nesting_is_an_error_not_a_crash() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parsed(&deep)[0].contains("-32700"));
    }
}
