//! Calls that continue as tasks.

use std::time::Duration;

use crate::support::{Client, engine};
use brumate_session::testing::{FakeEngine, Script};
use serde_json::{Value, json};

/// Time after which no call of a test becomes a task.
const NEVER: Duration = Duration::from_secs(24 * 3600);

fn scripts() -> FakeEngine {
    engine(&[
        ("1", Script::returning("1")),
        ("ask", Script::returning("1").stdout("hello ").asks("name? ", false).stdout("!")),
        ("twice", Script::silent().asks("a", false).asks("b", false)),
        ("endless", Script::silent().stdout("begun\n").endless()),
        ("panic", Script::silent().panicking()),
    ])
}

fn params(more: Value, tasks: bool) -> Value {
    let extensions = if tasks { json!({"io.modelcontextprotocol/tasks": {}}) } else { json!({}) };
    let mut params = more;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "extensions": extensions},
    });
    params
}

async fn call(client: &mut Client, code: &str) -> Value {
    let call = json!({"name": "execute_code", "arguments": {"code": code}});
    client.request("tools/call", params(call, true)).await["result"].clone()
}

/// Starts a call that becomes a task. Returns the task's id.
async fn begin(client: &mut Client, code: &str) -> String {
    let task = call(client, code).await;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    task["taskId"].as_str().unwrap().to_owned()
}

async fn task(client: &mut Client, method: &str, id: &str, more: Value) -> Value {
    let mut about = json!({"taskId": id});
    for (name, value) in more.as_object().unwrap() {
        about[name] = value.clone();
    }
    let answer = client.request(method, params(about, true)).await;
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"].clone()
}

/// Waits until the task has none of these statuses. Returns the task.
async fn after(client: &mut Client, id: &str, statuses: &[&str]) -> Value {
    loop {
        let found = task(client, "tasks/get", id, json!({})).await;
        if !statuses.iter().any(|status| found["status"] == *status) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn answer(client: &mut Client, id: &str, line: &str) -> Value {
    let waiting = after(client, id, &["working"]).await;
    assert_eq!(waiting["status"], "input_required", "{waiting}");
    let (key, request) = waiting["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let answers = json!({key: {"action": "accept", "content": {"value": line}}});
    task(client, "tasks/update", id, json!({"inputResponses": answers})).await;
    request["params"]["message"].clone()
}

#[tokio::test]
async fn what_is_quick_is_answered_and_what_is_not_is_a_task() {
    let mut client = Client::connect_tasks(scripts(), NEVER).await;
    let quick = call(&mut client, "1").await;
    assert_eq!((&quick["resultType"], &quick["structuredContent"]["success"]), (&json!("complete"), &json!(true)));
    let mut client = Client::connect_tasks(scripts(), Duration::from_millis(1)).await;
    let id = begin(&mut client, "endless").await;
    while !task(&mut client, "tasks/get", &id, json!({})).await["statusMessage"].to_string().contains("begun") {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(task(&mut client, "tasks/cancel", &id, json!({})).await["resultType"], "complete");
    let ended = after(&mut client, &id, &["working"]).await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    let kept = ended["statusMessage"].as_str().unwrap();
    assert!(kept.contains("begun") && kept.contains("KeyboardInterrupt"), "{ended}");
    // Tools that do not run code are answered.
    let list = json!({"name": "list_session_files", "arguments": {"session_id": "none"}});
    let listed = client.request("tools/call", params(list, true)).await;
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    client.finish().await.unwrap();
}

#[tokio::test]
async fn code_that_asks_becomes_a_task_and_asks_through_it() {
    let mut client = Client::connect_tasks(scripts(), NEVER).await;
    let id = begin(&mut client, "ask").await;
    assert_eq!(answer(&mut client, &id, "Ada").await, "Python code asks for input: name?");
    let ended = after(&mut client, &id, &["working", "input_required"]).await;
    assert_eq!(ended["result"]["structuredContent"]["output"], json!(["hello Ada!"]), "{ended}");
    let id = begin(&mut client, "twice").await;
    for (question, line) in [("a", "A"), ("b", "B")] {
        let mut asked = answer(&mut client, &id, line).await;
        while asked != format!("Python code asks for input: {question}") {
            asked = answer(&mut client, &id, line).await;
        }
    }
    let ended = after(&mut client, &id, &["working", "input_required"]).await;
    assert_eq!(ended["result"]["structuredContent"]["output"], json!(["AB"]), "{ended}");
    // A task that is stopped while it waits stops its code.
    let id = begin(&mut client, "ask").await;
    task(&mut client, "tasks/cancel", &id, json!({})).await;
    assert_eq!(after(&mut client, &id, &["working", "input_required"]).await["status"], "cancelled");
    // The same in a fresh interpreter.
    let run = json!({"name": "run_python_code", "arguments": {"python_code": "ask"}});
    let begun = client.request("tools/call", params(run, true)).await["result"].clone();
    let id = begun["taskId"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    answer(&mut client, &id, "Bob").await;
    let ended = after(&mut client, &id, &["working", "input_required"]).await;
    assert!(ended["result"]["content"][0]["text"].as_str().unwrap().contains("hello Bob!"), "{ended}");
}

#[tokio::test]
async fn clients_that_know_no_tasks_are_given_none() {
    let mut client = Client::connect_tasks(scripts(), Duration::ZERO).await;
    let ask = json!({"name": "execute_code", "arguments": {"code": "ask"}});
    let asked = client.request("tools/call", params(ask, false)).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let refused = client.request("tasks/get", params(json!({"taskId": "a"}), false)).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let unknown = client.request("tasks/get", params(json!({"taskId": "a"}), true)).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let about = client.request("server/discover", params(json!({}), true)).await;
    assert_eq!(about["result"]["capabilities"]["extensions"], json!({"io.modelcontextprotocol/tasks": {}}), "{about}");
    // Clients of protocols before 2026-07-28 are not told about tasks.
    let mut client = Client::connect_tasks(scripts(), Duration::ZERO).await;
    let about = client.initialize("2025-11-25").await;
    assert_eq!(about["capabilities"].get("extensions"), None, "{about}");
    assert_eq!(client.tool("execute_code", json!({"code": "1"})).await["structuredContent"]["success"], true);
}

#[tokio::test]
async fn a_task_that_breaks_has_a_result_that_says_so() {
    let mut client = Client::connect_tasks(scripts(), Duration::ZERO).await;
    let begun = call(&mut client, "panic").await;
    let result = match begun["taskId"].as_str() {
        Some(id) => after(&mut client, id, &["working"]).await["result"].clone(),
        None => begun,
    };
    assert!(result["isError"] == true && result.to_string().contains("defect"), "{result}");
}
