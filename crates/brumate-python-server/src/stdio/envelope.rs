//! The envelope of a JSON-RPC message: what a relay has to know of it. The rest stays text.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::request_id::RequestId;

/// Most messages of one batch.
const MAX_BATCH: usize = 256;
/// Longest id of a request as JSON, in bytes.
const MAX_ID_BYTES: usize = 4096;
/// Deepest nesting of arrays and objects in a message.
const MAX_DEPTH: usize = 128;

/// A message between client and server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    /// It wants an answer.
    Request {
        /// Id of the request.
        id: RequestId,
        /// Name of the method.
        method: Cow<'a, str>,
    },
    /// It wants none.
    Notification {
        /// Name of the method.
        method: Cow<'a, str>,
        /// Request that a `notifications/cancelled` names.
        cancelled: Option<RequestId>,
    },
    /// The answer to a request. An answer to what could not be read has no id.
    Response {
        /// Id of the request.
        id: Option<RequestId>,
    },
}

/// A line is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvelopeError {
    /// It is no JSON.
    #[error("Parse error: {0}")]
    Syntax(String),
    /// It is JSON, but no message of JSON-RPC 2.0.
    #[error("Invalid request: {0}")]
    Invalid(&'static str),
}

impl EnvelopeError {
    /// Returns the error code of JSON-RPC.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Self::Syntax(_) => -32700,
            Self::Invalid(_) => -32600,
        }
    }
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CancelledParams<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a RawValue,
}

/// Splits a line into messages: one, or those of a batch. Each keeps its text.
///
/// # Errors
///
/// The line is no JSON, or a batch that is empty or too long.
pub(crate) fn split(line: &[u8]) -> Result<Vec<&[u8]>, EnvelopeError> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    if is_too_deep(line) {
        return Err(EnvelopeError::Invalid("it is nested too deeply"));
    }
    if !line.starts_with(b"[") {
        return Ok(vec![line]);
    }
    let batch: Vec<&RawValue> =
        serde_json::from_slice(line).map_err(|error| EnvelopeError::Syntax(error.to_string()))?;
    if batch.is_empty() || batch.len() > MAX_BATCH {
        return Err(EnvelopeError::Invalid("a batch has 1 to 256 messages"));
    }
    Ok(batch.into_iter().map(|message| message.get().as_bytes()).collect())
}

/// Reads the envelope of a message.
///
/// # Errors
///
/// It is no JSON, or no message of JSON-RPC 2.0.
pub(crate) fn parse(message: &[u8]) -> Result<Message<'_>, EnvelopeError> {
    // serde_json does not look at the bytes of a field that it skips.
    let message = std::str::from_utf8(message).map_err(|error| EnvelopeError::Syntax(error.to_string()))?;
    if !message.starts_with('{') {
        serde_json::from_str::<serde::de::IgnoredAny>(message).map_err(syntax)?;
        return Err(EnvelopeError::Invalid("a message is an object"));
    }
    let fields: Fields<'_> = serde_json::from_str(message).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => EnvelopeError::Invalid("a field has a wrong type"),
        _ => syntax(error),
    })?;
    if fields.jsonrpc.as_deref() != Some("2.0") {
        return Err(EnvelopeError::Invalid("not a JSON-RPC 2.0 message"));
    }
    // A `null` is read as a value that is not there.
    let id = fields
        .id
        .map(|id| request_id(id).ok_or(EnvelopeError::Invalid("an id is an integer or a string of at most 4096 bytes")))
        .transpose()?;
    match (fields.method, id) {
        (Some(method), Some(id)) => Ok(Message::Request { id, method }),
        (Some(method), None) => {
            let cancelled = (method == "notifications/cancelled").then_some(fields.params).flatten();
            let cancelled = cancelled
                .and_then(|params| serde_json::from_str::<CancelledParams<'_>>(params.get()).ok())
                .and_then(|params| request_id(params.request_id));
            Ok(Message::Notification { method, cancelled })
        }
        (None, id) if fields.error.is_some() || (fields.result.is_some() && id.is_some()) => {
            Ok(Message::Response { id })
        }
        (None, _) => Err(EnvelopeError::Invalid("neither a method nor a result nor an error")),
    }
}

fn syntax(error: serde_json::Error) -> EnvelopeError {
    EnvelopeError::Syntax(error.to_string())
}

