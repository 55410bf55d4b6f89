//! What a server that is nothing but rmcp does otherwise than it should (measured with 3.8.0), each with the same
//! server of this crate beside it. A test that fails in its first half says that rmcp has changed, and the crate may
//! have to.
//!
//! `tests/README.md` has the list.

use crate::support::{Answer, Http, Pipe, call, events, read};
use axum::Router;
use axum::body::Body;
use brumate_mcp::{Content, Context, HttpOptions, Server, State, tool};
use http::StatusCode;
use http_body_util::BodyExt as _;
use rmcp::model as wire;
use rmcp::service::RequestContext;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::session::{EventId, EventStore, EventStoreError, EventStream};
use rmcp::transport::streamable_http_server::{SessionManager, StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// Where tools wait, and what they tell.
#[derive(Default)]
struct Gate {
    begun: Notify,
    open: Notify,
    /// A call went on after it was cancelled.
    went_on: AtomicBool,
}

impl Gate {
    /// Waits until the gate is open, or the call is cancelled; then that it is open.
    async fn pass(&self, cancelled: impl Future<Output = ()>) {
        self.begun.notify_one();
        tokio::select! {
            () = self.open.notified() => return,
            () = cancelled => self.begun.notify_one(),
        }
        self.open.notified().await;
        self.went_on.store(true, Ordering::SeqCst);
        self.begun.notify_one();
    }
}

/// The server without this crate.
#[derive(Clone, Default)]
struct Bare(Arc<Gate>);

impl ServerHandler for Bare {
    fn get_info(&self) -> wire::ServerConfig {
        wire::ServerConfig::new(serde_json::from_value(json!({"tools": {}, "logging": {}})).expect("capabilities"))
    }

    #[expect(deprecated, reason = "logging")]
    async fn call_tool(
        &self,
        request: wire::CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::CallToolResponse, ErrorData> {
        match &*request.name {
            "waits" => self.0.pass(context.ct.cancelled()).await,
            "panics" => {
                self.0.begun.notify_one();
                panic!("a secret");
            }
            _ => {
                let lines = request.arguments.as_ref().and_then(|arguments| arguments["lines"].as_u64()).unwrap_or(1);
                for line in 0..lines {
                    let params = wire::LoggingMessageNotificationParam::new(wire::LoggingLevel::Info, json!(line));
                    let _ = context.peer.notify_logging_message(params).await;
                }
            }
        }
        Ok(wire::CallToolResult::success(vec![wire::ContentBlock::text("done")]).into())
    }
}

/// Waits at the gate.
#[tool]
async fn waits(gate: State<Arc<Gate>>, context: Context) -> Content {
    gate.pass(context.cancellation().cancelled_owned()).await;
    Content::text("done")
}

/// Panics.
#[tool]
async fn panics(gate: State<Arc<Gate>>) -> Content {
    gate.begun.notify_one();
    panic!("a secret");
}

/// Logs.
#[tool]
async fn logs(#[arg(default = 1)] lines: u32, context: Context) -> Content {
    for line in 0..lines {
        context.info(line).await;
    }
    Content::text("done")
}

fn ours() -> (Server, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    (Server::new("ours").state(gate.clone()).tool(waits).tool(panics).tool(logs), gate)
}

/// The bare server over HTTP.
fn bare_with<M: SessionManager>(manager: M, config: StreamableHttpServerConfig) -> (Http, Arc<Gate>) {
    let bare = Bare::default();
    let gate = bare.0.clone();
    let service = StreamableHttpService::new(move || Ok(bare.clone()), Arc::new(manager), config);
    (Http::of(Router::new().route_service("/mcp", service)), gate)
}

fn bare() -> (Http, Arc<Gate>) {
    bare_with(LocalSessionManager::default(), StreamableHttpServerConfig::default())
}

fn own() -> (Http, Arc<Gate>) {
    let (server, gate) = ours();
    (Http::new(&server, HttpOptions::new()), gate)
}

/// The answer to a request that is in its stream, if there is one.
fn answered(answer: &Answer) -> bool {
    answer.messages().iter().any(|message| !message["result"].is_null() || !message["error"].is_null())
}

/// A: an idle timer that does not know of running calls.
#[tokio::test]
async fn calls_that_run_longer_than_the_idle_timeout() {
    let idle = Duration::from_millis(50);
    let mut config = SessionConfig::default();
    config.keep_alive = Some(idle);
    let mut manager = LocalSessionManager::default();
    manager.session_config = config;
    let (http, gate) = bare_with(manager, StreamableHttpServerConfig::default());
    let http = http.session().await;
    // Nobody opens the gate, and yet the stream ends.
    assert!(!answered(&http.call(1, "waits", json!({})).await));
    gate.open.notify_one();

    let (server, gate) = ours();
    let http = Http::new(&server, HttpOptions::new().idle_timeout(idle)).session().await;
    let running = tokio::spawn(async move { http.call(1, "waits", json!({})).await });
    gate.begun.notified().await;
    tokio::time::sleep(idle * 10).await;
    gate.open.notify_one();
    assert!(answered(&running.await.expect("no panic")));
}

/// B: a panic leaves its request without an answer.
#[tokio::test]
async fn handlers_that_panic() {
    let bare = Bare::default();
    let (client, served) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move { bare.serve(served).await.expect("it begins").waiting().await });
    let mut client = Pipe::over_legacy(client).await;
    let (unanswered, ping) = (client.start("tools/call", json!({"name": "panics"})).await, json!({}));
    for _ in 0..10 {
        client.request("ping", ping.clone()).await;
    }
    assert!(client.heard.iter().all(|message| message["id"] != unanswered), "{:?}", client.heard);

    let (server, _gate) = ours();
    let mut client = Pipe::legacy(&server, json!({})).await;
    assert_eq!(client.call("panics", json!({})).await["isError"], true);
}

/// C: log messages go to the stream of a GET, which clients need not open.
#[tokio::test]
async fn log_messages_of_a_call() {
    for ((http, _gate), expected) in [(bare(), 1), (own(), 2)] {
        let answer = http.session().await.call(1, "logs", json!({"lines": 1})).await;
        assert_eq!(answer.messages().len(), expected, "{}", answer.body);
    }
}

/// D: sessions are answered with event streams even where JSON is asked for.
#[tokio::test]
async fn json_responses_in_sessions() {
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let (bare, _gate) = bare_with(LocalSessionManager::default(), config);
    let own = Http::new(&ours().0, HttpOptions::new().json_responses());
    for (http, expected) in [(bare, "text/event-stream"), (own, "application/json")] {
        let answer = http.session().await.call(1, "logs", json!({"lines": 0})).await;
        assert_eq!(answer.content_type(), expected);
    }
}

/// E: simple clients' `Accept` is refused.
#[tokio::test]
async fn wildcards_in_accept() {
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    let (bare, _gate) = bare_with(NeverSessionManager::default(), config);
    let own = Http::new(&ours().0, HttpOptions::new().stateless().json_responses());
    for (http, expected) in [(bare, StatusCode::NOT_ACCEPTABLE), (own, StatusCode::OK)] {
        for accept in ["*/*", "application/json"] {
            let http = http.clone().with("accept", accept);
            assert_eq!(http.call(1, "logs", json!({"lines": 0})).await.status, expected, "{accept}");
        }
    }
}

/// F: origins are not checked.
#[tokio::test]
async fn foreign_origins() {
    for ((http, _gate), expected) in [(bare(), StatusCode::OK), (own(), StatusCode::FORBIDDEN)] {
        let http = http.with("origin", "http://evil.example");
        assert_eq!(http.post(&Http::initialize()).await.status, expected);
    }
}

/// G: web pages' preflight requests are not answered.
#[tokio::test]
async fn preflight_requests() {
    for ((http, _gate), expected) in [(bare(), StatusCode::METHOD_NOT_ALLOWED), (own(), StatusCode::OK)] {
        let http = http.with("origin", "http://localhost:6274").with("access-control-request-method", "POST");
        assert_eq!(http.send("OPTIONS", "/mcp", Body::empty()).await.status(), expected);
    }
}

/// H: since 2026-07-28 only requests that ask for log messages may get any.
#[tokio::test]
async fn log_messages_nobody_asked_for() {
    for ((http, _gate), expected) in [(bare(), 2), (own(), 1)] {
        let answer = http.call_modern("logs", json!({"lines": 1})).await;
        assert_eq!(answer.messages().len(), expected, "{}", answer.body);
    }
}

/// I: the end of a session is answered with 202, which clients take for a failure.
#[tokio::test]
async fn ended_sessions() {
    for ((http, _gate), expected) in [(bare(), StatusCode::ACCEPTED), (own(), StatusCode::OK)] {
        let http = http.session().await;
        assert_eq!(http.send("DELETE", "/mcp", Body::empty()).await.status(), expected);
    }
}

/// Events of all streams, in memory.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<(String, ServerSseMessage)>>>);

#[async_trait::async_trait]
impl EventStore for Events {
    async fn store_event(&self, stream: &str, event: &ServerSseMessage) -> Result<EventId, EventStoreError> {
        let mut events = self.0.lock().expect("no panic");
        let mut event = event.clone();
        let id = events.len().to_string();
        event.event_id = Some(id.clone());
        events.push((stream.to_owned(), event));
        Ok(id)
    }

    async fn replay_events_after(&self, id: &str) -> Result<EventStream, EventStoreError> {
        let events = self.0.lock().expect("no panic");
        let after: usize = id.parse()?;
        let stream = events.get(after).map(|(stream, _)| stream.clone());
        let later = events.iter().skip(after + 1).filter(|(of, _)| Some(of) == stream.as_ref());
        let later: Vec<_> = later.map(|(_, event)| event.clone()).collect();
        Ok(Box::pin(futures::stream::iter(later)))
    }
}

/// J: who names an event gets what came after it, whoever that is.
#[tokio::test]
async fn resumption_by_strangers() {
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false);
    let manager = NeverSessionManager::default().with_event_store(Arc::new(Events::default()));
    let (http, _gate) = bare_with(manager, config);
    let answer = http.call(1, "logs", json!({"lines": 1})).await;
    assert!(answered(&answer), "{}", answer.body);
    let stranger = http.clone().with("last-event-id", "0").with("mcp-protocol-version", "2025-11-25");
    let stolen = read(stranger.send("GET", "/mcp", Body::empty()).await).await;
    assert!(answered(&stolen), "{} {}", stolen.status, stolen.body);

    let (http, _gate) = own();
    let (own, other) = (http.clone().session().await, http.session().await);
    let answer = own.call(1, "logs", json!({"lines": 1})).await;
    let (first, _) = events(&answer.body).swap_remove(0);
    let stranger = other.with("last-event-id", &first);
    let stolen = read(stranger.send("GET", "/mcp", Body::empty()).await).await;
    assert_eq!(events(&stolen.body), []);
}

