//! The head of a response, as the guest gives it.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, SERVER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;

use super::headers::{is_hop_by_hop, latin1, named_by_connection};

/// Most headers of a response.
pub(super) const MAX_HEADERS: usize = 256;
/// Longest name of a header, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Lowest status of a response. Lower ones announce a response or end HTTP on a connection.
const MIN_STATUS: u16 = 200;

/// Status and headers of a response, without the headers that are the host's.
#[derive(Debug)]
pub(super) struct ResponseHead {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

/// The head of a response is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResponseHeadError {
    #[error("not the JSON of a head: {0}")]
    Json(String),
    #[error("the status {0}")]
    Status(u16),
    #[error("{0} headers")]
    TooManyHeaders(usize),
    #[error("a header whose name is not valid")]
    Name,
    #[error("a value of `{0}` that is not valid")]
    Value(HeaderName),
    #[error("a length of the body that is not valid")]
    ContentLength,
}

/// The payload of START.
#[derive(Deserialize)]
struct StartPayload {
    status: u16,
    headers: Vec<(String, String)>,
}

impl ResponseHead {
    /// Reads the payload of START.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, ResponseHeadError> {
        let StartPayload { status, headers: pairs } =
            serde_json::from_slice(payload).map_err(|error| ResponseHeadError::Json(error.to_string()))?;
        let valid = StatusCode::from_u16(status).ok().filter(|_| status >= MIN_STATUS);
        let status = valid.ok_or(ResponseHeadError::Status(status))?;
        if pairs.len() > MAX_HEADERS {
            return Err(ResponseHeadError::TooManyHeaders(pairs.len()));
        }
        let mut headers = HeaderMap::with_capacity(pairs.len());
        for (name, value) in &pairs {
            let name = Some(name).filter(|name| name.len() <= MAX_NAME_BYTES);
            let name = name.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok());
            let name = name.ok_or(ResponseHeadError::Name)?;
            let value = latin1(value).and_then(|bytes| HeaderValue::from_maybe_shared(Bytes::from(bytes)).ok());
            let value = value.ok_or_else(|| ResponseHeadError::Value(name.clone()))?;
            headers.append(name, value);
        }
        check_length(&headers)?;
        let named = named_by_connection(&headers);
        for name in named.iter().chain([&CONNECTION, &SERVER, &DATE]) {
            headers.remove(name);
        }
        let hop_by_hop: Vec<HeaderName> = headers.keys().filter(|name| is_hop_by_hop(name)).cloned().collect();
        for name in hop_by_hop {
            headers.remove(name);
        }
        Ok(Self { status, headers })
    }
}

fn check_length(headers: &HeaderMap) -> Result<(), ResponseHeadError> {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(length) = lengths.next() else { return Ok(()) };
    let digits = !length.is_empty() && length.as_bytes().iter().all(u8::is_ascii_digit);
    let number = length.to_str().ok().filter(|_| digits).and_then(|text| text.parse::<u64>().ok());
    if number.is_none() || lengths.next().is_some() {
        return Err(ResponseHeadError::ContentLength);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(status: i64, headers: &[(&str, &str)]) -> Result<ResponseHead, ResponseHeadError> {
        let payload = serde_json::json!({"status": status, "headers": headers});
        ResponseHead::parse(payload.to_string().as_bytes())
    }

    #[test]
    fn headers_of_the_host_and_of_one_connection_are_dropped() {
        let head = parse(
            201,
            &[
                ("Content-Type", "text/plain"),
                ("set-cookie", "a=1"),
                ("set-cookie", "b=\u{e9}"),
                ("Server", "uvicorn"),
                ("Date", "now"),
                ("Connection", "close, X-Once"),
                ("X-Once", "1"),
                ("transfer-encoding", "chunked"),
                ("Keep-Alive", "timeout=5"),
                ("upgrade", "websocket"),
                ("trailer", "x"),
                ("content-length", "12"),
            ],
        );
        let ResponseHead { status, headers } = head.unwrap();
        assert_eq!(status, 201);
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["content-type", "set-cookie", "set-cookie", "content-length"]);
        assert_eq!(headers.get_all("set-cookie").iter().nth(1).unwrap().as_bytes(), b"b=\xe9");
    }

    #[test]
    fn heads_that_http_cannot_carry_are_refused() {
        let many: Vec<(&str, &str)> = vec![("a", "b"); MAX_HEADERS + 1];
        let long = "n".repeat(MAX_NAME_BYTES + 1);
        let value = || ResponseHeadError::Value(HeaderName::from_static("a"));
        for (status, headers, error) in [
            (101, &[][..], ResponseHeadError::Status(101)),
            (0, &[], ResponseHeadError::Status(0)),
            (1000, &[], ResponseHeadError::Status(1000)),
            (200, &many, ResponseHeadError::TooManyHeaders(MAX_HEADERS + 1)),
            (200, &[("a b", "")], ResponseHeadError::Name),
            (200, &[("", "")], ResponseHeadError::Name),
            (200, &[("a\r\nb", "")], ResponseHeadError::Name),
            (200, &[(&long, "")], ResponseHeadError::Name),
            (200, &[("a", "b\r\nc: d")], value()),
            (200, &[("a", "b\nc")], value()),
            (200, &[("a", "\u{0}")], value()),
            (200, &[("a", "\u{100}")], value()),
            (200, &[("content-length", "+1")], ResponseHeadError::ContentLength),
            (200, &[("content-length", "1"), ("content-length", "1")], ResponseHeadError::ContentLength),
        ] {
            assert_eq!(parse(status, headers).unwrap_err(), error);
        }
        for payload in ["", "{}", "[]", r#"{"status":70000,"headers":[]}"#, r#"{"status":200,"headers":[["a"]]}"#] {
            assert!(matches!(ResponseHead::parse(payload.as_bytes()), Err(ResponseHeadError::Json(_))), "{payload}");
        }
    }
}
