//! State of clients, and notifications to one client.

use crate::support::{Http, LEGACY, MODERN, Pipe, meta, read_until, text};
use axum::body::Body;
use brumate_mcp::{Context, HttpOptions, Principal, Server, Tool};
use http::Response;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn counts() -> Server {
    let count = Tool::new("count").raw_handler(|_: Value, context: Context| async move {
        let count = context.client_state::<AtomicU64>().fetch_add(1, Ordering::Relaxed);
        assert_eq!(*context.client_state::<u8>(), 0);
        format!("{} {}", count + 1, context.shares_client_state())
    });
    Server::new("counts").tool(count)
}

#[tokio::test]
async fn a_connection_has_its_state() {
    let server = counts();
    let mut clients = [Pipe::legacy(&server, json!({})).await, Pipe::modern(&server, json!({}))];
    for client in &mut clients {
        for count in 1..=3 {
            assert_eq!(text(&client.call("count", json!({})).await), format!("{count} false"));
        }
    }
    let http = Http::new(&server, HttpOptions::new());
    for _ in 0..2 {
        let session = http.clone().session().await;
        for count in 1..=3 {
            let answer = session.call(count, "count", json!({})).await.last();
            assert_eq!(text(&answer["result"]), format!("{count} false"));
        }
    }
    // Without sessions, an older protocol has nothing to keep it in.
    let stateless = Http::new(&server, HttpOptions::new().stateless()).with("mcp-protocol-version", LEGACY);
    for _ in 0..2 {
        let answer = stateless.call(1, "count", json!({})).await.last();
        assert_eq!(text(&answer["result"]), "1 false");
    }
}

#[tokio::test]
async fn since_2026_07_28_a_principal_has_its_state_over_http() {
    let server = counts();
    let options = HttpOptions::new().bearer(|token| Some(Principal::new(token)));
    let open = Http::new(&server, HttpOptions::new());
    let named = |name: &str| Http::new(&server, options.clone()).with("authorization", &format!("Bearer {name}"));
    for (http, shared) in [(named("ada"), false), (named("bob"), false), (open, true)] {
        for count in 1..=3 {
            let answer = http.call_modern("count", json!({})).await.last();
            assert_eq!(text(&answer["result"]), format!("{count} {shared}"));
        }
    }
    let answer = named("ada").call_modern("count", json!({})).await.last();
    assert_eq!(text(&answer["result"]), "4 false");
    // Another server has other clients.
    let answer = Http::new(&counts(), HttpOptions::new()).call_modern("count", json!({})).await.last();
    assert_eq!(text(&answer["result"]), "1 true");
}

/// A tool that tells its client, and only this one, of changes.
fn tells() -> Server {
    let tell = Tool::new("tell").raw_handler(|_: Value, context: Context| async move {
        context.notify_resources_changed().await;
        context.notify_tools_changed().await;
        context.notify_prompts_changed().await;
    });
    // The capabilities that listeners need.
    let all = json!({"listChanged": true});
    Server::new("tells").tool(tell).capabilities(json!({"tools": all, "resources": all, "prompts": all}))
}

fn methods(heard: &[Value]) -> Vec<&str> {
    let methods = heard.iter().filter_map(|message| message["method"].as_str());
    methods.filter_map(|method| method.strip_prefix("notifications/")).collect()
}

#[tokio::test]
async fn a_connection_alone_is_told_before_2026_07_28() {
    let server = tells();
    let mut other = Pipe::legacy(&server, json!({})).await;
    let mut client = Pipe::legacy(&server, json!({})).await;
    client.call("tell", json!({})).await;
    client.request("ping", json!({})).await;
    let expected = ["resources/list_changed", "tools/list_changed", "prompts/list_changed"];
    assert_eq!(methods(&client.heard), expected);
    other.request("ping", json!({})).await;
    assert!(other.heard.is_empty(), "{:?}", other.heard);
    // Over HTTP the session is told on its own stream.
    let http = Http::new(&server, HttpOptions::new());
    let (session, other) = (http.clone().session().await, http.session().await);
    let mut streams = Vec::new();
    for session in [&session, &other] {
        streams.push(session.send("GET", "/mcp", Body::empty()).await);
    }
    session.call(1, "tell", json!({})).await;
    read_until(&mut streams[0], "notifications/prompts/list_changed").await;
    let silent = read_until(&mut streams[1], "notifications/resources/list_changed");
    assert!(tokio::time::timeout(Duration::from_millis(100), silent).await.is_err());
}

