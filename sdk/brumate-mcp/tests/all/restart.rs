//! Sessions that outlive their process.
//!
//! The end of a process is the copy of its store at that instant, which another server opens. `http_call_cases.py` kills one.

use crate::support::{Http, call, read_until};
use axum::body::Body;
use brumate_mcp::{Content, Context, HttpOptions, Principal, Server, SqliteEventStore, State, tool};
use http::StatusCode;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::Notify;

/// Logs twice, and never returns.
#[tool]
async fn two_steps(context: Context, gate: State<Arc<Notify>>) -> Content {
    context.info("nobody wants this").await;
    context.warning("one").await;
    gate.notified().await;
    context.warning("two").await;
    std::future::pending().await
}

/// Logs in two levels.
#[tool]
async fn logs(context: Context) -> Content {
    context.info("nobody wants this").await;
    context.warning("a warning").await;
    Content::text("logged")
}

fn serve(store: &Path) -> (Http, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let server = Server::new("restart").state(gate.clone()).tool(two_steps).tool(logs);
    let known = |token: &str| ["ada", "bob"].contains(&token).then(|| Principal::new(token));
    let store = Arc::new(SqliteEventStore::open(store).expect("a store"));
    (Http::new(&server, HttpOptions::new().bearer(known).event_store(store)), gate)
}

/// A directory of its owner alone.
fn place() -> TempDir {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o700)).expect("a mode");
    place
}

/// What `client` is, at another server.
fn with_headers_of(mut http: Http, client: &Http) -> Http {
    http.headers.clone_from(&client.headers);
    http
}

/// The store as it is now, for another process.
fn died(store: &Path) -> TempDir {
    let copy = place();
    for file in std::fs::read_dir(store).expect("files") {
        let file = file.expect("a file");
        std::fs::copy(file.path(), copy.path().join(file.file_name())).expect("a copy");
    }
    copy
}

#[tokio::test]
async fn a_client_goes_on_where_it_was() {
    let first = place();
    let (http, gate) = serve(first.path());
    let ada = http.with("authorization", "Bearer ada").session().await;
    let set = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "warning"}});
    assert!(ada.post(&set).await.last().get("result").is_some());
    let mut stream = ada.begin(&call(2, "two_steps", json!({}))).await;
    let heard = read_until(&mut stream, "notifications/message").await;
    let (seen, message) = heard.last().expect("a message").clone();
    assert_eq!(message["params"]["data"], "one");
    gate.notify_one();
    let heard = read_until(&mut stream, "notifications/message").await;
    assert_eq!(heard.last().expect("a message").1["params"]["data"], "two");
    let second = died(first.path());

    // The next process knows the session, whose client has not seen the second message.
    let (http, _) = serve(second.path());
    let again = with_headers_of(http, &ada);
    let mut lost = again.clone().with("last-event-id", &seen).send("GET", "/mcp", Body::empty()).await;
    assert_eq!(lost.status(), StatusCode::OK);
    let heard = read_until(&mut lost, "").await;
    let messages: Vec<_> = heard.iter().map(|(_, message)| message).filter(|message| !message.is_null()).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[0]["params"]["data"], "two");
    assert_eq!(messages[1]["id"], 2);
    let error = messages[1]["error"]["message"].as_str().expect("an error");
    assert!(error.contains("the server ended while it worked on this request"), "{error}");
    // What it has said before holds, and new requests are answered on new streams.
    let logged = again.call(3, "logs", json!({})).await;
    let data: Vec<_> = logged.messages().iter().map(|message| message["params"]["data"].clone()).collect();
    assert_eq!(data, [json!("a warning"), json!(null)], "{}", logged.body);
    assert_eq!(logged.last()["result"]["content"][0]["text"], "logged");

    // For others there is no such session, in either process.
    let third = died(second.path());
    let (http, _) = serve(third.path());
    let again = with_headers_of(http, &ada);
    let bob = again.clone().with("authorization", "Bearer bob");
    for method in ["GET", "DELETE"] {
        let answer = bob.clone().with("last-event-id", &seen).send(method, "/mcp", Body::empty()).await;
        assert!(method == "DELETE" || answer.status() == StatusCode::NOT_FOUND, "{}", answer.status());
    }
    assert_eq!(bob.call(4, "logs", json!({})).await.status, StatusCode::NOT_FOUND);
    // Its own client ends it, for all processes that come.
    assert_eq!(again.call(4, "logs", json!({})).await.last()["result"]["content"][0]["text"], "logged");
    assert_eq!(again.send("DELETE", "/mcp", Body::empty()).await.status(), StatusCode::OK);
    let fourth = died(third.path());
    let (http, _) = serve(fourth.path());
    let ended = with_headers_of(http, &ada);
    assert_eq!(ended.call(5, "logs", json!({})).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_session_that_is_being_restored_is_not_seen_by_others() {
    let first = place();
    let (http, _) = serve(first.path());
    let ada = http.with("authorization", "Bearer ada").session().await;
    let answer = ada.call(1, "logs", json!({})).await;
    assert_eq!(answer.last()["result"]["content"][0]["text"], "logged");
    let second = died(first.path());

    // The requests of others come while the owner's request restores the session.
    let (http, _) = serve(second.path());
    let ada = with_headers_of(http, &ada);
    let bob = ada.clone().with("authorization", "Bearer bob");
    let resuming = bob.clone().with("last-event-id", "1-0");
    let (mine, listened, resumed, called) = tokio::join!(
        ada.call(2, "logs", json!({})),
        bob.send("GET", "/mcp", Body::empty()),
        resuming.send("GET", "/mcp", Body::empty()),
        bob.call(3, "logs", json!({})),
    );
    assert_eq!(mine.last()["result"]["content"][0]["text"], "logged");
    assert_eq!(listened.status(), StatusCode::NOT_FOUND);
    assert_eq!(resumed.status(), StatusCode::NOT_FOUND);
    assert_eq!(called.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_idle_session_is_forgotten_everywhere() {
    let place = place();
    let known = |_: &str| Some(Principal::new("ada"));
    let store = Arc::new(SqliteEventStore::open(place.path()).expect("a store"));
    let options = HttpOptions::new().bearer(known).event_store(store).idle_timeout(Duration::from_millis(20));
    let http = Http::new(&Server::new("idle").tool(logs), options);
    let ada = http.with("authorization", "Bearer ada").session().await;
    while ada.app.session_count() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(ada.call(1, "logs", json!({})).await.status, StatusCode::NOT_FOUND);
}
