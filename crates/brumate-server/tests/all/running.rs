//! While code runs: progress, logs, cancellation, the end of the connection.

use std::time::Duration;

use crate::support::{Client, text_of};
use brumate_engine_api::Preparing;
use brumate_session::testing::Script;
use serde_json::{Value, json};

fn call(code: &str) -> Value {
    json!({"name": "run_python_code", "arguments": {"python_code": code}})
}

fn call_with_progress(code: &str) -> Value {
    let mut params = call(code);
    params["_meta"] = json!({"progressToken": "token"});
    params
}

fn logs(client: &Client) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    client
        .notifications
        .iter()
        .filter(|message| message["method"] == "notifications/message")
        .map(|message| (text(&message["params"]["level"]), text(&message["params"]["data"])))
        .collect()
}

fn talkative() -> Script {
    Script::returning("1").imports(&["numpy"], &[]).stdout("out\nmo").stderr("err\n").stdout("re\nlast")
}

#[tokio::test]
async fn progress_carries_the_output_while_it_runs() {
    let script = Script::silent().stdout("first\n").endless();
    let mut client = Client::open(&[("code", script)]).await;
    let id = client.begin("tools/call", call_with_progress("code")).await;
    // The code never ends, so this message comes while it runs.
    let progress = client.receive().await.unwrap();
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"], json!({"progressToken": "token", "progress": 1.0, "message": "first\n"}));
    client.notify("notifications/cancelled", json!({"requestId": id})).await;
    client.finish().await.unwrap();
}

#[tokio::test]
async fn a_call_that_waits_for_the_compiler_says_so_with_numbers() {
    let mut client = Client::open(&[("code", Script::silent().endless())]).await;
    let preparing = |done| Some(Preparing { name: "numpy/linalg".to_owned(), done, total: 7 });
    // The preparation began before the call.
    client.engine.set_preparing(preparing(2));
    let id = client.begin("tools/call", call_with_progress("code")).await;
    for (sent, done) in [(1.0, 2), (2.0, 3)] {
        client.engine.set_preparing(preparing(done));
        let progress = client.receive().await.unwrap();
        let message = format!("Compiling, once: numpy/linalg ({done} of 7)\n");
        assert_eq!(progress["params"], json!({"progressToken": "token", "progress": sent, "message": message}));
    }
    client.notify("notifications/cancelled", json!({"requestId": id})).await;
    client.finish().await.unwrap();
}

#[tokio::test]
async fn progress_is_gathered_loses_nothing_and_always_grows() {
    let script = (0..5000).fold(Script::silent(), |script, number| script.stdout(&format!("line {number}\n")));
    let mut client = Client::open(&[("code", script)]).await;
    let result = client.request("tools/call", call_with_progress("code")).await["result"].clone();
    let mut last = 0.0;
    let mut text = String::new();
    let count = client.notifications.len();
    for message in std::mem::take(&mut client.notifications) {
        let progress = message["params"]["progress"].as_f64().unwrap();
        assert!(progress > last);
        last = progress;
        text.push_str(message["params"]["message"].as_str().unwrap());
    }
    assert_eq!(text, (0..5000).map(|number| format!("line {number}\n")).collect::<String>());
    assert!(count < 100, "{count} notifications");
    assert_eq!(result["structuredContent"]["output"].as_array().unwrap().len(), 5000);
}

#[tokio::test(start_paused = true)]
async fn a_silent_run_shows_signs_of_life() {
    let mut client = Client::open(&[("code", Script::silent().sleep(Duration::from_secs(12)))]).await;
    client.request("tools/call", call_with_progress("code")).await;
    let progress: Vec<_> = client.notifications.iter().map(|message| message["params"].clone()).collect();
    assert_eq!(
        progress,
        [json!({"progressToken": "token", "progress": 1.0}), json!({"progressToken": "token", "progress": 2.0})]
    );
}

#[tokio::test]
async fn nothing_is_sent_that_was_not_asked_for() {
    let mut client = Client::open(&[("code", talkative())]).await;
    client.run("code").await;
    assert_eq!(client.notifications, Vec::<Value>::new());
}

