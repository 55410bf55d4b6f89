//! The crate's client against servers of the Python and TypeScript SDKs, 1.x and 2.x, and of rmcp alone, over each of their transports,
//! in both eras.

mod exercise;

use crate::conformance::Running;
use crate::rmcp_server::{serve_http_in_sessions, serve_http_stateless, serve_streams};
use crate::support::MODERN;
use brumate_mcp::Client;
use brumate_mcp::client::{ClientBuilder, Protocol, Target};
use exercise::{START, Session, exercise};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) fn python(variable: &str) -> PathBuf {
    let Some(python) = std::env::var_os(variable) else {
        panic!("{variable} is not set: it names a Python interpreter that has `mcp`; `cargo xtask test` sets it")
    };
    python.into()
}

/// Uses a server that knows `protocols` by one of them, and checks that 2026-07-28 is spoken where both sides can.
async fn speak<T: Target>(
    name: &str,
    builder: ClientBuilder<T>,
    protocol: Protocol,
    protocols: &[Protocol],
    session: Session,
) {
    let name = format!("{name} {protocol:?}");
    let spoken = exercise(&name, builder.protocol(protocol), session).await.unwrap();
    let is_modern = protocol != Protocol::Initialize && protocols.contains(&Protocol::Discover);
    assert_eq!(spoken == MODERN, is_modern, "{name}: {spoken}");
}

/// A server over HTTP, and the address it listens at.
pub(crate) fn start(program: &Path, arguments: &[&str]) -> (Running, String) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(program);
    command.args(arguments).arg(port.to_string()).env("PYTHONDONTWRITEBYTECODE", "1");
    let server = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the server starts"));
    let began = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < START, "{} does not listen", program.display());
        std::thread::sleep(Duration::from_millis(50));
    }
    (server, format!("http://127.0.0.1:{port}"))
}

async fn over_stdio(program: &Path, arguments: &[&str], protocols: &[Protocol]) {
    for &protocol in protocols {
        let builder = Client::stdio(program, arguments).inherit_env().quiet();
        speak(&format!("{arguments:?}"), builder, protocol, protocols, Session::Kept).await;
    }
}

async fn over_http(program: &Path, arguments: &[&str], protocols: &[Protocol], session: Session) {
    let (_server, address) = start(program, arguments);
    at_address(&format!("{arguments:?}"), &address, protocols, session).await;
}

/// What a server keeps matters to `initialize`; requests of 2026-07-28 need nothing.
async fn at_address(name: &str, address: &str, protocols: &[Protocol], session: Session) {
    for &protocol in protocols {
        let session = if protocol == Protocol::Initialize { session } else { Session::Kept };
        speak(name, Client::http(format!("{address}/mcp")), protocol, protocols, session).await;
    }
}

async fn over_sse(program: &Path, arguments: &[&str]) {
    let (_server, address) = start(program, arguments);
    exercise(&format!("{arguments:?}"), Client::sse(format!("{address}/sse")), Session::Kept).await.unwrap();
}

/// Protocols to try with servers of the first and of the second line of an SDK.
const FIRST: &[Protocol] = &[Protocol::Auto, Protocol::Initialize];
const SECOND: &[Protocol] = &[Protocol::Auto, Protocol::Initialize, Protocol::Discover];

async fn against_python(variable: &str, protocols: &[Protocol]) {
    let python = python(variable);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/sdk_server.py");
    let script = script.to_str().unwrap();
    over_stdio(&python, &[script, "stdio"], protocols).await;
    over_http(&python, &[script, "streamable-http"], protocols, Session::Kept).await;
    over_sse(&python, &[script, "sse"]).await;
}

fn node() -> PathBuf {
    let Some(modules) = std::env::var_os("BRUMATE_TEST_CLIENTS") else {
        panic!("BRUMATE_TEST_CLIENTS is not set: it names the `node_modules` of the SDKs; `cargo xtask test` sets it")
    };
    Path::new(&modules).join("node/bin/node")
}

async fn against_typescript(major: &str, protocols: &[Protocol], session: Session) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node/sdk_server.mjs");
    let script = script.to_str().unwrap();
    over_stdio(&node(), &[script, major, "stdio"], protocols).await;
    over_http(&node(), &[script, major, "http"], protocols, session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_python_1() {
    against_python("BRUMATE_TEST_PYTHON_MCP1", FIRST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_python_2() {
    against_python("BRUMATE_TEST_PYTHON_MCP2", SECOND).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_typescript_1() {
    against_typescript("1", FIRST, Session::Kept).await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node/sdk_server.mjs");
    over_sse(&node(), &[script.to_str().unwrap(), "1", "sse"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_typescript_2() {
    against_typescript("2", SECOND, Session::Absent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_bare_rmcp() {
    for &protocol in SECOND {
        let ((input, output), served) = serve_streams();
        speak("streams", Client::streams(input, output), protocol, SECOND, Session::Kept).await;
        served.await.unwrap();
    }
    at_address("in sessions", &serve_http_in_sessions().await, SECOND, Session::LogsApart).await;
    for json in [false, true] {
        at_address(&format!("stateless, json: {json}"), &serve_http_stateless(json).await, SECOND, Session::Absent)
            .await;
    }
}
