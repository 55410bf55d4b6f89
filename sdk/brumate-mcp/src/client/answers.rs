//! Messages of servers before rmcp parses them. Values that it cannot hold are kept or mended. An answer that it cannot
//! parse fails its call.

use brumate_json::{Envelope, Envelopes, member, mend};
use rmcp::model::{ErrorCode, ServerJsonRpcMessage};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The name in a result's `_meta` under which its exact structured content comes from the transport.
const EXACT: &str = "brumate/exactStructuredContent";

/// The places of structured content: in the result of a call, and in the result of a task.
const PLACES: [&[&str]; 2] = [&["result"], &["result", "result"]];

/// Parses a message. Returns `None` for a text that is no message, if nothing waits for it.
pub(super) fn read(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    let text = String::from_utf8_lossy(text);
    match serde_json::from_str(&prepared(&text)) {
        Ok(message) => Some(message),
        Err(error) => {
            tracing::debug!(%error, "a message of the server cannot be parsed");
            serde_json::from_str(&failed(&text, error)?).ok()
        }
    }
}

/// Returns the text of a message as rmcp can parse it.
pub(super) fn prepared(text: &str) -> Cow<'_, str> {
    let mended = mend(text);
    if mended.is_too_deep() {
        return failed(text, "arrays and objects are nested more than 127 deep").map_or(text.into(), Cow::Owned);
    }
    if !mended.is_changed {
        return text.into();
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return failed(text, error).map_or(text.into(), Cow::Owned);
    }
    let exact = PLACES.iter().find_map(|place| {
        let content = member(text, &[place, &["structuredContent"][..]].concat())?;
        mend(content).is_changed.then_some((place, content))
    });
    match (exact, serde_json::from_str::<Value>(&mended.text)) {
        (Some((place, content)), Ok(mut message)) => {
            let result = place.iter().fold(&mut message, |value, name| &mut value[*name]);
            if !result["_meta"].is_object() {
                result["_meta"] = json!({});
            }
            result["_meta"][EXACT] = content.into();
            message.to_string().into()
        }
        _ => mended.text,
    }
}

/// Returns the text of a message as rmcp can parse it. An answer that is no message becomes an error for its call.
#[cfg(feature = "client-http")]
pub(super) fn readable(text: &str) -> Cow<'_, str> {
    let prepared = prepared(text);
    match serde_json::from_str::<ServerJsonRpcMessage>(&prepared) {
        Ok(_) => prepared,
        Err(error) => failed(text, error).map_or(prepared, Cow::Owned),
    }
}

/// Returns a substitute for a message that cannot be parsed: an error for the call that waits, or a request that the
/// client refuses.
fn failed(text: &str, reason: impl std::fmt::Display) -> Option<String> {
    failure(Envelopes::read(text.as_bytes()).pop()?, &format!("the server's message cannot be parsed: {reason}"))
}

/// Returns the reason why a message of more than `limit` bytes is not read.
pub(super) fn too_long(limit: usize) -> String {
    format!("the server's message is longer than {limit} bytes, the most that this client reads")
}

/// Returns a substitute for a message that is not read; `None` if nothing waits for the message.
pub(super) fn failure(envelope: Envelope, reason: &str) -> Option<String> {
    let Envelope { id, has_method, .. } = envelope;
    let id = id?;
    let error = json!({"code": ErrorCode::PARSE_ERROR.0, "message": reason});
    Some(match has_method {
        true => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"unreadable"}}"#),
        false => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
    })
}

/// Returns an error with `reason` for each call that a line which cannot be read would have answered. Requests of the server are replaced
/// by requests that the client refuses.
pub(super) fn fail_all(envelopes: Vec<Envelope>, reason: &str) -> Vec<ServerJsonRpcMessage> {
    let failures = envelopes.into_iter().filter_map(|envelope| failure(envelope, reason));
    failures.filter_map(|failure| serde_json::from_str(&failure).ok()).collect()
}

/// Takes the exact structured content out of a result's `_meta`. A server may set that entry itself: it only counts if
/// it is the structured content, apart from values that a [`Value`] cannot hold.
pub(super) fn take_exact(meta: &mut Map<String, Value>, structured: Option<&Value>) -> Option<String> {
    let Value::String(exact) = meta.remove(EXACT)? else { return None };
    let mended = mend(&exact);
    let is_same = mended.is_changed
        && serde_json::from_str::<Value>(&mended.text).is_ok_and(|content| Some(&content) == structured);
    is_same.then_some(exact)
}

