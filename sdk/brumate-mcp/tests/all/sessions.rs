//! Sessions over HTTP: what rmcp's own do otherwise (measured with 3.8.0), and what ends them.

use crate::support::{Gate, Http, call, events, read, read_until, waits};
use axum::body::Body;
use brumate_mcp::{Content, Context, HttpOptions, ResumptionLimits, Server, State, tool};
use http::StatusCode;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Logs before it returns.
#[tool]
async fn logs(context: Context) -> Content {
    context.info("one").await;
    context.warning("two").await;
    context.progress(1.0, None).await;
    Content::text("logged")
}

/// Logs much.
#[tool]
async fn floods(lines: u32, context: Context) -> Content {
    for line in 0..lines {
        context.info(line).await;
    }
    Content::text("flooded")
}

/// Lets go of its connection.
#[tool]
async fn releases(context: Context, gate: State<Arc<Gate>>) -> Content {
    context.release_connection();
    gate.open.notified().await;
    Content::text("released")
}

fn gated() -> (Server, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    (Server::new("sessions").state(gate.clone()).tool(waits).tool(logs).tool(floods).tool(releases), gate)
}

fn server() -> Server {
    gated().0
}

/// A: rmcp's idle timer cuts calls that run longer than it.
#[tokio::test]
async fn a_session_with_a_running_call_is_not_idle() {
    let idle = Duration::from_millis(20);
    let (server, gate) = gated();
    let http = Http::new(&server, HttpOptions::new().idle_timeout(idle)).session().await;
    let running = tokio::spawn({
        let http = http.clone();
        async move { http.call(1, "waits", json!({})).await }
    });
    gate.started.notified().await;
    // Many times as long as an idle session lives.
    tokio::time::sleep(idle * 20).await;
    gate.open.notify_one();
    let answer = running.await.expect("no panic").last();
    assert_eq!(answer["result"]["content"][0]["text"], "through", "{answer}");
    // Nothing runs now: the session ends, and is then unknown.
    while http.call(2, "none", json!({})).await.status != StatusCode::NOT_FOUND {
        tokio::time::sleep(idle * 4).await;
    }
}

/// Clients that never end their sessions do not fill the memory until the idle timeout.
#[tokio::test]
async fn of_many_idle_sessions_the_oldest_ends_for_a_new_one() {
    let (server, gate) = gated();
    let http = Http::new(&server, HttpOptions::new().max_idle_sessions(3, Duration::ZERO));
    let busy = http.clone().session().await;
    let running = tokio::spawn({
        let busy = busy.clone();
        async move { busy.call(1, "waits", json!({})).await }
    });
    gate.started.notified().await;
    let mut idle = Vec::new();
    for _ in 0..6 {
        idle.push(http.clone().session().await);
    }
    let mut statuses = Vec::new();
    for session in &idle {
        statuses.push(session.call(1, "logs", json!({})).await.status.as_u16());
    }
    assert_eq!(statuses, [404, 404, 404, 404, 200, 200]);
    gate.open.notify_one();
    let answer = running.await.expect("no panic").last();
    assert_eq!(answer["result"]["content"][0]["text"], "through", "a session with a call is not idle: {answer}");
}

/// C: rmcp sends log messages to the stream of a GET, which clients need not open.
#[tokio::test]
async fn log_messages_come_with_the_answer_they_belong_to() {
    let http = Http::new(&server(), HttpOptions::new()).session().await;
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "logs", "arguments": {}, "_meta": {"progressToken": "p"}},
    });
    let messages = http.post(&message).await.messages();
    let methods: Vec<_> = messages.iter().map(|message| message["method"].as_str().unwrap_or("answer")).collect();
    assert_eq!(methods, ["notifications/message", "notifications/message", "notifications/progress", "answer"]);
    assert_eq!((&messages[0]["params"]["data"], &messages[1]["params"]["level"]), (&json!("one"), &json!("warning")));
}

