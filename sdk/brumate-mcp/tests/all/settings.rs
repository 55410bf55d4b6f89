//! Capabilities, log levels and the errors for requests that a server does not know.

use crate::support::{Http, LEGACY, MODERN, Pipe, meta};
use brumate_mcp::{Context, HttpOptions, LogLevel, Prompt, Resource, Server, Tool};
use serde_json::{Value, json};

fn offers() -> Server {
    Server::new("offers")
        .tool(Tool::new("talk").raw_handler(|_: Value, context: Context| async move {
            context.error("error").await;
            context.log(LogLevel::Emergency, None, "emergency").await;
        }))
        .resource(Resource::new("a://b").handler(|_, _| async { "text" }))
        .prompt(Prompt::new("ask").handler(|_, _| async { "question" }))
}

/// Requests whose methods need a capability, without the tools.
fn requests() -> [(&'static str, Value); 6] {
    let reference = json!({"type": "ref/prompt", "name": "ask"});
    [
        ("prompts/get", json!({"name": "ask"})),
        ("completion/complete", json!({"ref": reference, "argument": {"name": "x", "value": ""}})),
        ("resources/read", json!({"uri": "a://b"})),
        ("resources/subscribe", json!({"uri": "a://b"})),
        ("resources/unsubscribe", json!({"uri": "a://b"})),
        ("logging/setLevel", json!({"level": "error"})),
    ]
}

#[tokio::test]
async fn capabilities_are_exactly_those_that_are_set() {
    let declared = json!({"tools": {}, "experimental": {"x": {}}});
    let server = offers().extension("com.example/x", json!({})).capabilities(declared.clone());
    let mut client = Pipe::modern(&server, json!({}));
    assert_eq!(client.request("server/discover", json!({})).await["result"]["capabilities"], declared);
    let mut client = Pipe::legacy(&server, json!({})).await;
    for (method, params) in requests() {
        let answer = client.request(method, params).await;
        assert_eq!(answer["error"], json!({"code": -32601, "message": method}));
    }
    for (method, field) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
        let answer = client.request(method, json!({})).await;
        assert_eq!(answer["result"][field].as_array().map(Vec::len), Some(1), "{answer}");
    }
    assert!(client.call("talk", json!({})).await.get("isError").is_some());
    // Without them, everything is answered.
    let mut client = Pipe::legacy(&offers(), json!({})).await;
    for (method, params) in requests() {
        let answer = client.request(method, params).await;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
    }
}

#[tokio::test]
async fn listeners_hear_only_of_what_is_declared() {
    let filter = json!({"toolsListChanged": true, "resourcesListChanged": true, "promptsListChanged": true});
    for (declared, accepted) in [
        (json!({"tools": {}, "resources": {"listChanged": true}}), json!({"resourcesListChanged": true})),
        (json!({"tools": {}}), json!({})),
    ] {
        let mut client = Pipe::modern(&offers().capabilities(declared), json!({}));
        client.start("subscriptions/listen", json!({"notifications": filter.clone()})).await;
        let acknowledged = client.receive().await;
        assert_eq!(acknowledged["params"]["notifications"], accepted, "{acknowledged}");
    }
}

#[tokio::test]
async fn capabilities_that_are_none_are_a_problem_of_the_start() {
    for wrong in [json!([]), json!(null), json!({"tools": 1})] {
        let error = offers().capabilities(wrong).start().await.expect_err("they are no capabilities");
        assert!(error.to_string().starts_with("capabilities: "), "{error}");
    }
}

#[tokio::test]
async fn a_session_has_the_level_of_the_server_until_its_client_sets_one() {
    for (server, heard) in [(offers(), 2), (offers().log_level(LogLevel::Emergency), 1)] {
        let mut client = Pipe::legacy(&server, json!({})).await;
        client.call("talk", json!({})).await;
        assert_eq!(client.heard.len(), heard, "{:?}", client.heard);
        client.request("logging/setLevel", json!({"level": "error"})).await;
        client.heard.clear();
        client.call("talk", json!({})).await;
        assert_eq!(client.heard.len(), 2, "{:?}", client.heard);
        let http = Http::new(&server, HttpOptions::new()).session().await;
        assert_eq!(http.call(1, "talk", json!({})).await.messages().len(), heard + 1);
    }
    // Since 2026-07-28 the request has a level, or none is wanted.
    let http = Http::new(&offers(), HttpOptions::new());
    assert_eq!(http.call_modern("talk", json!({})).await.messages().len(), 1);
}

/// The errors for requests that the server does not know.
fn unknown() -> [(&'static str, Value, i32, String); 6] {
    let long = "x".repeat(100);
    let cut = &long[..64];
    let unknown = -32601;
    [
        ("kernels/list", json!({}), unknown, "Method not found: kernels/list".to_owned()),
        ("tasks/get", json!({}), unknown, "Method not found: tasks/get".to_owned()),
        ("tools/call", json!({"name": 3}), -32602, "Invalid parameters for tools/call".to_owned()),
        ("prompts/get", json!({"name": []}), -32602, "Invalid parameters for prompts/get".to_owned()),
        ("tools/call", json!({"name": long}), -32602, format!("Unknown tool: {cut}")),
        (
            "resources/list",
            json!({"cursor": "AAAAAAAAAAA"}),
            -32602,
            "unknown cursor: list from the beginning, without one".to_owned(),
        ),
    ]
}

#[tokio::test]
async fn requests_that_are_not_known_are_named_in_the_error() {
    let server = offers();
    let mut legacy = Pipe::legacy(&server, json!({})).await;
    let mut modern = Pipe::modern(&server, json!({}));
    let session = Http::new(&server, HttpOptions::new()).session().await;
    let stateless = Http::new(&server, HttpOptions::new().stateless()).with("mcp-protocol-version", LEGACY);
    for (method, params, code, message) in unknown() {
        let expected = json!({"code": code, "message": message});
        assert_eq!(legacy.request(method, params.clone()).await["error"], expected);
        assert_eq!(modern.request(method, params.clone()).await["error"], expected);
        let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        for http in [&session, &stateless] {
            assert_eq!(http.post(&request).await.last()["error"], expected);
        }
        if method == "kernels/list" {
            request["params"]["_meta"] = meta(json!({}));
            let http = Http::new(&server, HttpOptions::new());
            let http = http.with("mcp-protocol-version", MODERN).with("mcp-method", method);
            assert_eq!(http.post(&request).await.last()["error"], expected);
        }
    }
    let long = "y".repeat(100);
    let answer = legacy.request(&long, json!({})).await;
    assert_eq!(answer["error"]["message"], format!("Method not found: {}", &long[..64]));
}

#[tokio::test]
async fn the_cursor_of_another_list_is_unknown() {
    let named = |name: String| Tool::new(name).raw_handler(|_: Value, _: Context| async {});
    let server =
        (0..4).fold(Server::new("pages").page_size(2), |server, number| server.tool(named(format!("t{number}"))));
    let mut client = Pipe::legacy(&server, json!({})).await;
    let first = client.request("tools/list", json!({})).await["result"].clone();
    let second = client.request("tools/list", json!({"cursor": first["nextCursor"]})).await["result"].clone();
    assert_eq!((second["tools"].as_array().map(Vec::len), second.get("nextCursor")), (Some(2), None));
    let answer = client.request("prompts/list", json!({"cursor": first["nextCursor"]})).await;
    assert_eq!(answer["error"]["message"], "unknown cursor: list from the beginning, without one");
}
