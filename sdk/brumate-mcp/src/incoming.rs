//! Messages of clients before rmcp parses them. Values that it cannot hold are kept or mended. A message that it cannot
//! parse is answered by its id.

use crate::exact_arguments::ExactArguments;
use brumate_json::{Envelope, Envelopes, member, mend};
use rmcp::model::ErrorCode;
use serde_json::json;
use std::borrow::Cow;

/// The reason in the answer to JSON that is not a JSON-RPC message.
pub(crate) const NO_MESSAGE: &str = "not a JSON-RPC 2.0 message";

/// The text of a message as rmcp can parse it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PreparedMessage<'a> {
    pub(crate) text: Cow<'a, str>,
    /// The arguments of a tool call, where the text differs.
    pub(crate) exact: Option<ExactArguments>,
}

/// A refused message, with the parts that are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidMessage {
    code: ErrorCode,
    reason: String,
    /// The id of the request as JSON; `None` if it has none, or none can be found.
    id: Option<String>,
}

impl InvalidMessage {
    /// Makes the error of JSON that is no message.
    pub(crate) fn new(reason: impl Into<String>, id: Option<String>) -> Self {
        Self { code: ErrorCode::INVALID_REQUEST, reason: format!("Invalid request: {}", reason.into()), id }
    }

    /// Returns whether the error has the id of its request.
    pub(crate) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// Returns the error as JSON-RPC has it.
    pub(crate) fn to_json(&self) -> String {
        let error = json!({"code": self.code.0, "message": self.reason});
        match &self.id {
            Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
            None => format!(r#"{{"jsonrpc":"2.0","error":{error}}}"#),
        }
    }
}

/// Prepares the text of one message.
///
/// - A lone surrogate becomes U+FFFD. A number that is too large for a double becomes the largest double. The exact
///   arguments of a tool call are kept.
/// - An answer that cannot be parsed becomes an error for the request that waits for it.
///
/// # Errors
///
/// Returns the answer to a message that cannot be parsed; `None` if it must not be answered. A text that is no JSON is not found here: see
/// [`unreadable`].
pub(crate) fn prepare(text: &str) -> Result<PreparedMessage<'_>, Option<InvalidMessage>> {
    let mended = mend(text);
    if mended.is_too_deep() {
        return unreadable(text, "arrays and objects are nested more than 127 deep");
    }
    if !mended.is_changed {
        return Ok(PreparedMessage { text: mended.text, exact: None });
    }
    if member(text, &["id"]).is_some_and(|id| mend(id).is_changed) {
        let envelope = Envelopes::read(text.as_bytes()).pop().unwrap_or_default();
        // No request of the server has such an id.
        let invalid =
            || InvalidMessage::new("an id is a string, or an integer of at most 64 bits", envelope.id.clone());
        return Err(envelope.is_request().then(invalid));
    }
    let arguments = member(text, &["params", "arguments"]).filter(|arguments| mend(arguments).is_changed);
    Ok(PreparedMessage { exact: arguments.map(ExactArguments::new), text: mended.text })
}

/// Handles the text of a message that cannot be parsed.
///
/// # Errors
///
/// Returns its answer, which has its id if that can be found; `None` if it must not be answered.
pub(crate) fn unreadable(
    text: &str,
    reason: impl std::fmt::Display,
) -> Result<PreparedMessage<'static>, Option<InvalidMessage>> {
    let Envelope { id, has_id, has_method, is_answer } = Envelopes::read(text.as_bytes()).pop().unwrap_or_default();
    let invalid = parse_error(reason, id);
    match (has_method, has_id, is_answer) {
        (true, false, _) => Err(None),
        (false, _, true) if invalid.has_id() => Ok(PreparedMessage { text: invalid.to_json().into(), exact: None }),
        // An answer is not answered.
        (false, _, true) => Err(None),
        _ => Err(Some(invalid)),
    }
}

/// Returns an error in place of an answer that is JSON, but that rmcp cannot parse. Returns `None` if the text is no
/// answer, or if no request waits for it.
pub(crate) fn failed_answer(text: &str) -> Option<String> {
    let envelope = Envelopes::read(text.as_bytes()).pop()?;
    let id = envelope.id.filter(|_| envelope.is_answer && !envelope.has_method)?;
    Some(InvalidMessage::new(NO_MESSAGE, Some(id)).to_json())
}

/// Returns the answers to all requests of a text that is refused as a whole; without any, an answer that has no id.
pub(crate) fn refuse_all(envelopes: Vec<Envelope>, refused: &InvalidMessage) -> Vec<InvalidMessage> {
    let ids = envelopes.into_iter().filter(Envelope::is_request).filter_map(|envelope| envelope.id);
    let answers: Vec<_> = ids.map(|id| InvalidMessage { id: Some(id), ..refused.clone() }).collect();
    if answers.is_empty() { vec![refused.clone()] } else { answers }
}

/// Makes the error of a text that is no JSON.
pub(crate) fn parse_error(reason: impl std::fmt::Display, id: Option<String>) -> InvalidMessage {
    InvalidMessage { code: ErrorCode::PARSE_ERROR, reason: format!("Parse error: {reason}"), id }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_kept_beside_the_text() {
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
            )
        };
        let plain = call(r#"{"n":18446744073709551615}"#);
        assert_eq!(prepare(&plain).unwrap(), PreparedMessage { text: plain.as_str().into(), exact: None });
        for (arguments, mended) in [
            (r#"{"n":18446744073709551616}"#, r#"{"n":18446744073709551616}"#),
            (r#"{"s":"\ud800"}"#, r#"{"s":"\ufffd"}"#),
            (r#"{"x":[1e999]}"#, r#"{"x":[1.7976931348623157e308]}"#),
        ] {
            let prepared = call(arguments);
            let prepared = prepare(&prepared).unwrap();
            assert_eq!(prepared.text, call(mended));
            assert_eq!(prepared.exact, Some(ExactArguments::new(arguments)));
        }
        let elsewhere = r#"{"id":1,"method":"m","params":{"arguments":{},"x":1e999}}"#;
        assert_eq!(prepare(elsewhere).unwrap().exact, None);
    }

    #[test]
    fn what_cannot_be_parsed_is_answered_by_its_id() {
        let deep = "[".repeat(130) + &"]".repeat(130);
        let answer = |text: &str| prepare(text).unwrap_err().map(|invalid| invalid.to_json());
        let answered = answer(&format!(r#"{{"method":"m","params":{deep},"id":"a"}}"#)).unwrap();
        assert!(answered.starts_with(r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32700,"#), "{answered}");
        assert_eq!(answer(&format!(r#"{{"method":"m","params":{deep}}}"#)), None);
        for id in ["1e999", "18446744073709551616", r#""\ud800""#] {
            let answered = answer(&format!(r#"{{"method":"m","id":{id}}}"#)).unwrap();
            assert!(
                answered.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32600,"#)),
                "{answered}"
            );
        }
        // Answers are not answered: neither with an id that the server never used, nor without an id.
        for answered in [r#"{"id":1e999,"error":{}}"#.to_owned(), format!(r#"{{"id":null,"result":{deep}}}"#)] {
            assert_eq!(answer(&answered), None, "{answered}");
        }
        // Whoever asked the client is told.
        let failed = format!(r#"{{"id":3,"result":{deep}}}"#);
        assert!(prepare(&failed).unwrap().text.starts_with(r#"{"jsonrpc":"2.0","id":3,"error":"#));
    }
}
