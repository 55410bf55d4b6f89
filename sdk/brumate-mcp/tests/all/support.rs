//! Clients that are nothing but JSON.

use axum::Router;
use axum::body::Body;
use brumate_mcp::{App, Content, HttpOptions, ServeError, Server, State, tool};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

/// The newest protocol with sessions, and the one without.
pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const MODERN: &str = "2026-07-28";

/// What a client says of itself before 2026-07-28: the parameters of its `initialize`.
fn introduction(capabilities: Value) -> Value {
    let client = json!({"name": "test", "version": "1"});
    json!({"protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": client})
}

/// Tells when it is dropped, such as with the handler that holds it.
pub(crate) struct TellsOfItsEnd(pub(crate) Arc<Notify>);

impl Drop for TellsOfItsEnd {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// Lets tools go on, and tells of their ends.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) open: Notify,
    pub(crate) started: Notify,
    pub(crate) dropped: Arc<Notify>,
}

/// Waits for the gate.
#[tool]
pub(crate) async fn waits(gate: State<Arc<Gate>>) -> Content {
    let _told = TellsOfItsEnd(gate.dropped.clone());
    gate.started.notify_one();
    gate.open.notified().await;
    Content::text("through")
}

/// What a client of 2026-07-28 says with each request.
pub(crate) fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// A client at the other end of a pipe.
pub(crate) struct Pipe {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) output: WriteHalf<DuplexStream>,
    /// The server; `None` if somebody else serves.
    served: Option<JoinHandle<Result<(), ServeError>>>,
    next: u64,
    /// Messages that were no answers.
    pub(crate) heard: Vec<Value>,
    modern: Option<Value>,
}

impl Pipe {
    fn open(server: &Server) -> Self {
        let (client, served) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(served);
        let server = server.clone();
        let served = tokio::spawn(async move { server.serve_streams(input, output).await });
        Self { served: Some(served), ..Self::over(client) }
    }

    fn over(client: DuplexStream) -> Self {
        let (input, output) = tokio::io::split(client);
        Self { lines: BufReader::new(input).lines(), output, served: None, next: 1, heard: Vec::new(), modern: None }
    }

    /// With a handshake.
    pub(crate) async fn legacy(server: &Server, capabilities: Value) -> Self {
        Self::open(server).handshake(capabilities).await
    }

    /// With a handshake, over a pipe to any server.
    pub(crate) async fn over_legacy(client: DuplexStream) -> Self {
        Self::over(client).handshake(json!({})).await
    }

    async fn handshake(self, capabilities: Value) -> Self {
        let mut pipe = self;
        let answer = pipe.request("initialize", introduction(capabilities)).await;
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        pipe
    }

    /// Without one.
    pub(crate) fn modern(server: &Server, capabilities: Value) -> Self {
        Self { modern: Some(meta(capabilities)), ..Self::open(server) }
    }

    /// Ends the server's input.
    pub(crate) async fn close(&mut self) {
        self.output.shutdown().await.expect("the pipe ends");
    }

    /// Waits for the server's end, which is without an error. Its last lines.
    pub(crate) async fn ended(mut self) -> Vec<String> {
        self.served.expect("a server of ours").await.expect("no panic").expect("no error");
        let mut last = Vec::new();
        while let Some(line) = self.lines.next_line().await.expect("the pipe ends") {
            last.push(line);
        }
        last
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.output.write_all(format!("{message}\n").as_bytes()).await.expect("the server reads");
    }

    /// The next message of the server.
    pub(crate) async fn receive(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("a line").expect("the server has not ended");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Sends a request; its id.
    pub(crate) async fn start(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        if let Some(Value::Object(meta)) = &self.modern {
            // What the test says stays.
            let mut all = meta.clone();
            all.extend(params["_meta"].as_object().cloned().unwrap_or_default());
            params["_meta"] = all.into();
        }
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// The answer to a request; what comes before it is kept.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive().await;
            if message.get("method").is_none() && message["id"] == id {
                return message;
            }
            self.heard.push(message);
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer(id).await
    }

    /// The result of a tool.
    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": name, "arguments": arguments})).await;
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }
}

/// The text of a result that is one text.
pub(crate) fn text(result: &Value) -> &str {
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{result}");
    result["content"][0]["text"].as_str().expect("text")
}