/// Returns JSON as a value in which a number that the value would round is a string.
pub(super) fn with_numbers_as_text(json: &str) -> Value {
    let mended = mend(json);
    if !mended.is_changed || mended.is_too_deep() {
        return serde_json::from_str(&mended.text).unwrap_or_default();
    }
    match json.as_bytes().first() {
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
            items.into_iter().map(|item| with_numbers_as_text(item.get())).collect()
        }
        Some(b'{') => {
            let members = brumate_json::members(json).unwrap_or_default();
            Value::Object(members.into_iter().map(|(name, value)| (name, with_numbers_as_text(value.get()))).collect())
        }
        Some(b'"') => serde_json::from_str(&mended.text).unwrap_or_default(),
        _ => json.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::RequestId;

    #[test]
    fn an_answer_that_cannot_be_parsed_fails_its_call() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":3,"result":{deep}}}"#),
            r#"{"jsonrpc":"2.0","result":{"a":},"id":3}"#.to_owned(),
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"\0\"}".to_owned(),
        ] {
            let Some(ServerJsonRpcMessage::Error(error)) = read(text.as_bytes()) else { panic!("{text}") };
            assert_eq!(error.id, Some(RequestId::Number(3)));
            assert!(error.error.message.contains("cannot be parsed"), "{}", error.error.message);
        }
        assert!(
            read(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}}")
                .is_some()
        );
        let asks = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{deep}}}"#);
        assert!(matches!(read(asks.as_bytes()), Some(ServerJsonRpcMessage::Request(_))));
        for nothing in ["", "oops", r#"{"jsonrpc":"2.0","method":"notifications/message","params":{]}"#] {
            assert!(read(nothing.as_bytes()).is_none(), "{nothing}");
        }
        let long = Envelopes::read(br#"{"jsonrpc":"2.0","result":{"x":""},"id":3}"#);
        assert!(matches!(&fail_all(long, "too long")[..], [ServerJsonRpcMessage::Error(_)]));
    }

    #[test]
    fn structured_content_stays_exact() {
        let content = r#"{"n":18446744073709551619,"x":["\ud800",1e999]}"#;
        for (before, after) in [("", ""), (r#"{"result":"#, "}")] {
            let text = format!(r#"{{"id":1,"result":{before}{{"content":[],"structuredContent":{content}}}{after}}}"#);
            let message: Value = serde_json::from_str(&prepared(&text)).unwrap();
            let result = if before.is_empty() { &message["result"] } else { &message["result"]["result"] };
            let mut meta = result["_meta"].as_object().unwrap().clone();
            assert_eq!(take_exact(&mut meta, Some(&result["structuredContent"])).as_deref(), Some(content));
            assert!(meta.is_empty());
        }
        let value = json!({"n": "18446744073709551619", "x": ["\u{fffd}", "1e999"]});
        assert_eq!(with_numbers_as_text(content), value);
    }

    #[test]
    fn a_server_cannot_set_exact_content_that_differs() {
        let content = json!({"n": 1});
        for exact in
            [r#"{"n":18446744073709551619}"#, r#"{"n":1},"isError":false,"x":{"y":1e999}"#, "1e999", r#"{"n":1}"#]
        {
            for structured in [Some(&content), None] {
                let mut meta = json!({EXACT: exact, "a": 1}).as_object().unwrap().clone();
                assert_eq!(take_exact(&mut meta, structured), None, "{exact}");
                assert_eq!(Value::from(meta), json!({"a": 1}));
            }
        }
    }

    #[cfg(feature = "client-http")]
    #[test]
    fn an_event_that_is_no_message_fails_its_call() {
        for text in [
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":1}}"#,
            r#" {"jsonrpc":"2.0","id":3,"error":"failed"}"#,
            r#"{"jsonrpc":"1.0","id":3,"result":{}}"#,
        ] {
            let message = serde_json::from_str(&readable(text)).unwrap();
            let ServerJsonRpcMessage::Error(error) = message else { panic!("{text}") };
            assert_eq!(error.id, Some(RequestId::Number(3)), "{text}");
        }
        for same in [r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, r#"{"jsonrpc":"2.0","method":"x"}"#, "{}", "/messages"]
        {
            assert_eq!(readable(same), same);
        }
    }
}
