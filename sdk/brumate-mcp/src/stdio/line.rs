//! Parses a line of the stdio transport. JSON text becomes messages or error answers.

use crate::exact_arguments::ExactArguments;
use crate::incoming::{InvalidMessage, NO_MESSAGE, failed_answer, parse_error, prepare, refuse_all, unreadable};
use brumate_json::{Envelope, Envelopes};
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, GetExtensions as _, JsonObject, JsonRpcMessage,
    Request, RequestId,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Most messages in one JSON-RPC batch (protocol 2025-03-26).
const MAX_BATCH: usize = 256;

/// A message of a line, or the error answer to it.
#[derive(Debug)]
pub(super) enum ParsedLine {
    /// A message for the server.
    Message(Box<ClientJsonRpcMessage>),
    /// The error answer to an invalid message.
    Invalid(InvalidMessage),
}

/// Parses a line: one message, or a batch. Empty lines, unknown notifications and invalid notifications give an empty
/// list.
pub(super) fn parse_line(line: &[u8]) -> Vec<ParsedLine> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    // Bytes that are not UTF-8 become U+FFFD.
    let text = String::from_utf8_lossy(line);
    if !text.starts_with('[') {
        return parse_text(&text).into_iter().collect();
    }
    let refused = match serde_json::from_str::<Vec<&RawValue>>(&text) {
        Ok(batch) if batch.is_empty() => InvalidMessage::new("an empty batch", None),
        Ok(batch) if batch.len() > MAX_BATCH => {
            InvalidMessage::new(format!("more than {MAX_BATCH} messages in a batch"), None)
        }
        Ok(batch) => return batch.into_iter().filter_map(|message| parse_text(message.get())).collect(),
        Err(error) => parse_error(error, None),
    };
    invalid(Envelopes::read(text.as_bytes()), &refused)
}

/// Returns the answers to a line of more than `limit` bytes.
pub(super) fn too_long(envelopes: Vec<Envelope>, limit: usize) -> Vec<ParsedLine> {
    invalid(envelopes, &InvalidMessage::new(format!("the message is longer than {limit} bytes"), None))
}

fn invalid(envelopes: Vec<Envelope>, refused: &InvalidMessage) -> Vec<ParsedLine> {
    refuse_all(envelopes, refused).into_iter().map(ParsedLine::Invalid).collect()
}

/// Parses the text of one message.
fn parse_text(text: &str) -> Option<ParsedLine> {
    if text.is_empty() {
        return None;
    }
    let prepared = match prepare(text) {
        Ok(prepared) => prepared,
        Err(answer) => return answer.map(ParsedLine::Invalid),
    };
    if let Some(message) = plain_call(&prepared.text) {
        return Some(message_with(message, prepared.exact));
    }
    let value = match serde_json::from_str(&prepared.text) {
        Ok(value) => value,
        Err(error) => match unreadable(text, error) {
            Ok(failed) => serde_json::from_str(&failed.text).ok()?,
            Err(answer) => return answer.map(ParsedLine::Invalid),
        },
    };
    parse_message(&prepared.text, value, prepared.exact)
}

fn message_with(mut message: ClientJsonRpcMessage, exact: Option<ExactArguments>) -> ParsedLine {
    if let (JsonRpcMessage::Request(request), Some(exact)) = (&mut message, exact) {
        request.request.extensions_mut().insert(exact);
    }
    ParsedLine::Message(Box::new(message))
}

/// Parses the most frequent message, a tool call without `_meta`, faster than the general parser. Returns `None` for all
/// other messages, malformed ones included.
fn plain_call(line: &str) -> Option<ClientJsonRpcMessage> {
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
    let Call { jsonrpc, id, method, params } = serde_json::from_str(line).ok()?;
    if jsonrpc != "2.0" || method != "tools/call" {
        return None;
    }
    let mut call = CallToolRequestParams::new(params.name);
    call.arguments = params.arguments;
    Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(Request::new(call)), id))
}

