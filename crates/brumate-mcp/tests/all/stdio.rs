//! Streams: lines that are too long, ids that are in use, and the end of the input.

use crate::support::{Gate, Pipe, text, waits};
use brumate_mcp::Server;
use brumate_mcp::lowlevel::{StreamOptions, serve_streams};
use serde_json::{Value, json};
use std::sync::Arc;
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
