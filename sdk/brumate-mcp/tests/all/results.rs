//! What tools take, return and fail with.

use crate::support::{Pipe, text};
use brumate_mcp::{Content, Context, Error, File, Image, Json, Resource, Server, Tool, ToolResult, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    degrees: f64,
}

#[tool]
async fn weather(city: String) -> Weather {
    Weather { city, degrees: 21.5 }
}

#[tool]
async fn several() -> Result<Vec<Weather>, std::io::Error> {
    Ok(vec![Weather { city: "Oslo".to_owned(), degrees: -3.0 }])
}

#[tool]
async fn maybe(known: bool) -> Option<u8> {
    known.then_some(7)
}

#[tool]
async fn nothing() {}

#[tool]
async fn greets() -> String {
    "\"hello\"\nyou".to_owned()
}

#[tool]
async fn borrows() -> Result<&'static str, Error> {
    Ok("hello")
}

#[tool]
async fn may_borrow() -> std::borrow::Cow<'static, str> {
    "hello".into()
}

#[tool]
async fn as_json() -> Json<String> {
    Json("hello".to_owned())
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Unusual {
    small: u8,
    signed: i64,
    size: usize,
    ratio: f32,
    large: u128,
    address: std::net::IpAddr,
    maybe: Option<u32>,
    many: Vec<u16>,
}

#[tool]
async fn unusual(value: Unusual, #[arg(default = 1)] times: u8) -> Unusual {
    Unusual { small: value.small * times, ..value }
}

#[tool]
async fn mixed() -> Result<(String, Image, File), Error> {
    Ok(("a".to_owned(), Image::new([1, 2], "png"), File::new("a b.txt", "text")))
}

#[tool]
async fn own() -> ToolResult {
    ToolResult::text("t").structured(json!({"x": 1})).meta("k", "v")
}

#[tool]
async fn linked() -> ToolResult {
    let mut result = ToolResult::text("t");
    result.extend(["a", "b"].map(|name| Resource::new(format!("file:///{name}")).name(name).size(1)));
    result
}

#[tool]
async fn fails() -> Result<String, std::num::ParseIntError> {
    "x".parse::<i32>().map(|number| number.to_string())
}

#[tool]
async fn refuses() -> Result<String, Error> {
    Err(Error::protocol(-32050, "not now", Some(json!({"retry": 1}))))
}

#[tool]
async fn panics() -> String {
    panic!("a secret")
}

#[tool]
fn panics_blocking() -> String {
    panic!("a secret")
}

fn server() -> Server {
    Server::new("results")
        .tool(weather)
        .tool(several)
        .tool(maybe)
        .tool(nothing)
        .tools((greets, borrows, may_borrow, as_json, unusual))
        .tool(mixed)
        .tool(own)
        .tool(linked)
        .tool(fails)
        .tool(refuses)
        .tool(panics)
        .tool(panics_blocking)
}

#[tokio::test]
async fn values_become_text_and_structured_content_with_a_schema() {
    let mut client = Pipe::legacy(&server(), json!({})).await;
    let result = client.call("weather", json!({"city": "Rome"})).await;
    assert_eq!(result["structuredContent"], json!({"city": "Rome", "degrees": 21.5}));
    assert_eq!(serde_json::from_str::<Value>(text(&result)).expect("JSON"), result["structuredContent"]);
    let result = client.call("several", json!({})).await;
    assert_eq!(result["structuredContent"], json!({"result": [{"city": "Oslo", "degrees": -3.0}]}));
    assert_eq!(client.call("maybe", json!({"known": true})).await["structuredContent"], json!({"result": 7}));
    assert_eq!(client.call("maybe", json!({"known": false})).await["structuredContent"], json!({"result": null}));
    assert_eq!(client.call("nothing", json!({})).await["content"], json!([]));

    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    let schema = |name: &str| {
        let tool = tools.as_array().expect("tools").iter().find(|tool| tool["name"] == name);
        tool.expect("a tool")["outputSchema"].clone()
    };
    assert_eq!(schema("weather")["required"], json!(["city", "degrees"]));
    assert_eq!(schema("several")["properties"]["result"]["items"]["$ref"], "#/$defs/Weather");
    assert!(schema("several")["$defs"]["Weather"].is_object());
    assert_eq!(schema("nothing"), Value::Null);
    assert_eq!(schema("mixed"), Value::Null);
}

/// A text is sent once; `Json` makes structured content of it.
#[tokio::test]
async fn texts_are_text_alone() {
    let server = server();
    let mut client = Pipe::modern(&server, json!({}));
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    let schema = |name: &str| {
        let tool = tools.as_array().expect("tools").iter().find(|tool| tool["name"] == name);
        tool.expect("a tool")["outputSchema"].clone()
    };
    for (name, wanted) in [("greets", "\"hello\"\nyou"), ("borrows", "hello"), ("may_borrow", "hello")] {
        let result = client.call(name, json!({})).await;
        assert_eq!((text(&result), result.get("structuredContent")), (wanted, None), "{result}");
        assert_eq!(schema(name), Value::Null);
    }
    let result = client.call("as_json", json!({})).await;
    assert_eq!((text(&result), &result["structuredContent"]), ("hello", &json!({"result": "hello"})));
    assert_eq!(schema("as_json")["properties"]["result"]["type"], "string");
    // The crate's client reads a text in quotes unchanged.
    let client = brumate_mcp::Client::in_process(&server).connect().await.unwrap();
    assert_eq!(client.call("greets").await.unwrap().parse::<String>().unwrap(), "\"hello\"\nyou");
}

/// Formats that JSON Schema does not know make validators of clients warn.
#[tokio::test]
async fn schemas_have_no_formats_of_rust_and_integers_may_be_written_with_a_point() {
    let mut client = Pipe::modern(&server(), json!({}));
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    assert!(!tools.to_string().contains("\"format\""), "{tools}");
    let value = json!({
        "small": 3.0, "signed": -1e3, "size": 4.0, "ratio": 2.5, "large": 7, "address": "::1", "maybe": 1.0, "many": [1.0, 2],
    });
    let result = client.call("unusual", json!({"value": value, "times": 2.0})).await;
    let expected = json!({
        "small": 6, "signed": -1000, "size": 4, "ratio": 2.5, "large": 7, "address": "::1", "maybe": 1, "many": [1, 2],
    });
    assert_eq!(result["structuredContent"], expected, "{result}");
    let result = client.call("unusual", json!({"value": value, "times": 2.5})).await;
    assert!(result["isError"] == true && text(&result).contains("2.5"), "{result}");
}

#[tokio::test]
async fn blocks_are_what_they_are() {
    let mut client = Pipe::modern(&server(), json!({}));
    let result = client.call("mixed", json!({})).await;
    assert_eq!(
        result["content"],
        json!([
            {"type": "text", "text": "a"},
            {"type": "image", "data": "AQI=", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a%20b.txt", "mimeType": "text/plain", "text": "text"}},
        ])
    );
    let result = client.call("own", json!({})).await;
    assert_eq!((&result["structuredContent"], &result["_meta"]["k"]), (&json!({"x": 1}), &json!("v")));
}

#[tokio::test]
async fn failures_are_for_the_model_and_refusals_for_the_client() {
    let mut client = Pipe::legacy(&server(), json!({})).await;
    let result = client.call("fails", json!({})).await;
    assert_eq!((&result["isError"], text(&result)), (&json!(true), "invalid digit found in string"));
    let answer = client.request("tools/call", json!({"name": "refuses"})).await;
    assert_eq!(answer["error"], json!({"code": -32050, "message": "not now", "data": {"retry": 1}}));
    let answer = client.request("tools/call", json!({"name": "none"})).await;
    assert_eq!(answer["error"]["code"], -32602);
}

/// rmcp leaves a request whose handler panics without an answer.
#[tokio::test]
async fn a_panic_is_answered_and_says_nothing() {
    for mut client in [Pipe::legacy(&server(), json!({})).await, Pipe::modern(&server(), json!({}))] {
        for name in ["panics", "panics_blocking"] {
            let result = client.call(name, json!({})).await;
            assert_eq!(result["isError"], true);
            assert_eq!(text(&result), format!("tool `{name}` failed unexpectedly"));
        }
        assert_eq!(client.call("maybe", json!({"known": true})).await["structuredContent"], json!({"result": 7}));
    }
}

#[derive(Deserialize, JsonSchema)]
struct Range {
    from: u8,
    to: u8,
}

#[tokio::test]
async fn arguments_are_checked_against_the_schema_and_the_message_says_where() {
    let raw = Tool::new("raw")
        .raw_handler(|arguments: Value, _| async move { arguments })
        .input_schema(json!({
            "type": "object",
            "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}, "tags": {"type": "array", "maxItems": 1}},
            "required": ["name"],
        }))
        .output_schema(json!({"type": "object", "properties": {"name": {"maxLength": 3}}}));
    let closure = Tool::new("range")
        .handler(|range: Range, _: Context| async move { Json((range.from..range.to).collect::<Vec<_>>()) });
    let blocking = Tool::new("blocking").blocking_handler(|range: Range, _| Content::text(format!("{}", range.to)));
    let server = Server::new("arguments").tool(raw).tool(closure).tool(blocking);
    let mut client = Pipe::legacy(&server, json!({})).await;

    let result = client.call("range", json!({"from": 1, "to": 3})).await;
    assert_eq!(result["structuredContent"], json!({"result": [1, 2]}));
    assert_eq!(text(&client.call("blocking", json!({"from": 1, "to": 3})).await), "3");
    let cases = [
        ("range", json!({"from": 1}), "\"to\" is a required property"),
        ("range", json!({"from": 1, "to": 300}), "`to`"),
        ("range", json!({"from": [1], "to": 2}), "`from`: [1] is not of type \"integer\""),
        ("raw", json!({"name": "A1"}), "`name`: \"A1\" does not match"),
        ("raw", json!({"name": "a", "tags": [1, 2]}), "`tags`: "),
        ("raw", json!({"name": "long"}), "returned what does not fit its output schema"),
    ];
    for (tool, arguments, says) in cases {
        let result = client.call(tool, arguments).await;
        assert!(result["isError"] == true && text(&result).contains(says), "{says}: {result}");
    }
    assert_eq!(client.call("raw", json!({"name": "abc"})).await["structuredContent"], json!({"name": "abc"}));
}

#[tokio::test]
async fn what_cannot_be_served_is_said_at_the_start() {
    let unit = |_: Value, _: Context| async {};
    let bad = [
        Tool::new("no handler"),
        Tool::new("spaces are not names").raw_handler(unit),
        Tool::new("schema").raw_handler(unit).input_schema(json!({"type": "object", "properties": {"a": 1}})),
        Tool::new("list").raw_handler(unit).input_schema(json!({"type": "array"})),
    ];
    let server = bad.into_iter().fold(Server::new("bad"), Server::tool);
    let error = server.start().await.expect_err("four problems").to_string();
    for says in ["no handler", "spaces are not names", "`schema`: input schema", "must be an object"] {
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[tokio::test]
async fn resources_in_a_result_are_links() {
    let mut client = Pipe::legacy(&server(), json!({})).await;
    let result = client.call("linked", json!({})).await;
    assert_eq!(
        result["content"],
        json!([
            {"type": "text", "text": "t"},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 1},
            {"type": "resource_link", "uri": "file:///b", "name": "b", "size": 1},
        ])
    );
}

#[tokio::test]
async fn a_result_may_leave_out_that_it_is_no_failure() {
    let tool = |name: &str, result: ToolResult| Tool::new(name).raw_handler(move |_, _| std::future::ready(result));
    let server = Server::new("results")
        .tool(tool("plain", ToolResult::text("a")))
        .tool(tool("short", ToolResult::text("a").omit_is_error()))
        .tool(tool("failed", ToolResult::error("a").omit_is_error()));
    let mut client = Pipe::legacy(&server, json!({})).await;
    for (name, expected) in [("plain", Some(&json!(false))), ("short", None), ("failed", Some(&json!(true)))] {
        assert_eq!(client.call(name, json!({})).await.get("isError"), expected, "{name}");
    }
}
