//! Streams: lines that are too long, ids that are in use, and the end of the input.

use crate::support::TellsOfItsEnd;
use brumate_mcp::{Server, State, tool};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

#[derive(Default)]
struct Gate {
    entered: Notify,
    open: Notify,
    dropped: Arc<Notify>,
}

/// Waits until the gate opens.
#[tool]
async fn wait(gate: State<Arc<Gate>>) -> String {
    let _tells = TellsOfItsEnd(gate.dropped.clone());
    gate.entered.notify_one();
    gate.open.notified().await;
    "opened".to_owned()
}

struct Connection {
    input: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: JoinHandle<()>,
}

impl Connection {
    async fn open(gate: &Arc<Gate>) -> Self {
        let server = Server::new("Gate").state(gate.clone()).tool(wait);
        let (client, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        let served = tokio::spawn(async move { server.serve_streams(input, output).await.unwrap() });
        let (output, input) = tokio::io::split(client);
        let mut connection = Self { input, lines: BufReader::new(output).lines(), served };
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        connection.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        assert_eq!(connection.answer().await["id"], 0);
        connection.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        connection
    }

    async fn send(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn call(&mut self, id: u64) {
        let params = json!({"name": "wait", "arguments": {}});
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    }

    async fn answer(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().expect("an answer")).unwrap()
    }
}

#[tokio::test]
async fn requests_are_answered_after_the_end_of_the_input() {
    let gate = Arc::new(Gate::default());
    let mut connection = Connection::open(&gate).await;
    connection.call(1).await;
    gate.entered.notified().await;
    connection.input.shutdown().await.unwrap();
    tokio::task::yield_now().await;
    gate.open.notify_one();
    let answer = connection.answer().await;
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(1), &json!("opened")));
    assert_eq!(connection.lines.next_line().await.unwrap(), None);
    connection.served.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_that_do_not_end_after_the_input_are_dropped() {
    let gate = Arc::new(Gate::default());
    let mut connection = Connection::open(&gate).await;
    connection.call(1).await;
    gate.entered.notified().await;
    connection.input.shutdown().await.unwrap();
    connection.served.await.unwrap();
    gate.dropped.notified().await;
}

#[tokio::test]
async fn lines_that_are_too_long_and_ids_in_use_are_errors() {
    let gate = Arc::new(Gate::default());
    let mut connection = Connection::open(&gate).await;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..17 {
        connection.input.write_all(&piece).await.unwrap();
    }
    connection.input.write_all(b"\n").await.unwrap();
    let answer = connection.answer().await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("longer than 16777216 bytes"), "{answer}");
    connection.call(1).await;
    gate.entered.notified().await;
    connection.call(1).await;
    let answer = connection.answer().await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("is in use"), "{answer}");
    gate.open.notify_one();
    assert_eq!(connection.answer().await["result"]["content"][0]["text"], "opened");
    connection.send(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
    assert_eq!(connection.answer().await["result"], json!({}));
}
