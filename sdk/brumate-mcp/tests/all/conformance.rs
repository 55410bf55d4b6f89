//! The protocol's official conformance suite against the examples `conformance` and `conformance_client`.
//!
//! The suite, a set of npm packages with a Node of its own, is named by an environment variable, which
//! `cargo xtask test` sets after it has installed it. What may fail is in `conformance-failures.yml`, whose entries the
//! suite reports when they are stale.

use crate::clients::examples;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const SUITE: &str = "BRUMATE_TEST_CONFORMANCE";

/// A server, which ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The example, and its address.
fn server() -> (Running, String) {
    let mut server = Command::new(examples().join("conformance"));
    let child = server.arg("127.0.0.1:0").stderr(Stdio::piped()).spawn().expect("the example starts");
    let mut running = Running(child);
    let mut address = String::new();
    let errors = running.0.stderr.take().expect("standard error");
    BufReader::new(errors).read_line(&mut address).expect("a line");
    (running, format!("{}/mcp", address.trim()))
}

/// Runs the suite with these arguments. Returns whether all passed, and its output.
fn run(arguments: &[&str]) -> (bool, String) {
    let Some(modules) = std::env::var_os(SUITE).map(PathBuf::from) else {
        panic!("{SUITE} is not set: it names the `node_modules` of the conformance suite; `cargo xtask test` sets it")
    };
    let output = Command::new(modules.join("node/bin/node"))
        .arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"))
        .args(arguments)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the suite runs");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

fn suite(url: &str, arguments: &[&str]) -> (bool, String) {
    let failures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance-failures.yml");
    let failures = failures.to_str().expect("a path in UTF-8");
    run(&[&["server", "--url", url, "--expected-failures", failures], arguments].concat())
}

fn required(revision: &str) {
    let attempt = || {
        let (_server, url) = server();
        suite(&url, &["--requirements", revision])
    };
    let (passed, text) = attempt();
    if !passed {
        // The suite waits for some messages for a fixed time, which a busy machine exceeds. A fault of ours shows again.
        let (passed, again) = attempt();
        assert!(passed, "{text}\nonce more:\n{again}");
    }
}

#[test]
fn required_2025_11_25() {
    required("2025-11-25");
}

#[test]
fn required_2026_07_28() {
    required("2026-07-28");
}

/// Scenarios that no revision requires, of what the crate offers.
#[test]
fn not_scored() {
    let (_server, url) = server();
    for (scenario, revision) in [
        ("server-session-lifecycle", "2025-11-25"),
        ("json-schema-2020-12", "2025-11-25"),
        ("server-sse-polling", "2025-11-25"),
        ("json-schema-2020-12", "2026-07-28"),
        ("http-header-validation", "2026-07-28"),
        ("http-custom-header-server-validation", "2026-07-28"),
        ("tasks-lifecycle", "2026-07-28"),
        ("tasks-capability-negotiation", "2026-07-28"),
        ("tasks-wire-fields", "2026-07-28"),
        ("tasks-request-state-removal", "2026-07-28"),
        ("tasks-mrtr-input", "2026-07-28"),
        ("tasks-request-headers", "2026-07-28"),
        ("tasks-dispatch-and-envelope", "2026-07-28"),
        ("tasks-required-task-error", "2026-07-28"),
        ("tasks-mrtr-composition", "2026-07-28"),
        // Its one check is skipped by the suite itself: `tests/all/tasks.rs` has what it would look at.
        ("tasks-status-notifications", "2026-07-28"),
    ] {
        let (passed, text) = suite(&url, &["--scenario", scenario, "--spec-version", revision]);
        assert!(passed, "{scenario} {revision}: {text}");
    }
}

/// Runs all scenarios that a revision requires of clients, authorization included. One program plays them all; the name
/// of a scenario chooses its credentials, and nothing else.
fn required_of_clients(revision: &str) {
    let client = examples().join("conformance_client");
    let arguments = ["client", "--command", client.to_str().expect("a path in UTF-8"), "--requirements", revision];
    let (passed, text) = run(&arguments);
    if !passed {
        // All scenarios run at once, and each waits for a fixed time.
        let (passed, again) = run(&arguments);
        assert!(passed, "{text}\nonce more:\n{again}");
    }
}

#[test]
fn required_of_clients_2025_11_25() {
    required_of_clients("2025-11-25");
}

#[test]
fn required_of_clients_2026_07_28() {
    required_of_clients("2026-07-28");
}

/// Scenarios of extensions, which no revision requires.
#[test]
fn not_scored_of_clients() {
    let client = examples().join("conformance_client");
    for scenario in ["auth/client-credentials-basic", "auth/client-credentials-jwt"] {
        let arguments = ["client", "--command", client.to_str().expect("a path in UTF-8"), "--scenario", scenario];
        let (passed, text) = run(&arguments);
        assert!(passed && text.contains("OVERALL: PASSED"), "{scenario}: {text}");
    }
}

/// The scenarios of authorization servers, against the example `authorization`. The test is the person with the
/// browser.
#[tokio::test]
async fn authorization_server() {
    let Some(modules) = std::env::var_os(SUITE).map(PathBuf::from) else {
        panic!("{SUITE} is not set: it names the `node_modules` of the conformance suite; `cargo xtask test` sets it")
    };
    let directory = tempfile::tempdir().expect("a directory");
    let mut server = Command::new(examples().join("authorization"));
    let child = server.arg("127.0.0.1:0").arg(directory.path().join("auth")).stderr(Stdio::piped()).spawn();
    let mut server = Running(child.expect("the example starts"));
    let mut url = String::new();
    BufReader::new(server.0.stderr.take().expect("standard error")).read_line(&mut url).expect("a line");
    let url = url.trim();
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let back = format!("http://127.0.0.1:{port}/callback");
    let registration = serde_json::json!({"redirect_uris": [back], "token_endpoint_auth_method": "none"}).to_string();
    let browser = crate::authorization::browser();
    let registered = browser.post(format!("{url}/register")).body(registration).send().await.expect("an answer");
    let registered: serde_json::Value = serde_json::from_str(&registered.text().await.expect("a body")).expect("JSON");
    let id = registered["client_id"].as_str().expect("an identifier");

    let mut suite = Command::new(modules.join("node/bin/node"));
    suite.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js")).args(["authorization", "--url", url]);
    suite.args(["--client-id", id, "--resource", &format!("{url}/mcp"), "--port", &port.to_string(), "--verbose"]);
    let mut suite = Running(suite.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the suite runs"));
    let mut lines = BufReader::new(suite.0.stdout.take().expect("standard output")).lines().map_while(Result::ok);
    let mut text = String::new();
    for line in lines.by_ref() {
        text.push_str(&line);
        text.push('\n');
        if line.starts_with(&format!("{url}/authorize?")) {
            let answer =
                crate::authorization::agree(line, &back).await.unwrap_or_else(|error| panic!("{error}: {text}"));
            browser.get(answer).send().await.expect("the suite hears the answer");
            break;
        }
    }
    lines.for_each(|line| text.push_str(&format!("{line}\n")));
    assert!(suite.0.wait().expect("it ends").success(), "{text}");
    // Both scenarios ran, with three checks, and none was skipped.
    assert!(text.contains("Total: 3 passed, 0 failed"), "{text}");
}
