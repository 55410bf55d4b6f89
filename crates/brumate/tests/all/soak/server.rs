//! A server over standard input and output, with its client.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};

use brumate_test_support::cache_directory;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::disk::Disk;

/// Server, which is killed when it is dropped.
pub(super) struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    calls: u64,
    /// Answers that were read while another one was awaited.
    answers: HashMap<u64, Value>,
}

impl Server {
    pub(super) fn start(disk: &Disk, data: &Path) -> Server {
        let mut process = disk
            .command(env!("CARGO_BIN_EXE_brumate"))
            .args(["stdio", "--tools", "interpreter", "--ready", "0", "--hibernate-after", "2s", "--data-dir"])
            .arg(data)
            .arg("--cache-dir")
            .arg(cache_directory())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let (input, output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut server = Server { process, input, output, calls: 0, answers: HashMap::new() };
        let client = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let call = server.begin("initialize", &hello);
        server.answer(call).expect("it answers");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).expect("it listens");
        server
    }

    pub(super) fn process(&self) -> i32 {
        self.process.id().cast_signed()
    }

    fn send(&mut self, message: &Value) -> std::io::Result<()> {
        self.input.write_all(format!("{message}\n").as_bytes())
    }

    /// Sends a request and returns its number. A server that was killed never answers.
    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.calls += 1;
        let _ = self.send(&json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}));
        self.calls
    }

    /// Calls a tool, and returns the number of the call.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.begin("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Returns the answer to a call, or `None` if the server was killed before.
    pub(super) fn answer(&mut self, call: u64) -> Option<Value> {
        loop {
            if let Some(answer) = self.answers.remove(&call) {
                return Some(answer);
            }
            let mut line = String::new();
            if self.output.read_line(&mut line).ok()? == 0 || !line.ends_with('\n') {
                return None;
            }
            let mut message: Value = serde_json::from_str(&line).expect("a message");
            if let (Some(id), None) = (message["id"].as_u64(), message.get("method")) {
                assert!(message.get("error").is_none(), "{message}");
                self.answers.insert(id, message["result"]["structuredContent"].take());
            }
        }
    }

    /// Runs a cell; as [`Server::answer`].
    pub(super) fn cell(&mut self, session: &str, code: &str) -> Option<Value> {
        let call = self.call("execute_code", &json!({"code": code, "session_id": session}));
        self.answer(call)
    }

    /// Waits for the end of a server that was told to end.
    pub(super) fn wait(mut self) -> ExitStatus {
        self.process.wait().expect("it ends")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends a signal to a process that this one has started.
pub(super) fn signal(process: i32, signal: Signal) {
    // It may have ended.
    let _ = Pid::from_raw(process).map(|pid| kill_process(pid, signal));
}