/// K: a client that listens without reading holds up its own calls.
#[tokio::test]
async fn readers_that_do_not_read() {
    // For that long nothing of the bare server's call arrives; time that is too short would not be noticed.
    let while_stalled = Duration::from_secs(1);
    let (http, _gate) = bare();
    let http = http.session().await;
    let mut standalone = http.send("GET", "/mcp", Body::empty()).await;
    let mut running = tokio::spawn({
        let http = http.clone();
        async move { http.call(1, "logs", json!({"lines": 5000})).await }
    });
    assert!(tokio::time::timeout(while_stalled, &mut running).await.is_err(), "it ends though nobody reads");
    let reading = tokio::spawn(async move { while standalone.frame().await.is_some() {} });
    assert!(answered(&running.await.expect("no panic")), "it goes on when somebody reads");
    reading.abort();

    let (http, _gate) = own();
    let http = http.session().await;
    let standalone = http.send("GET", "/mcp", Body::empty()).await;
    assert!(answered(&http.call(1, "logs", json!({"lines": 5000})).await));
    drop(standalone);
}

/// L: a handler whose call is cancelled runs on.
#[tokio::test]
async fn cancelled_calls() {
    for ((http, gate), runs_on) in [(bare(), true), (own(), false)] {
        let http = http.session().await;
        let mut stream = http.begin(&call(7, "waits", json!({}))).await;
        gate.begun.notified().await;
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(http.post(&cancelled).await.status, StatusCode::ACCEPTED);
        if runs_on {
            // It knows, and yet goes on.
            gate.begun.notified().await;
            gate.open.notify_one();
            gate.begun.notified().await;
        } else {
            // The stream ends with the handler.
            while stream.frame().await.is_some() {}
            gate.open.notify_one();
        }
        assert_eq!(gate.went_on.load(Ordering::SeqCst), runs_on);
    }
}

/// N: there is no HTTP+SSE.
#[tokio::test]
async fn the_older_transport() {
    let (bare, _gate) = bare();
    assert_eq!(bare.send("GET", "/sse", Body::empty()).await.status(), StatusCode::NOT_FOUND);
    let own = Http::new(&ours().0, HttpOptions::new().legacy_sse());
    let mut stream = own.send("GET", "/sse", Body::empty()).await;
    let first = stream.frame().await.expect("an event").expect("a frame").into_data().expect("data");
    assert!(String::from_utf8_lossy(&first).contains("event: endpoint"));
}

/// O: what is no message is answered as what does not claim to be one, without an error of JSON-RPC.
#[tokio::test]
async fn bodies_that_are_no_message() {
    for ((http, _gate), expected) in [(bare(), StatusCode::UNSUPPORTED_MEDIA_TYPE), (own(), StatusCode::BAD_REQUEST)] {
        for body in ["{oops", "3"] {
            let answer = read(http.send("POST", "/mcp", Body::from(body)).await).await;
            assert_eq!(answer.status, expected, "{body}");
            assert_eq!(answer.body.contains("jsonrpc"), expected == StatusCode::BAD_REQUEST, "{}", answer.body);
        }
    }
}
