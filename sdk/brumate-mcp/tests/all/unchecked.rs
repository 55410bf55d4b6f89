//! Tools that check their arguments themselves.

use crate::support::{Http, Pipe, read, text};
use axum::body::Body;
use brumate_mcp::{Arguments, Context, Error, HttpOptions, Next, Server, Tool, ToolCall, ToolResult};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

/// Tells what it was given.
async fn given(mut arguments: Arguments, _: Context) -> Result<ToolResult, Error> {
    let exact = arguments.exact_json("n").map(str::to_owned);
    let taken = arguments.remove("n");
    assert_eq!((arguments.get("n"), arguments.exact_json("n")), (None, exact.as_deref()));
    assert_eq!(arguments.exact_json("other"), None, "only what a value cannot hold has a text");
    let text = json!({"n": taken, "exact": exact, "rest": arguments.into_values()}).to_string();
    Ok(ToolResult::text(text).structured(json!({"fits": false})))
}

fn tool(name: &str) -> Tool {
    let schema = json!({"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]});
    let output = json!({"type": "object", "properties": {"fits": {"const": true}}});
    Tool::new(name).unchecked_handler(given).input_schema(schema).output_schema(output)
}

fn server() -> Server {
    let changed = tool("changed").layer(async |mut call: ToolCall, next: Next| {
        call.arguments_mut().insert("n".to_owned(), json!(2));
        next.run(call).await
    });
    // The last handler decides.
    let checked = tool("checked").raw_handler(|_: Value, _: Context| async { "checked" });
    Server::new("unchecked").tool(tool("given")).tool(changed).tool(checked)
}

#[tokio::test]
async fn nothing_is_checked_and_the_schemas_are_shown() {
    let mut client = Pipe::legacy(&server(), json!({})).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    assert_eq!((&tools[0]["inputSchema"]["required"], &tools[0]["name"]), (&json!(["n"]), &json!("given")));
    assert_eq!(tools[0]["outputSchema"]["properties"]["fits"], json!({"const": true}));
    let empty = json!({"n": null, "exact": null, "rest": {}});
    for (params, expected) in [
        (json!({"name": "given"}), empty.clone()),
        (json!({"name": "given", "arguments": null}), empty),
        (
            json!({"name": "given", "arguments": {"n": 1, "other": [null]}}),
            json!({"n": 1, "exact": null, "rest": {"other": [null]}}),
        ),
    ] {
        let result = client.request("tools/call", params).await["result"].clone();
        assert_eq!(result["structuredContent"], json!({"fits": false}), "{result}");
        assert_eq!(serde_json::from_str::<Value>(text(&result)).unwrap(), expected);
    }
    let refused = client.call("checked", json!({"n": 1})).await;
    assert!(refused["isError"] == true && text(&refused).contains("invalid arguments"), "{refused}");
}

fn raw_call(id: u64, name: &str) -> String {
    let arguments = r#"{"n":[18446744073709551619,1e999],"other":1}"#;
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

#[tokio::test]
async fn what_a_value_cannot_hold_has_its_text() {
    let exact = json!("[18446744073709551619,1e999]");
    let check = |answer: &Value, exact: &Value| {
        let given: Value = serde_json::from_str(text(&answer["result"])).unwrap();
        assert_eq!((&given["exact"], &given["rest"]), (exact, &json!({"other": 1})), "{answer}");
    };
    let mut pipe = Pipe::legacy(&server(), json!({})).await;
    for (name, exact) in [("given", &exact), ("changed", &Value::Null)] {
        pipe.output.write_all(format!("{}\n", raw_call(70, name)).as_bytes()).await.unwrap();
        check(&pipe.receive().await, exact);
    }
    let http = Http::new(&server(), HttpOptions::new()).session().await;
    let answer = read(http.send("POST", "/mcp", Body::from(raw_call(7, "given"))).await).await.last();
    check(&answer, &exact);
}
