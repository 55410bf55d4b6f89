//! Requests and their time limits.

use std::sync::atomic::Ordering;
use std::time::Duration;

use brumate_python_server::stdio::StdioOptions;
use serde_json::{Value, json};

use super::client::{Client, options, tool_error};
use crate::scripted::{ScriptedLauncher, ScriptedServer, exited};

#[tokio::test]
async fn messages_pass_in_both_directions_unchanged() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        let request = server.receive().await.unwrap();
        assert_eq!(request["params"]["x"], json!("é\u{2028}"));
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1.50}}"#).await;
        server.send(r#"{ "jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}"#).await;
        let answer = server.receive().await.unwrap();
        assert_eq!((&answer["id"], &answer["result"]["n"]), (&json!("s1"), &json!(1)));
        server.send(r#"[{"id":7,"jsonrpc":"2.0","result":{"a":1E2}},{"jsonrpc":"2.0","method":"m"}]"#).await;
        server.receive().await;
        exited(0)
    });
    let mut client = Client::connect(launcher, options(60)).await;
    client.line("  ").await;
    client.line("[{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"x\":\"é\u{2028}\"}}]").await;
    assert_eq!(client.receive().await["params"]["data"].to_string(), "1.5");
    assert_eq!(client.receive().await["id"], "s1");
    client.line(r#"{"jsonrpc":"2.0","id":"unknown","result":{}}"#).await;
    client.line(r#"{"jsonrpc":"2.0","id":"s1","result":{"n":1}}"#).await;
    assert_eq!(client.receive().await["id"], 7);
    assert_eq!(client.receive().await["method"], "m");
    let (lines, end) = client.close().await;
    assert!(lines.is_empty(), "{lines:?}");
    assert_eq!(end, exited(0));
}

#[tokio::test]
async fn what_is_no_message_is_answered_by_the_host() {
    let launcher = ScriptedLauncher::default().then_stdio(ScriptedServer::echo);
    let mut client = Client::connect(launcher, options(60)).await;
    let deep =
        format!(r#"{{"jsonrpc":"2.0","method":"m","params":{}1{},"id":"deep"}}"#, "[".repeat(200), "]".repeat(200));
    for (line, id, code) in [
        ("{oops", Value::Null, -32700),
        ("[]", Value::Null, -32600),
        (r#"{"id":1}"#, json!(1), -32600),
        ("3", Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","method":"m","params":{"a":},"id":4}"#, json!(4), -32700),
        (r#"{"jsonrpc":"2.0","method":7,"id":5}"#, json!(5), -32600),
        (r#"{"jsonrpc":"2.0","method":"m","id":1.5}"#, json!(1.5), -32600),
        (&deep, json!("deep"), -32600),
    ] {
        client.line(line).await;
        let answer = client.receive().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{line}");
    }
    // No server could read it.
    client.line(r#"{"jsonrpc":"2.0","method":"a\ud800","id":6}"#).await;
    assert_eq!(client.receive().await["result"]["method"], "a\u{fffd}");
    assert_eq!(client.ask(json!(1), "ping").await["result"]["method"], "ping");
    assert_eq!(client.close().await.1, exited(0));
}

#[tokio::test]
async fn an_id_in_use_is_refused() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        let first = server.receive().await.unwrap();
        // The second request with this id never comes.
        let last = server.receive().await.unwrap();
        assert_eq!(last["id"], 2);
        server.answer(&first).await;
        server.answer(&last).await;
        server.receive().await;
        exited(0)
    });
    let mut client = Client::connect(launcher, options(60)).await;
    client.request(json!(1), "a").await;
    let refused = client.ask(json!(1), "b").await;
    assert_eq!(refused["error"]["code"], -32600);
    client.request(json!(2), "c").await;
    assert_eq!(client.receive().await["result"]["method"], "a");
    assert_eq!(client.receive().await["result"]["method"], "c");
    assert_eq!(client.close().await.1, exited(0));
}

#[tokio::test]
async fn a_waiting_request_is_cancelled_at_its_time_limit() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        let slow = server.receive().await.unwrap();
        let cancelled = server.receive().await.unwrap();
        assert_eq!(cancelled["params"]["requestId"], 1);
        server.echo_after(slow).await
    });
    let mut client =
        Client::connect(launcher, StdioOptions { request_timeout: Duration::from_millis(50), ..options(0) }).await;
    let text = "The request was stopped at its time limit of 0.05 seconds (`timeout`).";
    assert_eq!(client.ask(json!(1), "tools/call").await, tool_error(1, text));
    assert_eq!(client.ask(json!(2), "ping").await["result"]["method"], "ping");
    assert_eq!(client.launcher.kills.load(Ordering::SeqCst), 0);
    assert_eq!(client.close().await, (vec![], exited(0)));
}

#[tokio::test]
async fn a_busy_server_is_interrupted_and_goes_on() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        let busy = server.receive().await.unwrap();
        server.interrupted.notified().await;
        server.echo_after(busy).await
    });
    let mut client =
        Client::connect(launcher, StdioOptions { request_timeout: Duration::from_millis(50), ..options(0) }).await;
    client.request(json!(1), "resources/read").await;
    assert_eq!(client.receive().await["error"]["code"], -32001);
    client.ask_until_answered("ping").await;
    assert!(client.launcher.interrupts.load(Ordering::SeqCst) > 0);
    assert_eq!(client.close().await, (vec![], exited(0)));
}

#[tokio::test]
async fn a_busy_server_is_interrupted_when_its_last_request_is_cancelled() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        let busy = server.receive().await.unwrap();
        server.interrupted.notified().await;
        server.echo_after(busy).await
    });
    let mut client = Client::connect(launcher, options(3600)).await;
    client.request(json!(1), "tools/call").await;
    client.notify("notifications/cancelled", json!({ "requestId": 1 })).await;
    // As from CPython, the answer of a cancelled request may still come.
    assert_eq!(client.receive().await["id"], 1);
    assert_eq!(client.ask(json!(2), "ping").await["id"], 2);
    assert_eq!(client.close().await.1, exited(0));
}

#[tokio::test(start_paused = true)]
async fn the_clock_stands_still_while_the_client_is_asked() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        let call = server.receive().await.unwrap();
        server.send(r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}"#).await;
        server.receive().await.unwrap();
        server.echo_after(call).await
    });
    let mut client = Client::connect(launcher, options(10)).await;
    client.request(json!(1), "tools/call").await;
    assert_eq!(client.receive().await["method"], "elicitation/create");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    client.line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    assert_eq!(client.receive().await["result"]["method"], "tools/call");
    assert_eq!(client.close().await.1, exited(0));
}

#[tokio::test]
async fn open_requests_are_answered_after_the_end_of_the_input() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        let request = server.receive().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        server.echo_after(request).await
    });
    let mut client = Client::connect(launcher, options(60)).await;
    client.request(json!(1), "tools/call").await;
    let (lines, end) = client.close().await;
    assert_eq!((lines.len(), end), (1, exited(0)));
    assert!(lines[0].contains("\"method\":\"tools/call\""));
}
