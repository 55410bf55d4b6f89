//! A client that sends and receives JSON lines, so that tests see the exact messages.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use brumate_packages::{Bundle, Distribution};
use brumate_server::{PythonServer, ReturnMode, ServeError, ToolSet, serve};
use brumate_session::sessions::{SessionSettings, Sessions};
use brumate_session::testing::{FakeEngine, Script};
use brumate_session::{CancellationToken, Runner, RunnerSettings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::task::JoinHandle;

/// Time limit of an answer in a failing test.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connected client.
pub(crate) struct Client {
    input: Option<DuplexStream>,
    output: BufReader<DuplexStream>,
    /// Notifications that arrived before an answer.
    pub(crate) notifications: VecDeque<Value>,
    pub(crate) engine: Arc<FakeEngine>,
    pub(crate) shutdown: CancellationToken,
    server: JoinHandle<Result<(), ServeError>>,
    next_id: i64,
    pub(crate) sessions: Option<Sessions>,
    /// The data directory of a server with sessions.
    _data: Option<tempfile::TempDir>,
}

/// Makes an engine that runs these scripts for these codes.
pub(crate) fn engine(scripts: &[(&str, Script)]) -> FakeEngine {
    scripts.iter().fold(FakeEngine::default(), |engine, (code, script)| engine.on(code, script.clone()))
}

fn runner(engine: &Arc<FakeEngine>, settings: RunnerSettings) -> Runner {
    let bundle = Bundle::new([
        Distribution::new("numpy", "2.4.6").provides(["numpy"]),
        Distribution::new("rich", "12.6.0").provides(["rich"]),
    ]);
    let fake: Arc<FakeEngine> = Arc::clone(engine);
    Runner::new(fake, Arc::new(bundle.unwrap()), settings)
}

impl Client {
    /// Connects without opening a session.
    pub(crate) fn connect(engine: FakeEngine, mode: ReturnMode, settings: RunnerSettings) -> Self {
        let engine = Arc::new(engine);
        let server = PythonServer::new(runner(&engine, settings), mode);
        Self::serve(engine, server, None)
    }

    /// Connects to a server whose results have no figures.
    pub(crate) fn without_figures(engine: FakeEngine) -> Self {
        let engine = Arc::new(engine);
        let runner = runner(&engine, RunnerSettings::default());
        Self::serve(engine, PythonServer::new(runner, ReturnMode::Xml).with_figures(false), None)
    }

    /// Connects to a server with sessions and opens a connection of protocol 2025-06-18.
    pub(crate) async fn interpreter(engine: FakeEngine, tools: ToolSet) -> Self {
        let mut client = Self::connect_interpreter(engine, tools).await;
        client.initialize("2025-06-18").await;
        client
    }

    /// Connects to a server with all tools and this input timeout, and opens a session of a client that supports elicitation.
    pub(crate) async fn with_input_timeout(engine: FakeEngine, input_timeout: Duration) -> Self {
        let mut client = Self::connect_with_input_timeout(engine, ToolSet::All, input_timeout).await;
        let info = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": info});
        client.request("initialize", params).await;
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    /// Connects to a server with sessions without opening a connection.
    pub(crate) async fn connect_interpreter(engine: FakeEngine, tools: ToolSet) -> Self {
        Self::connect_with_input_timeout(engine, tools, PATIENCE).await
    }

    /// Connects to a server with sessions whose calls become tasks after `time`.
    pub(crate) async fn connect_tasks(engine: FakeEngine, time: Duration) -> Self {
        Self::connect_with(engine, ToolSet::All, |server| server.with_task_after(time)).await
    }

    /// Connects to a server with sessions and this input timeout.
    pub(crate) async fn connect_with_input_timeout(
        engine: FakeEngine,
        tools: ToolSet,
        input_timeout: Duration,
    ) -> Self {
        Self::connect_with(engine, tools, |server| server.with_input_timeout(input_timeout)).await
    }

    async fn connect_with(engine: FakeEngine, tools: ToolSet, set: impl FnOnce(PythonServer) -> PythonServer) -> Self {
        let engine = Arc::new(engine);
        let data = tempfile::tempdir().unwrap();
        let fake: Arc<FakeEngine> = Arc::clone(&engine);
        let sessions = Sessions::open(fake, SessionSettings::new(data.path())).await.unwrap();
        let runner = runner(&engine, RunnerSettings::default());
        let server = set(PythonServer::new(runner, ReturnMode::Xml));
        let server = server.with_sessions(sessions.clone(), tools);
        Self { sessions: Some(sessions), ..Self::serve(engine, server, Some(data)) }
    }

    fn serve(engine: Arc<FakeEngine>, server: PythonServer, data: Option<tempfile::TempDir>) -> Self {
        let (input, server_input) = tokio::io::duplex(1 << 20);
        let (server_output, output) = tokio::io::duplex(1 << 20);
        let shutdown = CancellationToken::new();
        let server = tokio::spawn(serve(server, server_input, server_output, shutdown.clone()));
        Self {
            input: Some(input),
            output: BufReader::new(output),
            notifications: VecDeque::new(),
            engine,
            shutdown,
            server,
            next_id: 0,
            sessions: None,
            _data: data,
        }
    }

    /// Connects and opens a session of protocol 2025-06-18.
    pub(crate) async fn open(scripts: &[(&str, Script)]) -> Self {
        let mut client = Self::connect(engine(scripts), ReturnMode::Xml, RunnerSettings::default());
        client.initialize("2025-06-18").await;
        client
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let answer = self.request("initialize", params).await;
        self.notify("notifications/initialized", json!({})).await;
        answer["result"].clone()
    }

    pub(crate) async fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.write(&format!("{message}\n")).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Sends a request and returns its id.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})).await;
        self.next_id
    }

    /// Returns the next message of any kind, or `None` at the end.
    pub(crate) async fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.output.read_line(&mut line));
        match read.await.expect("a message in time").unwrap() {
            0 => None,
            _ => Some(serde_json::from_str(&line).expect("every line is JSON")),
        }
    }

    /// Returns the answer to request `id`. Notifications before it are kept.
    pub(crate) async fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.receive().await.expect("an answer before the end");
            if message["id"] == json!(id) {
                return message;
            }
            assert!(message.get("method").is_some(), "unexpected answer: {message}");
            self.notifications.push_back(message);
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(id).await
    }

    pub(crate) async fn call(&mut self, arguments: Value) -> Value {
        let params = json!({"name": "run_python_code", "arguments": arguments});
        self.request("tools/call", params).await["result"].clone()
    }

    /// Calls a tool. Returns its result.
    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments})).await["result"].clone()
    }

    /// Runs a cell. Returns the structured content, and checks that the text is the same.
    pub(crate) async fn cell(&mut self, session: &str, code: &str) -> Value {
        let result = self.tool("execute_code", json!({"code": code, "session_id": session})).await;
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "{result}");
        assert_eq!(result.get("isError"), None);
        text
    }

    /// Makes a session and runs `code` in it. Returns its id.
    pub(crate) async fn session(&mut self, code: &str) -> String {
        self.cell("", code).await["session_info"]["session_id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn read_resource(&mut self, uri: &str) -> Value {
        self.request("resources/read", json!({"uri": uri})).await
    }

    pub(crate) async fn run(&mut self, code: &str) -> Value {
        self.call(json!({"python_code": code})).await
    }

    /// Runs code. Returns the text of the result.
    pub(crate) async fn text(&mut self, code: &str) -> String {
        text_of(&self.run(code).await)
    }

    /// Waits until `count` runs have started.
    pub(crate) async fn until_executed(&self, count: usize) {
        while self.engine.executed().len() < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Closes the input.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Starts `first`, closes the output, and starts `second`, whose answer cannot be received. The input stays open.
    pub(crate) async fn hang_up(
        mut self,
        first: Value,
        second: Value,
    ) -> (Arc<FakeEngine>, JoinHandle<Result<(), ServeError>>) {
        self.begin("tools/call", first).await;
        self.until_executed(1).await;
        drop(self.output);
        let input = self.input.as_mut().expect("the input is open");
        let message = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": second});
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        let (engine, server) = (self.engine, self.server);
        let input = self.input.take();
        let server = tokio::spawn(async move {
            let result = server.await.unwrap();
            drop(input);
            result
        });
        (engine, server)
    }

    /// Waits for the server's end.
    pub(crate) async fn finish(mut self) -> Result<(), ServeError> {
        self.close_input();
        while self.receive().await.is_some() {}
        self.server.await.unwrap()
    }
}

/// Returns the only text of a result.
pub(crate) fn text_of(result: &Value) -> String {
    let content = result["content"].as_array().unwrap_or_else(|| panic!("no content: {result}"));
    assert_eq!(content.len(), 1);
    assert_eq!(content[0]["type"], "text");
    content[0]["text"].as_str().unwrap().to_owned()
}