#[tokio::test]
async fn listeners_of_a_connection_are_told_what_they_listen_for() {
    let server = tells();
    let (mut client, mut other) = (Pipe::modern(&server, json!({})), Pipe::modern(&server, json!({})));
    client.call("tell", json!({})).await;
    assert!(client.heard.is_empty(), "nobody listens: {:?}", client.heard);
    let filter = json!({"notifications": {"resourcesListChanged": true}});
    for client in [&mut client, &mut other] {
        client.start("subscriptions/listen", filter.clone()).await;
        assert_eq!(client.receive().await["method"], "notifications/subscriptions/acknowledged");
    }
    // A listener is registered a moment after its acknowledgement.
    while client.heard.is_empty() {
        client.call("tell", json!({})).await;
    }
    assert!(methods(&client.heard).iter().all(|method| *method == "resources/list_changed"), "{:?}", client.heard);
    other.request("tools/list", json!({})).await;
    assert!(other.heard.is_empty(), "{:?}", other.heard);
}

/// Begins to listen over HTTP.
async fn listen(http: &Http, id: u64) -> Response<Body> {
    let filter = json!({"resourcesListChanged": true});
    let params = json!({"notifications": filter, "_meta": meta(json!({}))});
    let http = http.clone().with("mcp-protocol-version", MODERN).with("mcp-method", "subscriptions/listen");
    http.begin(&json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params})).await
}

#[tokio::test]
async fn listeners_of_a_principal_are_told_over_http() {
    let server = tells();
    let http = Http::new(&server, HttpOptions::new().bearer(|token| Some(Principal::new(token))));
    let named = |name: &str| http.clone().with("authorization", &format!("Bearer {name}"));
    let (ada, bob) = (named("ada"), named("bob"));
    let (mut first, mut second, mut of_bob) = (listen(&ada, 1).await, listen(&ada, 2).await, listen(&bob, 1).await);
    for stream in [&mut first, &mut second, &mut of_bob] {
        read_until(stream, "notifications/subscriptions/acknowledged").await;
    }
    let told = async {
        tokio::join!(
            read_until(&mut first, "notifications/resources/list_changed"),
            read_until(&mut second, "notifications/resources/list_changed")
        )
    };
    let telling = async {
        loop {
            ada.call_modern("tell", json!({})).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        (first, second) = told => assert!(!first.is_empty() && !second.is_empty()),
        () = telling => {}
    }
    let silent = read_until(&mut of_bob, "notifications/resources/list_changed");
    assert!(tokio::time::timeout(Duration::from_millis(100), silent).await.is_err());
    // A listener that has gone away is no trouble.
    drop((first, second));
    let answer = ada.call_modern("tell", json!({})).await.last();
    assert!(answer.get("result").is_some(), "{answer}");
}

#[tokio::test]
async fn listeners_are_bounded() {
    let too_many = json!({"code": -32603, "message": "there are too many subscriptions on this connection"});
    let server = tells();
    let mut client = Pipe::modern(&server, json!({}));
    let filter = json!({"notifications": {"resourcesListChanged": true}});
    let mut first = None;
    for _ in 0..16 {
        let id = client.start("subscriptions/listen", filter.clone()).await;
        first.get_or_insert(id);
        assert_eq!(client.receive().await["method"], "notifications/subscriptions/acknowledged");
    }
    client.request("tools/list", json!({})).await;
    assert_eq!(client.request("subscriptions/listen", filter.clone()).await["error"], too_many);
    // Another connection has room, and so has this one when a listener has ended.
    let mut other = Pipe::modern(&server, json!({}));
    other.start("subscriptions/listen", filter.clone()).await;
    assert_eq!(other.receive().await["method"], "notifications/subscriptions/acknowledged");
    let first = first.expect("a listener");
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": first}})).await;
    loop {
        let id = client.start("subscriptions/listen", filter.clone()).await;
        client.request("tools/list", json!({})).await;
        if !client.heard.iter().any(|message| message["id"] == id) {
            break;
        }
    }
    // A principal has more room over HTTP.
    let http = Http::new(&server, HttpOptions::new());
    let mut streams = Vec::new();
    for id in 0..17 {
        let mut stream = listen(&http, id).await;
        read_until(&mut stream, "notifications/subscriptions/acknowledged").await;
        streams.push(stream);
    }
    let answered = read_until(&mut streams[16], "");
    assert!(tokio::time::timeout(Duration::from_millis(100), answered).await.is_err());
}
