//! Bodies as rmcp can parse them, and JSON-RPC errors for bodies that are no JSON-RPC message.

use super::response::Response;
use crate::exact_arguments::ExactArguments;
use crate::incoming::{
    InvalidMessage, NO_MESSAGE, PreparedMessage, failed_answer, parse_error, prepare, refuse_all, unreadable,
};
use axum::body::Body;
use brumate_json::{Envelope, Envelopes, member};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use rmcp::model::ClientJsonRpcMessage;
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Returns whether a body is declared as JSON. Others are refused for that.
pub(crate) fn says_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}

/// Returns a body as rmcp can parse it. Exact arguments are put into the request's extensions. An answer that is no message becomes an error
/// for the request that waits for it.
///
/// # Errors
///
/// Returns the answers to a body that is not JSON, that has no message which can be parsed, or that is a batch. There
/// is one answer for each request.
pub(crate) fn prepared(head: &mut Parts, body: Bytes) -> Result<Bytes, Vec<InvalidMessage>> {
    head.extensions.remove::<ExactArguments>();
    let text = String::from_utf8_lossy(&body);
    let parsed = serde_json::from_str::<IgnoredAny>(&text);
    if text.trim_ascii_start().starts_with('[') {
        let batch = |_| InvalidMessage::new("a batch: over HTTP each message has a request of its own", None);
        let refused = parsed.map_or_else(|error| parse_error(error, None), batch);
        return Err(refuse_all(Envelopes::read(text.as_bytes()), &refused));
    }
    let prepared = match parsed {
        Ok(IgnoredAny) => prepare(&text),
        Err(error) => unreadable(&text, error),
    };
    let refused = |answer: Option<InvalidMessage>| vec![answer.unwrap_or_else(|| parse_error("no message", None))];
    let PreparedMessage { text: mended, exact } = prepared.map_err(refused)?;
    let is_broken = || serde_json::from_str::<ClientJsonRpcMessage>(&mended).is_err();
    // Other messages are not read once more. A name may have escapes.
    let may_be_answer = ["\"result\"", "\"error\"", "\\u"].iter().any(|name| mended.contains(name));
    if may_be_answer
        && member(&mended, &["method"]).is_none()
        && is_broken()
        && let Some(failed) = failed_answer(&mended)
    {
        return Ok(failed.into());
    }
    if let Some(exact) = exact {
        head.extensions.insert(exact);
    }
    let mended = match mended {
        Cow::Owned(mended) => mended.into(),
        // Bad UTF-8 was mended.
        Cow::Borrowed(_) => match text {
            Cow::Owned(text) => text.into(),
            Cow::Borrowed(_) => body,
        },
    };
    Ok(mended)
}

/// Returns the error of JSON that is no message.
pub(crate) fn no_message(body: &[u8]) -> InvalidMessage {
    let request = Envelopes::read(body).pop().filter(Envelope::is_request);
    InvalidMessage::new(NO_MESSAGE, request.and_then(|request| request.id))
}

/// Returns the answer to a body that is refused: an error, or an array of them.
pub(crate) fn answer(refused: &[InvalidMessage]) -> Response {
    let errors: Vec<String> = refused.iter().map(InvalidMessage::to_json).collect();
    let body = match &errors[..] {
        [error] => error.clone(),
        errors => format!("[{}]", errors.join(",")),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared_text(body: &str) -> Result<String, Vec<String>> {
        let mut head = http::Request::new(()).into_parts().0;
        let prepared = prepared(&mut head, Bytes::copy_from_slice(body.as_bytes()));
        let prepared = prepared.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        prepared.map_err(|refused| refused.iter().map(InvalidMessage::to_json).collect())
    }

    #[test]
    fn each_request_of_a_batch_is_answered() {
        for end in ["]", ",]", ""] {
            let batch =
                r#" [{"jsonrpc":"2.0","id":1,"method":"a"},{"method":"b"},{"id":2,"result":1},{"id":"c","method":"d"}"#;
            let answers = prepared_text(&format!("{batch}{end}")).unwrap_err();
            let ids: Vec<_> = answers.iter().map(|answer| member(answer, &["id"])).collect();
            assert_eq!(ids, [Some("1"), Some("\"c\"")], "{end}");
        }
        let answers = prepared_text("[]").unwrap_err();
        assert!(answers.len() == 1 && member(&answers[0], &["id"]).is_none(), "{answers:?}");
    }

    #[tokio::test]
    async fn several_errors_are_an_array() {
        let errors = ["1", "2"].map(|id| InvalidMessage::new("bad", Some(id.to_owned())));
        let body =
            async |errors: &[InvalidMessage]| axum::body::to_bytes(answer(errors).into_body(), 4096).await.unwrap();
        let one: serde_json::Value = serde_json::from_slice(&body(&errors[..1]).await).unwrap();
        assert_eq!(one["id"], 1);
        let both: serde_json::Value = serde_json::from_slice(&body(&errors).await).unwrap();
        assert_eq!((&both[0]["id"], &both[1]["id"]), (&1.into(), &2.into()));
    }

    #[test]
    fn broken_answers_fail_the_request_of_the_server() {
        let failed = prepared_text(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}"#).unwrap();
        let failed: ClientJsonRpcMessage = serde_json::from_str(&failed).unwrap();
        assert!(matches!(failed, ClientJsonRpcMessage::Error(_)), "{failed:?}");
        // Messages that can be parsed stay, and so do messages that are not answers.
        for same in
            [r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#, r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#]
        {
            assert_eq!(prepared_text(same).unwrap(), same);
        }
        // An answer is not answered by its id.
        assert!(!no_message(br#"{"jsonrpc":"2.0","id":1.5,"error":{"code":1}}"#).has_id());
        assert!(no_message(br#"{"jsonrpc":"1.0","id":1,"method":"m"}"#).has_id());
    }
}
