//! The SDK's own client and a Python server in the sandbox, over each transport and in both eras.

#[path = "../../../../../sdk/brumate-mcp/tests/all/client_interop/exercise.rs"]
mod exercise;

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use brumate_mcp::Client;
use brumate_mcp::client::Protocol;
use brumate_test_support::cache_directory;
use exercise::{START, Session, exercise};

use super::server::binary;

/// Protocols of `mcp` 1.x and of 2.x.
const FIRST: &[Protocol] = &[Protocol::Initialize];
const SECOND: &[Protocol] = &[Protocol::Initialize, Protocol::Discover];

/// A server process. It is killed when it is dropped.
pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the server's program.
fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/sdk_server.py")
}

/// Starts a server over HTTP with `brumate run`. `arguments` get the port. Returns the server's address.
pub(super) fn start(arguments: impl FnOnce(String) -> Vec<String>) -> (Running, String) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = binary();
    command.arg("run").args(arguments(port.to_string()));
    let server = Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < START, "the server does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    (server, format!("http://127.0.0.1:{port}"))
}

/// Starts the server of `sdk_server.py`.
fn start_sdk_server(mcp: &str, transport: &str) -> (Running, String) {
    let words = ["--with", mcp, program().to_str().unwrap(), "--", transport].map(str::to_owned);
    start(|port| words.into_iter().chain([port]).collect())
}

async fn works_with(mcp: &str, protocols: &[Protocol]) {
    let cache = cache_directory().to_str().unwrap().to_owned();
    let program = program();
    for &protocol in protocols {
        let arguments = ["--cache-dir", &cache, "run", "--with", mcp, program.to_str().unwrap(), "--", "stdio"];
        let client = Client::stdio(env!("CARGO_BIN_EXE_brumate"), arguments).quiet().protocol(protocol);
        exercise(&format!("stdio {protocol:?}"), client, Session::Kept).await.unwrap();
    }
    let (_server, address) = start_sdk_server(mcp, "streamable-http");
    for &protocol in protocols {
        let client = Client::http(format!("{address}/mcp")).protocol(protocol);
        exercise(&format!("HTTP {protocol:?}"), client, Session::Kept).await.unwrap();
    }
    let (_server, address) = start_sdk_server(mcp, "sse");
    exercise("SSE", Client::sse(format!("{address}/sse")), Session::Kept).await.unwrap();
}

#[tokio::test]
async fn it_works_with_a_server_of_mcp_1() {
    works_with("mcp>=1.30,<2", FIRST).await;
}

#[tokio::test]
async fn it_works_with_a_server_of_mcp_2() {
    works_with("mcp>=2,<3", SECOND).await;
}
