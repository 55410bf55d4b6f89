//! Input requests of running code, with protocols before and since 2026-07-28.

use std::time::Duration;

use crate::support::{Client, engine, text_of};
use brumate_server::ToolSet;
use brumate_session::MAX_INPUT_REQUESTS;
use brumate_session::testing::{FakeEngine, Script};
use serde_json::{Value, json};

fn scripts() -> FakeEngine {
    let endless = (0..=MAX_INPUT_REQUESTS).fold(Script::silent(), |script, _| script.asks("again? ", false));
    engine(&[
        ("ask", Script::returning("1").stdout("hello ").asks("name? ", false).stdout("!")),
        ("password", Script::silent().asks("Password: ", true)),
        ("twice", Script::silent().asks("a", false).asks("b", false)),
        ("again", endless),
        ("1", Script::returning("1")),
    ])
}

async fn legacy(capabilities: Value) -> Client {
    let mut client = Client::connect_interpreter(scripts(), ToolSet::All).await;
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
    client.request("initialize", params).await;
    client.notify("notifications/initialized", json!({})).await;
    client
}

/// Starts a cell. Returns the id of its request.
async fn begin(client: &mut Client, code: &str) -> i64 {
    client.begin("tools/call", json!({"name": "execute_code", "arguments": {"code": code}})).await
}

/// Returns the id and the parameters of the next elicitation request.
async fn question(client: &mut Client) -> (Value, Value) {
    loop {
        let message = client.receive().await.expect("a question");
        if message["method"] == "elicitation/create" {
            return (message["id"].clone(), message["params"].clone());
        }
        assert!(message.get("id").is_none(), "{message}");
    }
}

async fn reply(client: &mut Client, id: &Value, result: Value) {
    client.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
}

fn accept(value: &str) -> Value {
    json!({"action": "accept", "content": {"value": value}})
}

async fn cell(client: &mut Client, id: i64) -> Value {
    client.answer(id).await["result"]["structuredContent"].clone()
}

#[tokio::test]
async fn a_client_is_asked_during_the_call() {
    let mut client = legacy(json!({"elicitation": {}})).await;
    let call = begin(&mut client, "ask").await;
    let (id, params) = question(&mut client).await;
    assert_eq!(params["message"], "Python code asks for input: name?");
    assert_eq!(params["requestedSchema"]["properties"]["value"]["type"], "string");
    reply(&mut client, &id, accept("Ada")).await;
    let answer = cell(&mut client, call).await;
    assert_eq!((&answer["success"], &answer["output"]), (&json!(true), &json!(["hello Ada!"])), "{answer}");

    let call = begin(&mut client, "password").await;
    let (id, params) = question(&mut client).await;
    assert_eq!(params["message"], "Python code asks for a password: Password:");
    reply(&mut client, &id, accept("hunter2")).await;
    assert_eq!(cell(&mut client, call).await["output"], json!(["hunter2"]));

    // The same in a fresh interpreter.
    let call =
        client.begin("tools/call", json!({"name": "run_python_code", "arguments": {"python_code": "ask"}})).await;
    let (id, _) = question(&mut client).await;
    reply(&mut client, &id, accept("Bob")).await;
    assert!(text_of(&client.answer(call).await["result"]).contains("hello Bob!"));
}

#[tokio::test]
async fn who_declines_gives_no_input_and_who_dismisses_stops_the_code() {
    for (answer, error, output) in [
        (json!({"action": "decline"}), "EOFError: EOF when reading a line", "hello "),
        (json!({"action": "cancel"}), "KeyboardInterrupt", "[the question was dismissed]"),
    ] {
        let mut client = legacy(json!({"elicitation": {"form": {}}})).await;
        let call = begin(&mut client, "ask").await;
        let (id, _) = question(&mut client).await;
        reply(&mut client, &id, answer).await;
        let answer = cell(&mut client, call).await;
        assert!(answer["error"].as_str().unwrap().starts_with(error), "{answer}");
        assert!(answer["output"].to_string().contains(output), "{answer}");
    }
    let mut client = legacy(json!({"elicitation": {}})).await;
    let call = begin(&mut client, "ask").await;
    let (id, _) = question(&mut client).await;
    client.send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no window"}})).await;
    let answer = cell(&mut client, call).await;
    assert!(answer["output"].to_string().contains("the client could not ask: "), "{answer}");
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_not_asked() {
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}}), json!({"sampling": {}})] {
        let mut client = legacy(capabilities).await;
        let call = begin(&mut client, "1").await;
        client.answer(call).await;
        assert!(!client.engine.executed()[0].allow_stdin);
    }
}

#[tokio::test]
async fn a_question_is_taken_back_when_the_code_is_stopped_or_nobody_answers() {
    let mut client = legacy(json!({"elicitation": {}})).await;
    let first = client.tool("execute_code", json!({"code": "1"})).await;
    let session = first["structuredContent"]["session_info"]["session_id"].clone();
    let arguments = json!({"code": "ask", "session_id": session});
    let call = client.begin("tools/call", json!({"name": "execute_code", "arguments": arguments})).await;
    let (asked, _) = question(&mut client).await;
    let interrupted =
        client.begin("tools/call", json!({"name": "interrupt", "arguments": {"session_id": session}})).await;
    let (mut answers, mut taken_back) = (0, None);
    while answers < 2 || taken_back.is_none() {
        let message = client.receive().await.unwrap();
        answers += usize::from(message["id"] == json!(call) || message["id"] == json!(interrupted));
        if message["method"] == "notifications/cancelled" {
            taken_back = Some(message["params"]["requestId"].clone());
        }
    }
    assert_eq!(taken_back, Some(asked));

    let mut client = Client::with_input_timeout(scripts(), Duration::from_millis(50)).await;
    let call = begin(&mut client, "ask").await;
    let (id, _) = question(&mut client).await;
    let answer = cell(&mut client, call).await;
    assert!(answer["output"].to_string().contains("nobody answered within 0.05 s (set by `input_timeout`"), "{answer}");
    // This answer comes too late.
    reply(&mut client, &id, accept("late")).await;
    let call = begin(&mut client, "1").await;
    assert_eq!(cell(&mut client, call).await["success"], true);
}