/// D: rmcp answers sessions with event streams even where JSON is asked for.
#[tokio::test]
async fn json_responses_are_json_in_sessions_too() {
    let http = Http::new(&server(), HttpOptions::new().json_responses()).session().await;
    let answer = http.call(1, "floods", json!({"lines": 0})).await;
    assert_eq!((answer.status, answer.content_type()), (StatusCode::OK, "application/json"));
    assert_eq!(answer.last()["result"]["content"][0]["text"], "flooded");
    // More than an answer is a stream still.
    let answer = http.call(2, "logs", json!({})).await;
    assert_eq!((answer.content_type(), answer.messages().len()), ("text/event-stream", 3));
}

/// I: rmcp answers 202, which clients take for a failure.
#[tokio::test]
async fn a_deleted_session_has_ended_when_that_is_answered() {
    let http = Http::new(&server(), HttpOptions::new()).session().await;
    let answer = read(http.send("DELETE", "/mcp", Body::empty()).await).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(http.call(1, "logs", json!({})).await.status, StatusCode::NOT_FOUND);
}

/// J: a stream is resumed by its own session only.
#[tokio::test]
async fn a_lost_stream_is_resumed_by_its_session_only() {
    let server = server();
    let http = Http::new(&server, HttpOptions::new());
    let (own, other) = (http.clone().session().await, http.session().await);
    let answer = own.call(1, "logs", json!({})).await;
    let all = events(&answer.body);
    let (first, rest) = (all[1].0.clone(), all[2..].to_vec());
    let resume = async |http: &Http, id: &str| {
        let http = http.clone().with("last-event-id", id);
        events(&read(http.send("GET", "/mcp", Body::empty()).await).await.body)
    };
    let resumed = resume(&own, &first).await;
    assert_eq!(resumed[1..], rest, "after an empty event, what was missed");
    // Anything else is an error: a client that hears nothing would wait for its answer.
    for (http, id) in [(&other, first.as_str()), (&own, "1-999"), (&own, "9-0"), (&own, "nonsense")] {
        let refused = http.clone().with("last-event-id", id).send("GET", "/mcp", Body::empty()).await;
        let refused = read(refused).await;
        assert_eq!((refused.status, events(&refused.body)), (StatusCode::BAD_REQUEST, vec![]), "{id}");
        assert!(refused.body.contains("Last-Event-ID"), "{}", refused.body);
    }
}

#[tokio::test]
async fn what_is_kept_to_be_resumed_is_bounded_and_the_answer_is_kept() {
    let mut resumption = ResumptionLimits::default();
    resumption.max_events = 3;
    let http = Http::new(&server(), HttpOptions::new().resumption(resumption)).session().await;
    // The connection is lost before anything is read.
    drop(http.begin(&call(1, "floods", json!({"lines": 100}))).await);
    let http = http.with("last-event-id", "1-0");
    let mut resumed = http.send("GET", "/mcp", Body::empty()).await;
    let messages = read_until(&mut resumed, "").await;
    assert!(messages.last().expect("messages").1["result"].is_object());
    assert!(messages.len() <= 102, "{}", messages.len());
    let again = read(http.send("GET", "/mcp", Body::empty()).await).await;
    assert_eq!(again.messages().len(), 3);
}

/// K: with rmcp a reader that does not read can stall its session.
#[tokio::test]
async fn who_does_not_read_holds_up_nobody() {
    let http = Http::new(&server(), HttpOptions::new()).session().await;
    let unread = http.begin(&call(1, "floods", json!({"lines": 5000}))).await;
    let standalone = http.send("GET", "/mcp", Body::empty()).await;
    let answer = http.call(2, "floods", json!({"lines": 5000})).await.last();
    assert_eq!(answer["result"]["content"][0]["text"], "flooded");
    drop((unread, standalone));
}

/// L: with rmcp a cancelled handler runs on.
#[tokio::test]
async fn cancelling_ends_the_handler_and_so_does_the_end_of_its_session() {
    for by_session in [false, true] {
        let (server, gate) = gated();
        let http = Http::new(&server, HttpOptions::new()).session().await;
        let running = tokio::spawn({
            let http = http.clone();
            async move { http.call(7, "waits", json!({})).await }
        });
        gate.started.notified().await;
        if by_session {
            read(http.send("DELETE", "/mcp", Body::empty()).await).await;
        } else {
            let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
            assert_eq!(http.post(&cancelled).await.status, StatusCode::ACCEPTED);
        }
        gate.dropped.notified().await;
        // Its stream ends without an answer.
        let answer = running.await.expect("no panic");
        assert!(answer.messages().iter().all(|message| message["result"].is_null()), "{}", answer.body);
    }
}

