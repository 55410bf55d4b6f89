//! Sessions, the tool's description, wrong requests.

use crate::support::{Client, engine, text_of};
use brumate_server::ReturnMode;
use brumate_session::RunnerSettings;
use brumate_session::testing::{FakeEngine, Script};
use serde_json::{Value, json};

/// Versions with an `initialize` handshake.
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn closed() -> Client {
    Client::connect(engine(&[("1", Script::returning("1"))]), ReturnMode::Xml, RunnerSettings::default())
}

#[tokio::test]
async fn every_legacy_version_is_spoken() {
    for version in LEGACY {
        let mut client = closed();
        let info = client.initialize(version).await;
        assert_eq!(info["protocolVersion"], version);
        assert_eq!(info["serverInfo"]["name"], "MCP Run Python");
        assert_eq!(info["instructions"], "Call the \"run_python_code\" tool with the Python code to run.");
        assert_eq!(info["capabilities"], json!({"logging": {}, "tools": {}}));
        let result = client.run("1").await;
        assert!(text_of(&result).contains("success"));
        assert_eq!(result.get("resultType"), None);
        client.finish().await.unwrap();
    }
}

#[tokio::test]
async fn the_current_version_needs_no_handshake() {
    let mut client = closed();
    let discovered = client.request("server/discover", json!({"_meta": modern_meta()})).await;
    let versions = discovered["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{discovered}");
    // A stray notification between discovery and the first call must not end the connection.
    client.notify("notifications/cancelled", json!({"requestId": 99})).await;
    let params = json!({"name": "run_python_code", "arguments": {"python_code": "1"}, "_meta": modern_meta()});
    let result = client.request("tools/call", params).await["result"].clone();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["structuredContent"]["return_value"], 1);
    let list = client.request("tools/list", json!({"_meta": modern_meta()})).await["result"].clone();
    assert_eq!(list["cacheScope"], "private");
    // Log levels are part of each request now.
    let level = client.request("logging/setLevel", json!({"level": "debug", "_meta": modern_meta()})).await;
    assert_eq!(level["error"]["code"], -32601);
    client.finish().await.unwrap();
}

#[tokio::test]
async fn exactly_one_tool_is_listed_with_the_promised_schema() {
    let mut client = Client::open(&[]).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 1);
    let tool = &tools[0];
    assert_eq!(tool["name"], "run_python_code");
    assert_eq!(tool["title"], "Run Python code");
    assert_eq!(
        tool["description"],
        "Tool to execute Python code and return stdout, stderr, and return value.\n\n\
         The code may be async, and the value on the last line will be returned as the return value.\n\n\
         The code will be executed with Python 3.14."
    );
    // Compared as text: the order of keys is visible to clients.
    assert_eq!(
        tool["inputSchema"].to_string(),
        r#"{"type":"object","properties":{"python_code":{"type":"string","description":"Python code to run"},"global_variables":{"type":"object","additionalProperties":{},"default":{},"description":"Map of global variables in context when the code is executed"}},"required":["python_code"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}"#
    );
    let output = &tool["outputSchema"];
    assert_eq!((&output["type"], &output["required"]), (&json!("object"), &json!(["status", "output"])));
}

#[tokio::test]
async fn wrong_arguments_are_results_and_wrong_tools_are_errors() {
    let mut client = Client::open(&[]).await;
    let result = client.call(json!({"code": "1"})).await;
    assert_eq!(result["isError"], json!(true));
    assert_eq!(
        text_of(&result),
        "Invalid arguments for run_python_code: `python_code` (string, the Python code to run) is missing; \
         `code` is not an argument."
    );
    let no_arguments = client.request("tools/call", json!({"name": "run_python_code"})).await;
    assert_eq!(no_arguments["result"]["isError"], json!(true));

    let unknown = client.request("tools/call", json!({"name": "rm_rf"})).await;
    assert_eq!(unknown["error"], json!({"code": -32602, "message": "Unknown tool: rm_rf"}));
    let misshapen = client.request("tools/call", json!({"name": 3})).await;
    assert_eq!(misshapen["error"], json!({"code": -32602, "message": "Invalid parameters for tools/call"}));
    let method = client.request("kernels/list", json!({})).await;
    assert_eq!(method["error"], json!({"code": -32601, "message": "Method not found: kernels/list"}));
}

#[tokio::test]
async fn globals_reach_the_code() {
    let mut client = Client::open(&[("a", Script::returning("[1]"))]).await;
    client.call(json!({"python_code": "a", "global_variables": {"a": [1, 2, 3]}})).await;
    assert_eq!(client.engine.executed()[0].globals_json, "{\"a\":[1,2,3]}");
    assert_eq!(client.engine.executed()[0].file_name, "main.py");
}

#[tokio::test]
async fn globals_are_the_text_of_the_request_where_numbers_would_be_rounded() {
    let globals = r#"{"n": 18446744073709551619, "x": [1e400, -0], "s": "\ud800"}"#;
    let mut client = Client::open(&[("a", Script::returning("1")), ("b", Script::returning("1"))]).await;
    for code in ["a", "b"] {
        let arguments = format!(r#"{{"global_variables":{globals},"python_code":"{code}"}}"#);
        let params = format!(r#"{{"name":"run_python_code","arguments":{arguments},"_meta":{{"progressToken":1}}}}"#);
        client
            .write(&format!(
                "{{\"method\":\"tools/call\",\"params\":{params},\"jsonrpc\":\"2.0\",\"id\":\"{code}\"}}\n"
            ))
            .await;
        assert_eq!(client.receive().await.unwrap()["id"], code);
    }
    assert!(client.engine.executed().iter().all(|executed| executed.globals_json == globals));
}

#[tokio::test]
async fn noise_before_the_session_is_survived() {
    let mut client = closed();
    client.write("{oops\n\n   \n").await;
    assert_eq!(client.receive().await.unwrap()["error"]["code"], -32700);
    client.notify("notifications/initialized", json!({})).await;
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "result": {}})).await;
    let early = client.request("tools/list", json!({})).await;
    assert!(early.get("error").is_some(), "{early}");
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    client.initialize("2025-06-18").await;
    assert!(client.text("1").await.contains("success"));
}

#[tokio::test]
async fn garbage_and_long_lines_inside_a_session_are_answered() {
    let mut client = Client::connect(
        FakeEngine::default().on("1", Script::returning("1")),
        ReturnMode::Xml,
        RunnerSettings::default(),
    );
    client.initialize("2025-06-18").await;
    client.write("\u{1b}[31mgarbage\n").await;
    assert_eq!(client.receive().await.unwrap()["error"]["code"], -32700);
    client.send(&json!({"jsonrpc": "3.0", "id": "x", "method": "ping"})).await;
    let refused = client.receive().await.unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("x"), &json!(-32600)));
    for _ in 0..17 {
        client.write(&"x".repeat(1 << 20)).await;
    }
    client.write("\n").await;
    let too_long = client.receive().await.unwrap();
    assert!(too_long["error"]["message"].as_str().unwrap().contains("longer than 16777216 bytes"));
    client.write("[{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"ping\"}]\n").await;
    let mut ids = vec![client.receive().await.unwrap()["id"].clone(), client.receive().await.unwrap()["id"].clone()];
    ids.sort_by_key(ToString::to_string);
    assert_eq!(ids, [json!("a"), json!("b")]);
    assert!(client.text("1").await.contains("success"));
}

#[tokio::test]
async fn silence_is_no_error() {
    closed().finish().await.unwrap();
}
