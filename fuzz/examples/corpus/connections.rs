//! Inputs of the targets that the other side of HTTP reaches: authorities, challenges, connections, steps with streams.

use crate::{Input, damage};
use brumate_fuzz::access_tokens::TOKEN;

/// Inputs of `authorities`.
pub(crate) fn authorities() -> Vec<Input> {
    let texts = [
        ("name", "localhost"),
        ("name-port", "mcp.example:8443"),
        ("ipv4", "127.0.0.1:3001"),
        ("ipv6", "[::1]:3001"),
        ("user", "evil.com@127.0.0.1"),
        ("port-name", "localhost:evil.com"),
        ("origin", "http://localhost:6274"),
        ("origin-port-name", "http://localhost:evil.com"),
        ("origin-user", "http://localhost:80@evil.com"),
        ("origin-null", "null"),
    ];
    texts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).to_vec()
}

/// Inputs of `access_tokens`.
pub(crate) fn access_tokens() -> Vec<Input> {
    let signature = TOKEN.rsplit_once('.').map_or("", |(_, signature)| signature);
    let keys =
        r#"{"keys": [{"kty": "EC", "crv": "P-256", "kid": "one", "x": "AA", "y": "AA"}, {"kty": "oct", "k": "AA"}]}"#;
    let mut inputs = vec![
        ("signed".to_owned(), TOKEN.into()),
        ("without-algorithm".to_owned(), format!("eyJhbGciOiJub25lIn0.e30.{signature}").into()),
        ("without-signature".to_owned(), "eyJhbGciOiJub25lIn0.e30.".into()),
        ("keys".to_owned(), keys.into()),
    ];
    damage::add(&mut inputs, "signed");
    inputs
}

/// Inputs of `challenges`.
pub(crate) fn challenges() -> Vec<Input> {
    let texts = [
        ("bearer", r#"Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource""#),
        ("scopes", r#"Bearer realm="x", error="insufficient_scope", scope="read write""#),
        ("among-others", r#"Basic realm="a, b", Bearer scope=one, Digest qop=auth"#),
        ("behind-token68", r#"Negotiate ab==, NTLM cd=, Bearer scope = "a""#),
        ("escapes", r#"bearer realm="a \"b\" \\", scope="x""#),
        ("open-quote", r#"Bearer scope="read"#),
        ("no-scheme", "scope=read"),
        ("others", "Basic realm=x"),
    ];
    let mut inputs = texts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).to_vec();
    damage::add(&mut inputs, "scopes");
    inputs
}

/// Inputs of `http`: all that a client sends on one connection.
pub(crate) fn connections() -> Vec<Input> {
    let post = |headers: &str, body: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        )
    };
    let texts = [
        ("initialize", post("", INITIALIZE)),
        ("origin", post("Origin: http://localhost:6274\r\n", INITIALIZE)),
        ("origins", post("Origin: http://localhost\r\nOrigin: http://evil.example\r\n", INITIALIZE)),
        ("hosts", post("Host: evil.example\r\n", INITIALIZE)),
        ("modern", post("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: ping\r\n", PING)),
        ("unknown-session", post("Mcp-Session-Id: 0\r\n", PING)),
        ("no-json", post("", "{oops")),
        ("sse", "GET /sse HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAccept: text/event-stream\r\n\r\n".to_owned()),
        ("absolute", "GET http://evil.example/sse HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()),
        ("resume", "GET /mcp HTTP/1.1\r\nHost: [::1]\r\nLast-Event-ID: 0-0\r\nMcp-Session-Id: 0\r\n\r\n".to_owned()),
        (
            "chunked",
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
                .to_owned(),
        ),
        ("http-1.0", "GET /mcp HTTP/1.0\r\n\r\n".to_owned()),
        ("options", "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n".to_owned()),
    ];
    let mut inputs: Vec<Input> = texts.map(|(name, text)| (name.to_owned(), text.into_bytes())).to_vec();
    damage::add(&mut inputs, "initialize");
    inputs
}

/// Inputs of `resumption`: a byte for each step.
pub(crate) fn steps() -> Vec<Input> {
    // The step is the remainder by nine, the request the three highest bits.
    let of = |steps: &[(u8, u8)]| -> Vec<u8> {
        let byte = |(step, request): &(u8, u8)| {
            let first = request << 5;
            first + (9 + step - first % 9) % 9
        };
        steps.iter().map(byte).collect()
    };
    vec![
        ("empty".to_owned(), Vec::new()),
        ("unread".to_owned(), of(&[(0, 1), (1, 1), (3, 1), (7, 0)])),
        ("read".to_owned(), of(&[(0, 1), (4, 1), (1, 1), (5, 0), (3, 1), (5, 0), (6, 2), (7, 0)])),
        ("large".to_owned(), of(&[(0, 6), (4, 6), (2, 6), (5, 0), (3, 6), (4, 6), (5, 0), (6, 2)])),
        ("gone".to_owned(), of(&[(0, 6), (4, 6), (2, 6), (6, 2), (3, 6), (4, 6), (5, 0)])),
        ("many".to_owned(), (0..=255).collect()),
    ]
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