/// Makes a message from `value`. `text` is the same message as JSON text. Returns `None` for an invalid notification.
fn parse_message(text: &str, value: Value, exact: Option<ExactArguments>) -> Option<ParsedLine> {
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).map(Value::to_string);
    let has_method = value.get("method").is_some_and(Value::is_string);
    let is_notification = has_method && value.get("id").is_none();
    let is_answer = value.get("method").is_none() && (value.get("result").is_some() || value.get("error").is_some());
    match serde_json::from_value::<ClientJsonRpcMessage>(value) {
        Ok(message) => Some(message_with(message, exact)),
        // JSON-RPC forbids answers to notifications, even if a notification is invalid.
        Err(_) if is_notification => None,
        // The id of an answer is the id of a request of the server. The code that sent this request gets an error. The
        // client gets no answer.
        Err(_) if is_answer => {
            let failed = serde_json::from_str(&failed_answer(text)?).ok()?;
            Some(ParsedLine::Message(Box::new(failed)))
        }
        Err(_) => Some(ParsedLine::Invalid(InvalidMessage::new(NO_MESSAGE, id))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `ok` for each message, and the error answer for each invalid one.
    fn parsed(line: &str) -> Vec<String> {
        parse_line(line.as_bytes())
            .into_iter()
            .map(|parsed| match parsed {
                ParsedLine::Message(_) => "ok".to_owned(),
                ParsedLine::Invalid(answer) => answer.to_json(),
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
            let message = plain_call(line);
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
        for (line, ids) in [
            (&br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":}}"#[..], &["7"][..]),
            (b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\",\"params\":{\"a\":\"\0\"}}", &["8"]),
            (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, &["1.5"]),
            (br#"{"jsonrpc":"2.0","id":1e999,"method":"ping"}"#, &["1e999"]),
            (br#"{"jsonrpc":"2.0","id":18446744073709551619,"method":"ping"}"#, &["18446744073709551619"]),
            (br#"{"jsonrpc":"2.0","id":4,"method":7}"#, &["4"]),
            (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, &[""]),
            (br#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#, &[""]),
            (
                br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping",}]"#,
                &["1", "\"b\""],
            ),
            (br#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{"a":}}"#, &[]),
        ] {
            let answers = parse_line(line).into_iter().map(|parsed| match parsed {
                ParsedLine::Invalid(answer) => answer.to_json(),
                ParsedLine::Message(message) => panic!("{message:?}"),
            });
            let found: Vec<String> =
                answers.map(|answer| brumate_json::member(&answer, &["id"]).unwrap_or_default().to_owned()).collect();
            assert_eq!(found, ids, "{}", String::from_utf8_lossy(line));
        }
        assert_eq!(parse_line(b"\xff\xfe").len(), 1);
        assert!(parsed(&format!("[{}]", vec!["1"; MAX_BATCH + 1].join(",")))[0].contains("256"));
    }

    #[test]
    fn what_rmcp_cannot_hold_is_handled_all_the_same() {
        for arguments in [r#"{"s":"\ud800"}"#, r#"{"n":[18446744073709551619]}"#, r#"{"n":-1e999}"#] {
            for more in ["", r#","_meta":{"progressToken":1}"#] {
                let line = format!(
                    r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments}{more}}}}}"#
                );
                for line in [line.clone(), format!("[{line}]")] {
                    let [ParsedLine::Message(message)] = &parse_line(line.as_bytes())[..] else { panic!("{line}") };
                    let JsonRpcMessage::Request(request) = &**message else { panic!("{line}") };
                    let exact = request.request.extensions().get::<ExactArguments>().unwrap();
                    assert_eq!(exact.as_json(), arguments);
                }
            }
        }
        // Bad UTF-8 is U+FFFD.
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}";
        let parsed = parse_line(line);
        assert!(format!("{parsed:?}").contains('\u{fffd}'), "{parsed:?}");
        // If an answer cannot be read, the request of the server that waits for it gets an error.
        let deep = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
        let [ParsedLine::Message(message)] = &parse_line(deep.as_bytes())[..] else { panic!("{deep}") };
        assert!(matches!(&**message, JsonRpcMessage::Error(error) if error.id == Some(RequestId::Number(3))));
    }

    #[test]
    fn answers_that_are_no_messages_are_not_answered() {
        for broken in [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":"failed"}"#,
            r#"{"jsonrpc":"1.0","id":1,"error":{"code":1,"message":"failed"}}"#,
        ] {
            for line in [broken.to_owned(), format!("[{broken}]")] {
                let [ParsedLine::Message(message)] = &parse_line(line.as_bytes())[..] else { panic!("{line}") };
                let JsonRpcMessage::Error(error) = &**message else { panic!("{line}") };
                assert_eq!(error.id, Some(RequestId::Number(1)), "{line}");
            }
        }
        // If a client sends an error answer back, it gets no further error answer.
        for line in [
            r#"{"id":1.5,"method":"x"}"#,
            r#"{"id":1e999,"method":"x"}"#,
            r#"{"id":18446744073709551619,"method":"x"}"#,
        ] {
            let [answer] = &parsed(line)[..] else { panic!("{line}") };
            assert_eq!(parsed(answer), Vec::<String>::new(), "{answer}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_not_a_crash() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parsed(&deep)[0].contains("-32700"));
    }
}
