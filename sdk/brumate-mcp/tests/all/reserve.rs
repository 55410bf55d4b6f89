//! Room for large answers.

use crate::support::{Gate, Http, Pipe, text};
use brumate_mcp::{Context, Error, HttpOptions, Principal, Server, State, tool};
use serde_json::json;
use std::sync::Arc;

/// Reserves room for an answer, and waits for the gate if it should.
#[tool]
async fn reserve(bytes: usize, wait: bool, gate: State<Arc<Gate>>, context: Context) -> Result<String, Error> {
    context.reserve_response(bytes).await?;
    if wait {
        gate.started.notify_one();
        gate.open.notified().await;
    }
    Ok("reserved".to_owned())
}

#[tool]
fn reserve_blocking(bytes: usize, context: Context) -> Result<String, Error> {
    context.blocking().reserve_response(bytes).map(|()| "reserved".to_owned())
}

fn server() -> (Server, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    (Server::new("reserve").state(gate.clone()).tool(reserve).tool(reserve_blocking), gate)
}

#[tokio::test]
async fn an_answer_that_is_too_large_for_its_client_is_refused_before_the_work() {
    let (server, _) = server();
    let http = Http::new(&server, HttpOptions::new().max_pending_bytes(100_000, 1_000_000));
    let too_large =
        "an answer of 100001 bytes is more than a client may have unread (100000 bytes): ask for less at a time";
    for (bytes, expected) in [(50_000, "reserved"), (100_001, too_large)] {
        let arguments = json!({"bytes": bytes, "wait": false});
        let answers = [
            http.call_modern("reserve", arguments.clone()).await,
            http.clone().session().await.call(1, "reserve", arguments.clone()).await,
            http.call_modern("reserve_blocking", json!({"bytes": bytes})).await,
        ];
        for answer in answers {
            let result = answer.last()["result"].clone();
            assert_eq!((text(&result), &result["isError"]), (expected, &json!(bytes > 100_000)), "{bytes}");
        }
    }
    let mut client = Pipe::legacy(&server, json!({})).await;
    for (bytes, expected) in [(1 << 26, "reserved"), ((1 << 26) + 1, "ask for less at a time")] {
        let result = client.call("reserve", json!({"bytes": bytes, "wait": false})).await;
        assert!(text(&result).contains(expected), "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_waits_until_its_client_has_read_others() {
    let (server, gate) = server();
    let options = HttpOptions::new().bearer(|token| Some(Principal::new(token)));
    let http = Http::new(&server, options.max_pending_bytes(100_000, 1_000_000));
    let (ada, bob) = (http.clone().with("authorization", "Bearer ada"), http.with("authorization", "Bearer bob"));
    let first = tokio::spawn({
        let ada = ada.clone();
        async move { ada.call_modern("reserve", json!({"bytes": 60_000, "wait": true})).await }
    });
    gate.started.notified().await;
    let arguments = json!({"bytes": 60_000, "wait": false});
    // After ten seconds, which are over as soon as everything waits.
    let refused = ada.call_modern("reserve", arguments.clone()).await.last()["result"].clone();
    assert!(refused["isError"] == true && text(&refused).contains("read what was answered"), "{refused}");
    // Another principal has room of its own.
    assert_eq!(text(&bob.call_modern("reserve", arguments.clone()).await.last()["result"]), "reserved");
    let second = tokio::spawn(async move { ada.call_modern("reserve", arguments).await });
    tokio::task::yield_now().await;
    gate.open.notify_one();
    for waiting in [first, second] {
        let result = waiting.await.unwrap().last()["result"].clone();
        assert_eq!(text(&result), "reserved");
    }
}