/// A client over HTTP, in the same process.
#[derive(Clone)]
pub(crate) struct Http {
    pub(crate) app: App,
    router: Router,
    pub(crate) headers: HeaderMap,
}

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// All messages: of an event stream, or the one there is.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if self.content_type().starts_with("text/event-stream") {
            return events(&self.body).into_iter().map(|(_, message)| message).filter(|m| !m.is_null()).collect();
        }
        vec![serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}: {}", self.status, self.body))]
    }

    /// The answer to the request, which is the last message.
    pub(crate) fn last(&self) -> Value {
        self.messages().pop().unwrap_or_default()
    }

    pub(crate) fn content_type(&self) -> &str {
        self.headers.get("content-type").map_or("", |value| value.to_str().expect("text"))
    }
}

/// Events with their ids; an empty one is null.
pub(crate) fn events(body: &str) -> Vec<(String, Value)> {
    let event = |text: &str| {
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))
                .map(|value| value.trim().to_owned())
                .unwrap_or_default()
        };
        let data = field("data:");
        (field("id:"), serde_json::from_str(&data).unwrap_or_default())
    };
    body.split("\n\n").filter(|text| text.contains("data:")).map(event).collect()
}

impl Http {
    pub(crate) fn new(server: &Server, options: HttpOptions) -> Self {
        let app = App::new().mount("", server.clone(), options);
        Self { router: app.router(), app, headers: HeaderMap::new() }
    }

    /// Of a server that is none of this crate's.
    pub(crate) fn of(router: Router) -> Self {
        Self { router, app: App::new(), headers: HeaderMap::new() }
    }

    pub(crate) fn initialize() -> Value {
        Self::initialize_with(json!({}))
    }

    fn initialize_with(capabilities: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": introduction(capabilities)})
    }

    /// With one more header, in all requests.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, value.parse().expect("a header"));
        self
    }

    /// With a session.
    pub(crate) async fn session(self) -> Self {
        self.session_with(json!({})).await
    }

    pub(crate) async fn session_with(self, capabilities: Value) -> Self {
        let answer = self.post(&Self::initialize_with(capabilities)).await;
        assert_eq!(answer.last()["result"]["protocolVersion"], LEGACY, "{}", answer.body);
        let id = answer.headers["mcp-session-id"].to_str().expect("text").to_owned();
        let http = self.with("mcp-session-id", &id).with("mcp-protocol-version", LEGACY);
        http.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        http
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Body) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path).body(body).expect("a request");
        let headers = request.headers_mut();
        headers.insert("host", "localhost".parse().expect("a header"));
        headers.insert("accept", "application/json, text/event-stream".parse().expect("a header"));
        headers.insert("content-type", "application/json".parse().expect("a header"));
        headers.extend(self.headers.clone());
        let Ok(response) = self.router.clone().oneshot(request).await;
        response
    }

    /// Posts a message; the response, not yet read.
    pub(crate) async fn begin(&self, message: &Value) -> Response<Body> {
        self.send("POST", "/mcp", Body::from(message.to_string())).await
    }

    pub(crate) async fn post(&self, message: &Value) -> Answer {
        read(self.begin(message).await).await
    }

    /// Calls a tool in a session.
    pub(crate) async fn call(&self, id: u64, name: &str, arguments: Value) -> Answer {
        self.post(&call(id, name, arguments)).await
    }

    /// Calls a tool as of 2026-07-28.
    pub(crate) async fn call_modern(&self, name: &str, arguments: Value) -> Answer {
        let params = json!({"name": name, "arguments": arguments, "_meta": meta(json!({}))});
        let http =
            self.clone().with("mcp-protocol-version", MODERN).with("mcp-method", "tools/call").with("mcp-name", name);
        http.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await
    }
}

pub(crate) fn call(id: u64, name: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
}

pub(crate) async fn read(response: Response<Body>) -> Answer {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    Answer { status: head.status, headers: head.headers, body: String::from_utf8(bytes.to_vec()).expect("text") }
}

/// Reads events until one has the wanted method, or is an answer if that is empty.
pub(crate) async fn read_until(response: &mut Response<Body>, method: &str) -> Vec<(String, Value)> {
    let mut text = String::new();
    loop {
        let frame = response.frame().await.expect("the stream goes on").expect("a frame");
        if let Ok(data) = frame.into_data() {
            text.push_str(std::str::from_utf8(&data).expect("text"));
        }
        let found = events(&text);
        let wanted = |message: &Value| match method {
            "" => message.get("result").is_some() || message.get("error").is_some(),
            method => message["method"] == method,
        };
        if found.iter().any(|(_, message)| wanted(message)) {
            return found;
        }
    }
}
