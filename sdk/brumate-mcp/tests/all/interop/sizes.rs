//! Messages just under and just over the limits of the server and of five clients, over standard streams and HTTP: the tables "Sizes of
//! messages" of `docs/sdk.md`. `tests/python/sizes.py` and `tests/node/sizes.mjs` are the clients.

use super::{Client, PY1, PY2, TS1, TS2, client_command, serve};
use crate::authorization_interop::inspector_command;
use serde_json::{Value, json};

/// Bytes of a message that are not the text of a call or of its result, at most.
const AROUND: usize = 2048;
const MIB: usize = 1 << 20;

/// A message, a part of what its client is told (`ok`: it arrives), and whether the connection goes on.
struct Step(Value, &'static str, bool);

/// Answers on both sides of a size, after so many log messages.
fn answers(limit: usize, log: usize, beyond: &'static str, goes_on: bool) -> [Step; 2] {
    [Step(json!(["answer", limit - AROUND, log]), "ok", true), Step(json!(["answer", limit + 1, log]), beyond, goes_on)]
}

fn requests(limit: usize, beyond: &'static str, goes_on: bool) -> [Step; 2] {
    [Step(json!(["request", limit - AROUND]), "ok", true), Step(json!(["request", limit + 1]), beyond, goes_on)]
}

fn check(client: &Client, transport: &str, era: &str, steps: &[Step]) {
    let (_server, target) = serve(transport);
    let sent: Vec<&Value> = steps.iter().map(|Step(message, ..)| message).collect();
    let mut command = client_command(client, "sizes");
    command.args(["--transport", transport, "--era", era, "--steps", &json!(sent).to_string(), "--target"]);
    let output = command.args(target).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let found: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(found.len(), steps.len(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for (Step(message, told, goes_on), found) in steps.iter().zip(&found) {
        let said = found["said"].as_str().unwrap_or_default();
        let is_told = if *told == "ok" { said == "ok" } else { said.contains(told) };
        assert!(is_told && found["goes_on"] == *goes_on, "{message}: {found}, not {told:?}");
    }
}

const TOO_LONG_REQUEST: &str = "Invalid request: the message is longer than 16777216 bytes";
const TOO_LONG_BODY: &str = "Invalid request: the message is longer than 4194304 bytes";

#[test]
fn python_1() {
    let steps: Vec<Step> =
        answers(10 * MIB, 0, "ok", true).into_iter().chain(requests(16 * MIB, TOO_LONG_REQUEST, true)).collect();
    check(&PY1, "stdio", "legacy", &steps);
    // This client ends its connection when a request is refused.
    let refused = requests(4 * MIB, "413", false);
    let steps: Vec<Step> = answers(MIB, 1, "ok", true).into_iter().chain(refused).collect();
    check(&PY1, "http", "legacy", &steps);
}

#[test]
fn python_2() {
    check(&PY2, "stdio", "modern", &requests(16 * MIB, TOO_LONG_REQUEST, true));
    let event = "Server-sent event exceeded the 1048576 byte limit";
    let steps = answers(MIB, 1, event, true).into_iter().chain(answers(MIB, 0, "ok", true));
    let steps: Vec<Step> = steps.chain(requests(4 * MIB, TOO_LONG_BODY, true)).collect();
    check(&PY2, "http", "modern", &steps);
}

fn typescript(client: &Client, era: &str) {
    let steps: Vec<Step> = answers(10 * MIB, 0, "Connection closed", false)
        .into_iter()
        .chain(requests(16 * MIB, TOO_LONG_REQUEST, true))
        .collect();
    check(client, "stdio", era, &steps);
    let answers = answers(MIB, 1, "ok", true).into_iter().chain(answers(10 * MIB, 0, "ok", true));
    let steps: Vec<Step> = answers.chain(requests(4 * MIB, TOO_LONG_BODY, true)).collect();
    check(client, "http", era, &steps);
}

#[test]
fn typescript_1() {
    typescript(&TS1, "legacy");
}

#[test]
fn typescript_2() {
    typescript(&TS2, "modern");
}

#[test]
fn inspector() {
    let home = tempfile::tempdir().expect("a directory");
    for (transport, letters, told) in [
        ("stdio", 10 * MIB - AROUND, "\"xxx"),
        ("stdio", 10 * MIB + 1, "Connection closed"),
        ("http", 10 * MIB + 1, "\"xxx"),
    ] {
        let (_server, mut target) = serve(transport);
        if transport == "http" {
            target = vec![format!("{}/mcp", target[0]), "--transport".to_owned(), "http".to_owned()];
        }
        let output = inspector_command(home.path())
            .args(target)
            .args(["--format", "json", "--method", "tools/call", "--tool-name", "letters", "--tool-arg"])
            .arg(format!("number={letters}"))
            .output()
            .expect("the Inspector runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let start: String = text.chars().take(1000).collect();
        assert!(text.contains(told), "{transport}, {letters} letters: {start}");
    }
}
