//! Headers that belong to a connection or to the host, not to a message.

use http::header::{CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName};

/// The header that tells the application who sent a request.
pub(super) const PRINCIPAL: &str = "x-brumate-principal";
/// Names of headers that only the host sets begin with it.
const OF_THE_HOST: &[u8] = b"x-brumate-";
/// Header of a connection that is about to speak HTTP/2.
const HTTP2_SETTINGS: &str = "http2-settings";

/// Returns whether a header is for one connection only (RFC 9110).
pub(super) fn is_hop_by_hop(name: &HeaderName) -> bool {
    [CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE].contains(name)
        || ["keep-alive", "proxy-connection", HTTP2_SETTINGS].contains(&name.as_str())
}

/// Returns whether only the host sets a header. Interfaces that applications have below ASGI, such as WSGI, make `_` of `-`, so that a
/// name with `_` is taken for the one with `-`.
pub(super) fn is_of_the_host(name: &HeaderName) -> bool {
    let mut bytes = name.as_str().bytes();
    OF_THE_HOST
        .iter()
        .all(|expected| bytes.next().is_some_and(|byte| byte == *expected || (byte == b'_' && *expected == b'-')))
}

/// Returns the headers that `Connection` of an application's response says are for one connection only (RFC 9110, 7.6.1).
///
/// Do not use it for requests: their headers are for the application. A client could take away `Host`, or a header of a proxy.
pub(super) fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// Returns the bytes of a text in Latin-1; `None` if it has other characters.
pub(super) fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(character).ok()).collect()
}
