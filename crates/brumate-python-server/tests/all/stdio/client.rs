//! A client over lines.

use std::sync::Arc;

use brumate_python_server::stdio::{StdioOptions, serve_stdio};
use brumate_python_server::{MachineEnd, StartedMachine};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use std::time::Duration;

use crate::scripted::ScriptedLauncher;

/// A client, and the server that it is connected to.
pub(crate) struct Client {
    pub(crate) output: WriteHalf<DuplexStream>,
    pub(crate) input: BufReader<ReadHalf<DuplexStream>>,
    pub(crate) serving: JoinHandle<MachineEnd>,
    pub(crate) launcher: Arc<ScriptedLauncher>,
    pub(crate) shutdown: CancellationToken,
}

impl Client {
    pub(crate) async fn connect(launcher: ScriptedLauncher, options: StdioOptions) -> Self {
        let launcher = Arc::new(launcher);
        let (near, far) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(near);
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn({
            let (launcher, shutdown) = (Arc::clone(&launcher), shutdown.clone());
            async move {
                let first = StartedMachine::start(&*launcher).await.unwrap();
                serve_stdio(&*launcher, first, tokio::io::split(far), options, shutdown).await.unwrap()
            }
        });
        Self { output, input: BufReader::new(input), serving, launcher, shutdown }
    }

    pub(crate) async fn line(&mut self, line: &str) {
        self.output.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn request(&mut self, id: Value, method: &str) {
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string()).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()).await;
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.input.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Sends a request and returns the next message.
    pub(crate) async fn ask(&mut self, id: Value, method: &str) -> Value {
        self.request(id, method).await;
        self.receive().await
    }

    /// Sends a request again and again, until the server answers and not the host.
    pub(crate) async fn ask_until_answered(&mut self, method: &str) {
        loop {
            let answer = self.ask(json!(2), method).await;
            if answer["result"]["method"] == method {
                return;
            }
            assert!(answer["error"].is_object(), "{answer}");
        }
    }

    /// Closes the client's end, and returns what comes until the server's end.
    pub(crate) async fn close(mut self) -> (Vec<String>, MachineEnd) {
        self.output.shutdown().await.unwrap();
        self.end().await
    }

    pub(crate) async fn end(mut self) -> (Vec<String>, MachineEnd) {
        let mut lines = Vec::new();
        let mut line = String::new();
        while self.input.read_line(&mut line).await.unwrap() > 0 {
            lines.push(std::mem::take(&mut line));
        }
        (lines, self.serving.await.unwrap())
    }
}

/// Returns options with this time limit of a request.
pub(crate) fn options(seconds: u64) -> StdioOptions {
    StdioOptions { request_timeout: Duration::from_secs(seconds), ..StdioOptions::default() }
}

/// Returns the result of a tool that the host has stopped.
pub(crate) fn tool_error(id: u64, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": {
        "content": [{ "type": "text", "text": text }], "isError": true, "resultType": "complete" } })
}