#[tokio::test]
async fn nobody_is_asked_for_ever() {
    let mut client = legacy(json!({"elicitation": {}})).await;
    let call = begin(&mut client, "again").await;
    for _ in 0..MAX_INPUT_REQUESTS {
        let (id, _) = question(&mut client).await;
        reply(&mut client, &id, accept("x")).await;
    }
    let answer = cell(&mut client, call).await;
    assert_eq!(answer["error"], "EOFError: EOF when reading a line");
}

/// Returns the parameters of a request of protocol 2026-07-28.
fn modern(code: &str, more: Value) -> Value {
    let mut params = json!({
        "name": "execute_code",
        "arguments": {"code": code},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        },
    });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

/// Starts a call that asks for input. Returns its `requestState` and its input request.
async fn asked(client: &mut Client, code: &str) -> (Value, Value) {
    let required = client.request("tools/call", modern(code, json!({}))).await["result"].clone();
    assert_eq!(required["resultType"], "input_required", "{required}");
    (required["requestState"].clone(), required["inputRequests"]["input"].clone())
}

#[tokio::test]
async fn since_2026_the_call_is_repeated_with_the_answer() {
    let mut client = Client::connect_interpreter(scripts(), ToolSet::All).await;
    let (state, request) = asked(&mut client, "twice").await;
    assert_eq!(request["method"], "elicitation/create");
    assert_eq!(request["params"]["message"], "Python code asks for input: a");
    // A request without the input is asked again. Input of another call, and malformed input, is refused.
    let again = client.request("tools/call", modern("twice", json!({"requestState": state}))).await;
    assert_eq!((&again["result"]["requestState"], &again["result"]["inputRequests"]["input"]), (&state, &request));
    let with = |answer: Value, state: &Value| json!({"requestState": state, "inputResponses": {"input": answer}});
    let other = client.request("tools/call", modern("1", with(accept("x"), &state))).await;
    assert_eq!(other["error"]["code"], -32602, "{other}");
    let nonsense = client.request("tools/call", modern("twice", with(json!({"action": "hunter2"}), &state))).await;
    assert_eq!(nonsense["error"]["code"], -32602);
    assert!(!nonsense.to_string().contains("hunter2"));

    let next = client.request("tools/call", modern("twice", with(accept("A"), &state))).await["result"].clone();
    assert_eq!(next["inputRequests"]["input"]["params"]["message"], "Python code asks for input: b");
    assert_ne!(next["requestState"], state);
    let ended = client.request("tools/call", modern("twice", with(accept("B"), &next["requestState"]))).await;
    assert_eq!(ended["result"]["structuredContent"]["output"], json!(["AB"]), "{ended}");
    assert_eq!(client.engine.executed().len(), 1, "it ran once");
    // Each answer is accepted once.
    for state in [&state, &next["requestState"], &json!("made up")] {
        let late = client.request("tools/call", modern("twice", with(accept("C"), state))).await["result"].clone();
        assert!(text_of(&late).contains("no longer waits for this input"), "{late}");
        assert_eq!(late["isError"], true);
    }
    // A state as another server behind the same address makes it.
    let foreign = json!(format!("{}.{}", "A".repeat(8), "A".repeat(24)));
    let elsewhere = client.request("tools/call", modern("twice", with(accept("C"), &foreign))).await["result"].clone();
    assert!(text_of(&elsewhere).contains("does not run the code that asked"), "{elsewhere}");
    let (state, _) = asked(&mut client, "ask").await;
    let ended = client.request("tools/call", modern("ask", with(json!({"action": "cancel"}), &state))).await;
    let answer = &ended["result"]["structuredContent"];
    assert!(answer["error"].as_str().unwrap().starts_with("KeyboardInterrupt"), "{answer}");
}

#[tokio::test]
async fn code_whose_client_never_comes_back_ends() {
    let mut client = Client::connect_with_input_timeout(scripts(), ToolSet::All, Duration::from_millis(50)).await;
    let (state, _) = asked(&mut client, "ask").await;
    // Sessions are free again when the code has ended.
    let sessions = client.sessions.clone().unwrap();
    while sessions.list("local").await.iter().any(|session| session.executions == 0) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let answer = json!({"requestState": state, "inputResponses": {"input": accept("late")}});
    let late = client.request("tools/call", modern("ask", answer)).await;
    assert!(text_of(&late["result"]).contains("came too late"), "{late}");
    // When a client disconnects, its waiting calls end at once.
    let mut client = Client::connect_interpreter(scripts(), ToolSet::All).await;
    asked(&mut client, "ask").await;
    client.finish().await.unwrap();
}
