//! State of clients, and notifications to one client.

use crate::support::{Http, LEGACY, Pipe, text};
use brumate_mcp::{Context, HttpOptions, Principal, Server, Tool};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

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
