//! `docs/reference/tools.md` and `docs/reference/metrics.md`, written from what the server says.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use brumate_packages::Bundle;
use brumate_server::http::{Health, HttpSettings, Transport, serve_http};
use brumate_server::{PythonServer, ReturnMode, ToolSet};
use brumate_session::sessions::{SessionSettings, Sessions};
use brumate_session::testing::FakeEngine;
use brumate_session::{CancellationToken, Runner, RunnerSettings};
use brumate_test_support::check_reference;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::Client;

const TOOLS: &str = "\
# Tools

What clients are told about the tools, as `tools/list` has it: names, the descriptions that models read, and the JSON Schemas of arguments and
results. [sessions.md](../sessions.md) explains how they behave.

A test of the server writes this file from its answers and compares it:
`BRUMATE_WRITE_REFERENCE=1 cargo test -p brumate-server --test all reference`.

| `--tools` | tools |
|---|---|
";

const METRICS: &str = "\
# Metrics

What `/metrics` of the HTTP modes has, in Prometheus's text format 0.0.4. Nothing in it says who uses the server.
[http.md](../http.md) has the other pages for those who watch over a server.

A test of the server writes this file from its answer and compares it:
`BRUMATE_WRITE_REFERENCE=1 cargo test -p brumate-server --test all reference`.

| metric | type | meaning |
|---|---|---|
";

/// Returns the answer to `tools/list`, by names.
async fn tools(client: &mut Client) -> Vec<(String, Value)> {
    let mut answer = client.request("tools/list", json!({})).await;
    let Value::Array(tools) = answer["result"]["tools"].take() else { panic!("no tools: {answer}") };
    tools.into_iter().map(|tool| (tool["name"].as_str().expect("a name").to_owned(), tool)).collect()
}

/// Describes one tool.
fn describe(text: &mut String, name: &str, tool: &Value) {
    let said = |field: &str| tool[field].as_str().unwrap_or_default();
    let _ = write!(text, "\n## `{name}`\n\n{}.\n\n", said("title"));
    if let Some(annotations) = tool.get("annotations") {
        let _ = write!(text, "Annotations: `{annotations}`.\n\n");
    }
    let _ = write!(text, "```text\n{}\n```\n", said("description"));
    for (title, field) in [("Arguments", "inputSchema"), ("Result", "outputSchema")] {
        if let Some(schema) = tool.get(field) {
            let _ = write!(text, "\n{title}:\n\n```json\n{schema:#}\n```\n");
        }
    }
}

#[tokio::test]
async fn the_tools_are_as_their_reference_says() {
    let mut run = Client::open(&[]).await;
    let mut interpreter = Client::interpreter(FakeEngine::default(), ToolSet::Interpreter).await;
    let mut all = Client::interpreter(FakeEngine::default(), ToolSet::All).await;
    let sets = [
        ("run", tools(&mut run).await),
        ("interpreter", tools(&mut interpreter).await),
        ("all", tools(&mut all).await),
    ];
    let mut text = TOOLS.to_owned();
    for (set, tools) in &sets {
        let names: Vec<String> = tools.iter().map(|(name, _)| format!("`{name}`")).collect();
        let _ = writeln!(text, "| `{set}` | {} |", names.join(", "));
    }
    let mut described = BTreeSet::new();
    for (set, tools) in &sets {
        for (name, tool) in tools {
            // With sessions beside it `run_python_code` takes one more argument: it is described once more.
            if described.insert(tool.to_string()) {
                let other = described.iter().filter(|other| other.contains(&format!("\"name\":\"{name}\""))).count();
                let heading = if other > 1 { format!("{name}` with `--tools {set}") } else { name.clone() };
                describe(&mut text, &heading, tool);
            }
        }
    }
    check_reference("docs/reference/tools.md", &text);
}

#[tokio::test]
async fn the_metrics_are_as_their_reference_says() {
    let directory = tempfile::tempdir().unwrap();
    let engine = Arc::new(FakeEngine::default());
    let fake: Arc<FakeEngine> = Arc::clone(&engine);
    let sessions = Sessions::open(fake, SessionSettings::new(directory.path())).await.unwrap();
    let runner = Runner::new(engine, Arc::new(Bundle::new([]).unwrap()), RunnerSettings::default());
    let mut settings = HttpSettings::new(Transport::Streamable);
    settings.health = Health::default().with_admission(runner.admission().clone()).with_sessions(Some(sessions));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = PythonServer::new(runner, ReturnMode::Xml);
    let shutdown = CancellationToken::new();
    let serving = tokio::spawn(serve_http(server, settings, listener, shutdown.clone()));

    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    shutdown.cancel();
    serving.await.unwrap().unwrap();

    let mut text = METRICS.to_owned();
    for line in answer.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let kind = answer.lines().find_map(|line| line.strip_prefix(&format!("# TYPE {name} ")));
            let _ = writeln!(text, "| `{name}` | {} | {help} |", kind.expect("a type"));
        }
    }
    check_reference("docs/reference/metrics.md", &text);
}