#[tokio::test]
async fn log_levels_filter() {
    let all = [
        ("debug", "Loading numpy"),
        ("debug", "Loaded numpy"),
        ("info", "out"),
        ("warning", "err"),
        ("info", "more"),
        ("info", "last"),
    ];
    for (level, allowed) in [
        ("debug", vec!["debug", "info", "warning"]),
        ("info", vec!["info", "warning"]),
        ("notice", vec!["warning"]),
        ("warning", vec!["warning"]),
        ("error", vec![]),
    ] {
        let mut client = Client::open(&[("code", talkative())]).await;
        let set = client.request("logging/setLevel", json!({"level": level})).await;
        assert_eq!(set["result"], json!({}));
        client.run("code").await;
        let expected: Vec<(String, String)> = all
            .iter()
            .filter(|(level, _)| allowed.contains(level))
            .map(|(level, text)| (level.to_string(), text.to_string()))
            .collect();
        assert_eq!(logs(&client), expected, "at {level}");
    }
    let mut client = Client::open(&[]).await;
    assert!(client.request("logging/setLevel", json!({"level": "loud"})).await.get("error").is_some());
}

#[tokio::test]
async fn modern_requests_say_themselves_what_they_want_logged() {
    let mut client = Client::open(&[("code", talkative())]).await;
    // A level that was set before does not apply to such a request.
    client.request("logging/setLevel", json!({"level": "debug"})).await;
    let mut params = call("code");
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    client.request("tools/call", params.clone()).await;
    assert_eq!(logs(&client), []);
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("warning");
    client.request("tools/call", params).await;
    assert_eq!(logs(&client), [("warning".to_owned(), "err".to_owned())]);
}

#[tokio::test]
async fn cancelling_stops_the_code_and_nothing_else() {
    let scripts = [("loop", Script::silent().endless()), ("1", Script::returning("1"))];
    let mut client = Client::open(&scripts).await;
    let first = client.begin("tools/call", call("loop")).await;
    client.begin("tools/call", call("loop")).await;
    client.until_executed(2).await;
    for _ in 0..20 {
        assert!(client.text("1").await.contains("success"));
    }
    assert_eq!(client.engine.alive(), 2);
    client.notify("notifications/cancelled", json!({"requestId": first, "reason": "bored"})).await;
    while client.engine.alive() > 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The other call still runs, and the cancelled one has no answer.
    assert!(client.text("1").await.contains("success"));
    client.shutdown.cancel();
    let engine = client.engine.clone();
    client.finish().await.unwrap();
    assert_eq!(engine.alive(), 0);
}

#[tokio::test]
async fn calls_under_way_are_answered_after_the_end_of_the_input() {
    let scripts = [("slow", Script::returning("1").sleep(Duration::from_millis(50)))];
    let mut client = Client::open(&scripts).await;
    let id = client.begin("tools/call", call("slow")).await;
    client.close_input();
    assert!(text_of(&client.answer(id).await["result"]).contains("success"));
    assert_eq!(client.receive().await, None);
    client.finish().await.unwrap();
}

#[tokio::test]
async fn a_last_line_without_an_end_counts() {
    let mut client = Client::open(&[("1", Script::returning("1"))]).await;
    let message = json!({"jsonrpc": "2.0", "id": 40, "method": "tools/call", "params": call("1")});
    client.write(&message.to_string()).await;
    client.close_input();
    assert!(text_of(&client.answer(40).await["result"]).contains("success"));
}

#[tokio::test(start_paused = true)]
async fn endless_calls_are_cancelled_after_the_end_of_the_input_and_still_answered() {
    let mut client = Client::open(&[("loop", Script::silent().stdout("so far\n").endless())]).await;
    let id = client.begin("tools/call", call("loop")).await;
    client.until_executed(1).await;
    client.close_input();
    let text = text_of(&client.answer(id).await["result"]);
    assert!(text.contains("so far") && text.contains("the call was cancelled"), "{text}");
    client.finish().await.unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_read_any_more_ends_the_server() {
    let client = Client::open(&[("loop", Script::silent().endless()), ("1", Script::returning("1"))]).await;
    let (engine, server) = client.hang_up(call("loop"), call("1")).await;
    server.await.unwrap().unwrap();
    assert_eq!(engine.alive(), 0);
}
