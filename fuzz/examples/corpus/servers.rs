//! Inputs of the targets that Python servers, their clients and their users' files reach.

use crate::{Input, damage};

fn inputs<const N: usize>(texts: [(&str, &str); N], damaged: &str) -> Vec<Input> {
    let mut inputs = texts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).to_vec();
    damage::add(&mut inputs, damaged);
    inputs
}

/// Inputs of `env_files`.
pub(crate) fn env_files() -> Vec<Input> {
    let texts = [
        ("plain", "A=1\nexport B=two words\n\n# comment\nC=\n"),
        ("quotes", "A=\"x\\ny \\\"z\\\"\"\nB='$HOME'\nC=${A} # rest\n"),
        ("lines", "A=\"one\ntwo\"\r\nB=3\r\n"),
        ("open-quote", "A=\"one\nB=2\n"),
        ("no-name", "=1\n"),
        ("bom", "\u{feff}A=1"),
    ];
    inputs(texts, "quotes")
}

/// Inputs of `server_lines`.
pub(crate) fn lines() -> Vec<Input> {
    let texts = [
        ("request", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#),
        ("response", r#"{"jsonrpc":"2.0","id":"x\u0041","result":{"content":[{"type":"text","text":"[{"}]}}"#),
        ("error", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#),
        ("cancelled", r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":-7}}"#),
        ("batch", r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":1e400}]"#),
        ("twice", r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#),
        ("no-json", "print output"),
    ];
    inputs(texts, "request")
}

/// Inputs of `server_frames`: the step, then frames.
pub(crate) fn frames() -> Vec<Input> {
    let frame = |kind: u8, stream: u32, payload: &[u8]| {
        let mut bytes = (payload.len() as u32).to_be_bytes().to_vec();
        bytes.push(kind);
        bytes.extend_from_slice(&stream.to_be_bytes());
        bytes.extend_from_slice(payload);
        bytes
    };
    let head = br#"{"status":200,"headers":[["content-type","text/plain"]]}"#;
    let whole =
        [frame(19, 0, b""), frame(16, 1, head), frame(17, 1, b"body"), frame(18, 1, b""), frame(22, 1, b"")].concat();
    let failed = frame(20, 0, "it does not start".as_bytes());
    let aborted = [frame(19, 0, b""), frame(16, 2, head), frame(4, 2, b""), frame(5, 1, &[0, 1, 0, 0])].concat();
    let bad = [frame(19, 0, b""), frame(16, 1, br#"{"status":99,"headers":[["a\n","b\r\nc"]]}"#)].concat();
    let mut inputs = vec![("garbage".to_owned(), vec![0xff; 40])];
    for (name, step, frames) in [
        ("whole", 255, whole.clone()),
        ("bytes", 0, whole),
        ("failed", 9, failed),
        ("aborted", 63, aborted),
        ("bad-head", 63, bad),
    ] {
        inputs.push((name.to_owned(), [vec![step], frames].concat()));
    }
    damage::add(&mut inputs, "whole");
    inputs
}