/// Reads an id. Ids that are written differently and mean the same are one id.
fn request_id(value: &RawValue) -> Option<RequestId> {
    let text = value.get();
    if text.len() > MAX_ID_BYTES {
        return None;
    }
    if text.starts_with('"') {
        return serde_json::from_str::<String>(text).ok().map(|text| RequestId::of_text(&text));
    }
    RequestId::of_number(text)
}

/// Returns a message with its id as `id` is written. `None` if it is written so already.
pub(crate) fn with_id(message: &[u8], id: &RequestId) -> Option<Vec<u8>> {
    let fields: Fields<'_> = serde_json::from_slice(message).ok()?;
    let text = fields.id?.get();
    if text == id.as_json() {
        return None;
    }
    let begin = text.as_ptr().addr().checked_sub(message.as_ptr().addr())?;
    let (before, after) = (message.get(..begin)?, message.get(begin + text.len()..)?);
    Some([before, id.as_json().as_bytes(), after].concat())
}

/// Returns whether arrays and objects are nested deeper than [`MAX_DEPTH`]. The text need not be valid.
fn is_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for &byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> RequestId {
        RequestId::of_number(text).unwrap()
    }

    #[test]
    fn an_id_is_written_as_the_other_side_has_written_it() {
        let own = number("-0");
        let answer = br#"{"result":{"id":0},"id": 0 ,"jsonrpc":"2.0"}"#;
        let expected = br#"{"result":{"id":0},"id": -0 ,"jsonrpc":"2.0"}"#;
        assert_eq!(with_id(answer, &own).as_deref(), Some(&expected[..]));
        assert_eq!(with_id(expected, &own), None);
    }

    #[test]
    fn messages_are_told_apart() {
        for (line, message) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
                Message::Request { id: number("1"), method: "ping".into() },
            ),
            (
                r#"{"method":"a\u002fb","id":"x\"","jsonrpc":"2.0","params":{}}"#,
                Message::Request { id: RequestId::of_text("x\""), method: "a/b".into() },
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"r","requestId":7}}"#,
                Message::Notification { method: "notifications/cancelled".into(), cancelled: Some(number("7")) },
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#,
                Message::Notification { method: "notifications/cancelled".into(), cancelled: None },
            ),
            (
                r#"{"jsonrpc":"2.0","id":-9007199254740993,"result":{}}"#,
                Message::Response { id: Some(number("-9007199254740993")) },
            ),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, Message::Response { id: None }),
            (
                r#"{"jsonrpc":"2.0","id":"\u0061","error":{"code":1}}"#,
                Message::Response { id: Some(RequestId::of_text("a")) },
            ),
        ] {
            assert_eq!(parse(line.as_bytes()), Ok(message), "{line}");
        }
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for (line, code) in [
            ("{", -32700),
            ("x", -32700),
            ("", -32700),
            ("\u{0}", -32700),
            ("3", -32600),
            ("{}", -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1e999,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":3}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","result":{}}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        ] {
            assert_eq!(parse(line.as_bytes()).map_err(|error| error.code()), Err(code), "{line}");
        }
        assert_eq!(parse(b"\xff\xfe").map_err(|error| error.code()), Err(-32700));
        for line in [
            &b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"m\"}"[..],
            b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"skipped\":\"\xff\"}",
            b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"skipped\":{\"\xff\":[]}}",
        ] {
            assert_eq!(parse(line).map_err(|error| error.code()), Err(-32700));
        }
    }

    #[test]
    fn batches_are_split() {
        assert_eq!(split(b"\xef\xbb\xbf [ {\"a\":1} , 2 ]\r"), Ok(vec![&b"{\"a\":1}"[..], b"2"]));
        assert_eq!(split(b"{} "), Ok(vec![&b"{}"[..]]));
        let long = format!("[{}]", vec!["1"; MAX_BATCH + 1].join(","));
        for (line, code) in [("[]", -32600), ("[1", -32700), (long.as_str(), -32600)] {
            assert_eq!(split(line.as_bytes()).map_err(|error| error.code()), Err(code), "{line}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let nested = |depth: usize| format!("{}{}", "[{\"[[\\\"[\":".repeat(depth), "}]".repeat(depth));
        assert!(!is_too_deep(nested(MAX_DEPTH / 2).as_bytes()));
        assert!(is_too_deep(nested(MAX_DEPTH / 2 + 1).as_bytes()));
        assert!(split(&b"[".repeat(1 << 20)).is_err());
        assert!(!is_too_deep(b"\"\\\\\" ]]]]"));
    }
}
