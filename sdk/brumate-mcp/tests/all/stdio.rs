//! Streams: lines that are too long, ids that are in use, and the end of the input.

use crate::support::{Gate, LEGACY, Pipe, text, waits};
use brumate_mcp::lowlevel::serve_streams;
use brumate_mcp::{Content, Server, State, StreamOptions, tool};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

fn gated() -> (Server, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    (Server::new("Gate").state(gate.clone()).tool(waits), gate)
}

/// Starts a call that waits for the gate; its id.
async fn start(pipe: &mut Pipe) -> u64 {
    pipe.start("tools/call", json!({"name": "waits", "arguments": {}})).await
}

fn message(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn requests_are_answered_after_the_end_of_the_input() {
    let (server, gate) = gated();
    let mut pipe = Pipe::legacy(&server, json!({})).await;
    let id = start(&mut pipe).await;
    gate.started.notified().await;
    pipe.close().await;
    tokio::task::yield_now().await;
    gate.open.notify_one();
    assert_eq!(text(&pipe.answer(id).await["result"]), "through");
    assert_eq!(pipe.ended().await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn requests_that_do_not_end_after_the_input_are_dropped() {
    let (server, gate) = gated();
    let mut pipe = Pipe::legacy(&server, json!({})).await;
    start(&mut pipe).await;
    gate.started.notified().await;
    pipe.close().await;
    pipe.ended().await;
    gate.dropped.notified().await;
}

#[tokio::test]
async fn lines_that_are_too_long_and_ids_in_use_are_errors() {
    let (server, gate) = gated();
    let mut pipe = Pipe::legacy(&server, json!({})).await;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..17 {
        pipe.output.write_all(&piece).await.unwrap();
    }
    pipe.output.write_all(b"\n").await.unwrap();
    let answer = pipe.receive().await;
    assert!(message(&answer).contains("longer than 16777216 bytes"), "{answer}");
    let id = start(&mut pipe).await;
    gate.started.notified().await;
    let params = json!({"name": "waits", "arguments": {}});
    pipe.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    let answer = pipe.receive().await;
    assert!(message(&answer).contains("is in use"), "{answer}");
    gate.open.notify_one();
    assert_eq!(text(&pipe.answer(id).await["result"]), "through");
    assert_eq!(pipe.request("ping", json!({})).await["result"], json!({}));
}

/// The token of a program's shutdown may be shared by several connections.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_connection_does_not_cancel_the_token_of_the_shutdown() {
    let (server, gate) = gated();
    server.start().await.unwrap();
    let shutdown = tokio_util::sync::CancellationToken::new();
    let (client, served) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(served);
    let options = StreamOptions::new().shutdown(shutdown.clone());
    let served = tokio::spawn(serve_streams(server.into_handler(), input, output, options));
    let mut pipe = Pipe::over_legacy(client).await;
    start(&mut pipe).await;
    gate.started.notified().await;
    pipe.close().await;
    served.await.unwrap().unwrap();
    gate.dropped.notified().await;
    assert!(!shutdown.is_cancelled());
}

/// State of a tool that blocks without an `await`.
struct Block {
    begun: SyncSender<()>,
    end: Mutex<Receiver<()>>,
}

#[tool]
async fn blocks(block: State<Arc<Block>>) -> Content {
    let end = block.end.lock().expect("no panic");
    block.begun.send(()).expect("the test waits");
    // The test may have failed.
    let _ = end.recv();
    Content::text("blocked")
}

/// The worker that runs the handler is the one that waits for input and output.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_holds_up_no_other_request() {
    let (begun, has_begun) = sync_channel(1);
    let (end, ended) = sync_channel(1);
    let server = Server::new("Blocked").state(Arc::new(Block { begun, end: Mutex::new(ended) })).tool(blocks);
    let (mut client, served) = UnixStream::pair().unwrap();
    served.set_nonblocking(true).unwrap();
    let (input, output) = tokio::net::UnixStream::from_std(served).unwrap().into_split();
    let served = tokio::spawn(async move { server.serve_streams(input, output).await });
    let client = tokio::task::spawn_blocking(move || {
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
        let mut send = |message: Value| client.write_all(format!("{message}\n").as_bytes()).unwrap();
        let mut answer = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
        let params = json!({
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        });
        send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(answer()["id"], 0);
        send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "blocks", "arguments": {}}}));
        has_begun.recv().unwrap();
        for id in 2..5 {
            send(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
            assert_eq!(answer()["id"], id);
        }
        end.send(()).unwrap();
        assert_eq!(answer()["id"], 1);
    });
    client.await.unwrap();
    served.await.unwrap().unwrap();
}
