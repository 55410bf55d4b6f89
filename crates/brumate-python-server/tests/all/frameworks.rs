//! Servers of the Python SDK, 1.x and 2.x, used by its clients.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use brumate_mcp::HttpOptions;
use brumate_python_server::http::{HttpService, Isolation};
use tokio::process::Command;

use crate::support::{HANG, PythonLauncher, Served, limits};

const PYTHON_MCP1: &str = "BRUMATE_TEST_PYTHON_MCP1";
const PYTHON_MCP2: &str = "BRUMATE_TEST_PYTHON_MCP2";

fn python(variable: &str) -> PathBuf {
    let Some(python) = std::env::var_os(variable) else {
        panic!("{variable} is not set: it names a Python interpreter that has `mcp`; `cargo xtask test` sets it")
    };
    python.into()
}

async fn serve(python: &Path, how: &str, isolation: Isolation) -> Served<PythonLauncher> {
    let source = format!("HOW = {how:?}\n{}", include_str!("support/framework_server.py"));
    let launcher = PythonLauncher::with_python(python, &source, None);
    let mut limits = limits();
    limits.request_time_limit = Duration::from_millis(500);
    // Imports and busy neighbours are no busy tools.
    limits.interrupt_grace = HANG;
    Served::start(launcher, HttpService::new(HttpOptions::new()).isolation(isolation).limits(limits)).await
}

/// Connects clients, which use everything. Returns what `counted` said to each of them, twice: the count and the process.
async fn exercise(
    python: &Path,
    served: &Served<PythonLauncher>,
    path: &str,
    how: &str,
    clients: usize,
) -> Vec<(u32, u32)> {
    let program = served.launcher.path("client.py");
    std::fs::write(&program, include_str!("support/framework_client.py")).unwrap();
    let mut command = Command::new(python);
    command.arg(program).arg(format!("http://{}{path}", served.address)).arg(how).arg(clients.to_string());
    let output = tokio::time::timeout(HANG * 2, command.kill_on_drop(true).output()).await.expect("it ends").unwrap();
    let (said, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{how} {path}:\n{said}{log}");
    let numbers = said.lines().map(|line| line.split_once(' ').unwrap());
    numbers.map(|(count, process)| (count.parse().unwrap(), process.parse().unwrap())).collect()
}

fn counts(said: &[(u32, u32)]) -> Vec<u32> {
    said.iter().map(|(count, _)| *count).collect()
}

/// One machine for two clients.
async fn shared(variable: &str, how: &str, path: &str, clients: &[&str]) {
    let python = python(variable);
    let served = serve(&python, how, Isolation::Server).await;
    let mut count = 0;
    for client in clients {
        let said = exercise(&python, &served, path, client, 2).await;
        assert_eq!(counts(&said), (count + 1..count + 5).collect::<Vec<_>>(), "{how} {client}");
        count += 4;
    }
    if how == "mounted" {
        assert_eq!(served.get("/page").await.body, "page of 127.0.0.1");
    }
    assert_eq!(served.launcher.started.load(Ordering::SeqCst), 1);
    served.stop().await.unwrap();
}

/// A machine for each of two clients. Clients without sessions share that of their principal.
async fn isolated(variable: &str, how: &str, path: &str, client: &str) {
    let python = python(variable);
    let served = serve(&python, how, Isolation::Session).await;
    let said = exercise(&python, &served, path, client, 2).await;
    if client == "modern" {
        assert_eq!(counts(&said), [1, 2, 3, 4]);
    } else {
        assert_eq!(counts(&said), [1, 2, 1, 2], "{how} {client}");
        assert_ne!(said[0].1, said[2].1);
    }
    served.stop().await.unwrap();
}

#[tokio::test]
async fn streamable_http() {
    shared(PYTHON_MCP1, "sessions", "/mcp", &["initialize"]).await;
    shared(PYTHON_MCP2, "sessions", "/mcp", &["initialize", "modern"]).await;
}

#[tokio::test]
async fn streamable_http_without_sessions() {
    shared(PYTHON_MCP1, "stateless", "/mcp", &["initialize"]).await;
    shared(PYTHON_MCP2, "stateless", "/mcp", &["initialize", "modern"]).await;
}

#[tokio::test]
async fn http_and_sse() {
    shared(PYTHON_MCP1, "sse", "/sse", &["sse"]).await;
    shared(PYTHON_MCP2, "sse", "/sse", &["sse"]).await;
}

#[tokio::test]
async fn mounted_in_an_application_of_starlette() {
    shared(PYTHON_MCP1, "mounted", "/api/mcp", &["initialize"]).await;
    shared(PYTHON_MCP2, "mounted", "/api/mcp", &["initialize", "modern"]).await;
}

#[tokio::test]
async fn a_machine_for_each_session() {
    isolated(PYTHON_MCP1, "sessions", "/mcp", "initialize").await;
    isolated(PYTHON_MCP2, "sessions", "/mcp", "initialize").await;
    isolated(PYTHON_MCP2, "sessions", "/mcp", "modern").await;
    isolated(PYTHON_MCP1, "sse", "/sse", "sse").await;
}