#[tokio::test]
async fn since_2026_07_28_who_hangs_up_has_cancelled() {
    let (server, gate) = gated();
    let http = Http::new(&server, HttpOptions::new());
    let running = tokio::spawn(async move { http.call_modern("waits", json!({})).await });
    gate.started.notified().await;
    running.abort();
    gate.dropped.notified().await;
}

#[tokio::test]
async fn a_call_that_lets_go_of_its_connection_is_answered_later() {
    let (server, gate) = gated();
    let http = Http::new(&server, HttpOptions::new().retry(Duration::from_millis(5))).session().await;
    let message = call(1, "releases", json!({}));
    let left = read(http.begin(&message).await).await;
    let (id, empty) = events(&left.body).pop().expect("an event");
    assert!(empty.is_null() && left.body.replace(' ', "").contains("retry:5\n"), "{}", left.body);
    let mut resumed = http.clone().with("last-event-id", &id).send("GET", "/mcp", Body::empty()).await;
    // Opened only now: the answer comes by the new connection.
    gate.open.notify_one();
    let messages = read_until(&mut resumed, "").await;
    assert_eq!(messages.last().expect("messages").1["result"]["content"][0]["text"], "released");
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let http = Http::new(&server(), HttpOptions::new().max_sessions(1));
    let first = http.clone().session().await;
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let refused = http.post(&message).await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers.contains_key("retry-after"));
    read(first.send("DELETE", "/mcp", Body::empty()).await).await;
    assert_eq!(http.post(&message).await.status, StatusCode::OK);
}

#[tokio::test]
async fn draining_lets_running_calls_end_and_refuses_new_ones() {
    let (server, gate) = gated();
    let http = Http::new(&server, HttpOptions::new()).session().await;
    let running = tokio::spawn({
        let http = http.clone();
        async move { http.call(1, "waits", json!({})).await }
    });
    gate.started.notified().await;
    let draining = tokio::spawn({
        let app = http.app.clone();
        async move { app.drain().await }
    });
    while http.call(2, "none", json!({})).await.status != StatusCode::SERVICE_UNAVAILABLE {
        tokio::task::yield_now().await;
    }
    gate.open.notify_one();
    assert_eq!(running.await.expect("no panic").last()["result"]["content"][0]["text"], "through");
    draining.await.expect("drained");
}

/// Lifespans start once, whatever the number of sessions, and stop in reverse.
#[tokio::test]
async fn lifespans_start_once_and_stop() {
    struct First(Arc<Semaphore>);
    struct Second;
    let started = Arc::new(Semaphore::new(0));
    let (counts, stopped) = (started.clone(), Arc::new(Semaphore::new(0)));
    let stops = stopped.clone();
    let server = Server::new("lifespans")
        .lifespan(
            move || async move {
                counts.add_permits(1);
                Ok::<_, std::io::Error>(First(stops))
            },
            async |first| first.0.add_permits(1),
        )
        .lifespan(|| async { Ok::<_, std::io::Error>(Second) }, async |_| {})
        .tool(logs);
    let http = Http::new(&server, HttpOptions::new());
    for id in 0..3 {
        http.clone().session().await.call(id, "logs", json!({})).await;
    }
    assert_eq!(started.available_permits(), 1);
    http.app.stop().await;
    assert_eq!(stopped.available_permits(), 1);
    http.app.stop().await;
    assert_eq!(stopped.available_permits(), 1);

    let broken = Server::new("broken")
        .lifespan(|| async { Err::<u8, _>(std::io::Error::other("no database")) }, async |_| {})
        .tool(logs);
    let error = broken.start().await.expect_err("it cannot start").to_string();
    assert_eq!(error, "the server's start failed: no database");
}
