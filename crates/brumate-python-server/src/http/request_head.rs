//! The head of a request, as the guest gets it.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use brumate_mcp::Principal;
use bytes::Bytes;
use http::header::{COOKIE, HOST};
use http::request::Parts;
use http::{HeaderName, Version};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;

use super::headers::{PRINCIPAL, is_hop_by_hop, is_of_the_host};

/// Characters that are percent-encoded in a principal's name, so that each name is a different value of a header.
const NOT_IN_NAMES: &AsciiSet = &CONTROLS.add(b'%').add(b' ');

/// The address of the host, as the application is told.
#[derive(Debug, Clone)]
pub(super) struct ServedAddress {
    /// Address and port that the host listens at.
    pub(super) address: Option<SocketAddr>,
    /// Whether connections are encrypted.
    pub(super) tls: bool,
}

/// The payload of OPEN.
#[derive(Serialize)]
struct OpenPayload<'a> {
    http_version: &'a str,
    method: &'a str,
    scheme: &'a str,
    raw_path: String,
    query_string: String,
    headers: Vec<(&'a str, String)>,
    client: Option<(String, u16)>,
    server: Option<(String, u16)>,
}

/// Returns the payload of OPEN for the head of a request; `None` if its target is no path.
///
/// Headers of one connection and headers of the host are left out. The principal of the request is added.
pub(super) fn open_payload(head: &Parts, served: &ServedAddress) -> Option<Bytes> {
    let raw_path = Some(head.uri.path()).filter(|path| path.starts_with('/'))?;
    let client = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| pair(address));
    let payload = OpenPayload {
        http_version: if head.version == Version::HTTP_2 { "2" } else { "1.1" },
        method: head.method.as_str(),
        scheme: if served.tls { "https" } else { "http" },
        raw_path: text(raw_path.as_bytes()),
        query_string: text(head.uri.query().unwrap_or_default().as_bytes()),
        headers: headers(head),
        client,
        server: served.address.as_ref().map(pair),
    };
    serde_json::to_vec(&payload).ok().map(Bytes::from)
}

fn pair(address: &SocketAddr) -> (String, u16) {
    (address.ip().to_string(), address.port())
}

fn headers(head: &Parts) -> Vec<(&str, String)> {
    let is_passed = |name: &HeaderName| !is_hop_by_hop(name) && !is_of_the_host(name);
    let mut headers = Vec::with_capacity(head.headers.len() + 2);
    // HTTP/2 has the host in its target.
    if let Some(authority) = head.uri.authority().filter(|_| !head.headers.contains_key(HOST)) {
        headers.push((HOST.as_str(), text(authority.as_str().as_bytes())));
    }
    for name in head.headers.keys().filter(|name| is_passed(name)) {
        let values = head.headers.get_all(name).iter().map(|value| text(value.as_bytes()));
        if name == COOKIE {
            // HTTP/2 may send each cookie by itself; HTTP/1 has one header.
            headers.push((name.as_str(), values.collect::<Vec<_>>().join("; ")));
        } else {
            headers.extend(values.map(|value| (name.as_str(), value)));
        }
    }
    if let Some(principal) = head.extensions.get::<Principal>() {
        headers.push((PRINCIPAL, utf8_percent_encode(principal.name(), NOT_IN_NAMES).to_string()));
    }
    headers
}

/// Returns bytes as the characters of Latin-1 that they are: JSON has no bytes.
fn text(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderValue, Request};
    use serde_json::{Value, json};

    fn payload(request: http::request::Builder) -> Option<Value> {
        let (mut head, ()) = request.body(()).unwrap().into_parts();
        head.extensions.insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 1], 9))));
        head.extensions.insert(Principal::new("José 50%"));
        let served = ServedAddress { address: Some(SocketAddr::from(([127, 0, 0, 1], 80))), tls: true };
        open_payload(&head, &served).map(|payload| serde_json::from_slice(&payload).unwrap())
    }

    #[test]
    fn the_application_gets_what_the_client_sent_to_it() {
        let request = Request::post("/a%20b/c?q=%41&r")
            .header("Host", "localhost")
            .header("Authorization", "Bearer of-the-application")
            .header("X-Brumate-Principal", "eve")
            .header("x-brumate-other", "eve")
            .header("x_brumate_principal", "eve")
            .header("X-Brumate_Principal", "eve")
            .header("Connection", "keep-alive, x-once, host, authorization, cookie")
            .header("X-Once", "1")
            .header("HTTP2-Settings", "AAMAAABk")
            .header("Keep-Alive", "timeout=5")
            .header("TE", "trailers")
            .header("Upgrade", "websocket")
            .header("Cookie", "a=1")
            .header("Cookie", "b=2")
            .header("X-Name", HeaderValue::from_bytes(b"caf\xe9").unwrap());
        assert_eq!(
            payload(request).unwrap(),
            json!({
                "http_version": "1.1",
                "method": "POST",
                "scheme": "https",
                "raw_path": "/a%20b/c",
                "query_string": "q=%41&r",
                "headers": [
                    ["host", "localhost"],
                    ["authorization", "Bearer of-the-application"],
                    ["x-once", "1"],
                    ["cookie", "a=1; b=2"],
                    ["x-name", "caf\u{e9}"],
                    ["x-brumate-principal", "Jos%C3%A9%2050%25"],
                ],
                "client": ["10.0.0.1", 9],
                "server": ["127.0.0.1", 80],
            })
        );
        let second = Request::get("https://mcp.example:8443/x").version(Version::HTTP_2);
        let second = payload(second).unwrap();
        assert_eq!(
            (&second["http_version"], &second["headers"][0]),
            (&json!("2"), &json!(["host", "mcp.example:8443"]))
        );
        assert_eq!(payload(Request::options("*")), None);
        let bytes = payload(Request::get("/\u{20ac}?q=\u{20ac}")).unwrap();
        assert_eq!(
            (&bytes["raw_path"], &bytes["query_string"]),
            (&json!("/\u{e2}\u{82}\u{ac}"), &json!("q=\u{e2}\u{82}\u{ac}"))
        );
    }
}
