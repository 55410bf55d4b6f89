//! A server under `brumate run`, and its client: lines of JSON-RPC.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use brumate_test_support::cache_directory;
use serde_json::{Value, json};

/// Time after which a test fails. It measures nothing.
const PATIENCE: Duration = Duration::from_secs(180);

/// A variable of the host, which no server may see.
pub(super) const HOST_VARIABLE: (&str, &str) = ("TEST_OF_THE_HOST", "value of the host");

/// Returns the path of the server whose tools misbehave.
pub(super) fn abuse() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/server_programs/abuse.py").canonicalize().unwrap()
}

/// Returns the binary with a clean environment and the cache that all tests of a build share.
pub(super) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    command.env_clear().env("BRUMATE_CACHE_DIR", cache_directory()).env(HOST_VARIABLE.0, HOST_VARIABLE.1);
    command.env("UV_NO_CONFIG", "1").env("PIP_CONFIG_FILE", "/dev/null");
    command
}

/// A running server. It is killed when it is dropped.
pub(super) struct Server {
    process: Child,
    input: Option<ChildStdin>,
    /// Messages of the server. A line that is not JSON is a string.
    lines: Receiver<Value>,
    log: File,
    requests: u64,
    /// Answers that came before they were waited for.
    early: HashMap<u64, Value>,
    /// The result of `initialize`.
    pub(super) about: Value,
}

/// The end of a server.
pub(super) struct End {
    pub(super) status: Option<i32>,
    pub(super) log: String,
    /// Messages after the last answer.
    pub(super) rest: Vec<Value>,
}

impl Server {
    /// Starts the server of `server_programs/abuse.py` with these options, and initializes it.
    pub(super) fn start(options: &[&str]) -> Server {
        Server::of(options, abuse().as_os_str().to_str().unwrap(), &[])
    }

    /// Starts `FILE[:OBJECT]` with options of `run` and arguments of the program, and initializes it.
    pub(super) fn of(options: &[&str], server: &str, arguments: &[&str]) -> Server {
        Server::with(&[&["--offline"], options].concat(), server, arguments)
    }

    /// Starts `FILE[:OBJECT]`, which may have packages of the index.
    pub(super) fn online(options: &[&str], server: &str) -> Server {
        Server::with(options, server, &[])
    }

    fn with(options: &[&str], server: &str, arguments: &[&str]) -> Server {
        let log = tempfile::tempfile().unwrap();
        let mut command = binary();
        command.arg("run").args(options).arg(server);
        if !arguments.is_empty() {
            command.arg("--").args(arguments);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log.try_clone().unwrap());
        let mut process = command.spawn().unwrap();
        let (input, output) = (process.stdin.take(), process.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let text = || Value::from(String::from_utf8_lossy(&line).into_owned());
                if sender.send(serde_json::from_slice(&line).unwrap_or_else(|_| text())).is_err() {
                    return;
                }
            }
        });
        let mut started = Server { process, input, lines, log, requests: 0, early: HashMap::new(), about: Value::Null };
        let client = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let mut answer = started.request("initialize", &hello);
        started.about = answer["result"].take();
        assert!(started.about.is_object(), "{answer} {}", started.log());
        started.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        started
    }

    /// Returns the process of the host.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{message}\n").as_bytes()).expect("the server listens");
    }

    /// Sends a request, and returns its id.
    pub(super) fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
        self.requests
    }

    /// Begins a call of a tool, and returns the id of the request.
    pub(super) fn begin_call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.begin("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Waits for the answer to a request. Every line has to be a message.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return answer;
            }
            let Ok(message) = self.lines.recv_timeout(PATIENCE) else {
                panic!("no answer to request {id}: {}", self.log())
            };
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            if let (Some(answered), None) = (message["id"].as_u64(), message.get("method")) {
                assert!(self.early.insert(answered, message).is_none(), "{answered} was answered twice");
            }
        }
    }

    /// Returns the next message of the server, which may be a request of its own.
    pub(super) fn message(&mut self) -> Value {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(message) => message,
            Err(_) => panic!("no message: {}", self.log()),
        }
    }

    /// Sends a request, and returns its answer.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Calls a tool, and returns the result.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin_call(tool, arguments);
        self.answer(id)["result"].take()
    }

    /// Calls a tool, which has to succeed. Returns what it returned.
    pub(super) fn value(&mut self, tool: &str, arguments: &Value) -> Value {
        let mut result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result} {}", self.log());
        match result["structuredContent"].take() {
            // A list or a single value has this key.
            Value::Object(mut object) if object.len() == 1 && object.contains_key("result") => object["result"].take(),
            other => other,
        }
    }

    /// Calls a tool, which has to fail. Returns the text that says so.
    pub(super) fn failure(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result} {}", self.log());
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Checks that the server answers calls.
    pub(super) fn check(&mut self) {
        assert_eq!(self.value("add", &json!({"a": 40, "b": 2})), 42);
    }

    /// Returns the log so far.
    pub(super) fn log(&mut self) -> String {
        let mut log = Vec::new();
        self.log.rewind().unwrap();
        self.log.read_to_end(&mut log).unwrap();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Closes the input, and waits for the end.
    pub(super) fn end(mut self) -> End {
        drop(self.input.take());
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(message) => rest.push(message),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("the server does not end: {}", self.log()),
            }
        }
        let status = self.process.wait().unwrap().code();
        End { status, log: self.log(), rest }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
