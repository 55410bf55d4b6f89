//! What the attributes make of functions.

use crate::support::{Pipe, text};
use brumate_mcp::{Context, Error, Server, State, prompt, tool};
use serde_json::{Value, json};

/// Greets.
///
/// In several languages.
#[tool(name = "greeting", title = "Greeting", read_only, destructive = false, icon = "https://example.com/i.png")]
pub(crate) async fn greet(
    /// Who is greeted.
    name: String,
    #[arg(default = "en", description = "A language.")] language: String,
    #[arg(default)] times: u8,
    #[arg(name = "type")] kind: Option<Vec<u8>>,
    state: State<u32>,
    context: Context,
) -> Result<String, Error> {
    let _ = context;
    Ok(format!("{name} {language} {times} {kind:?} {}", *state))
}

#[tool]
fn double(number: i32) -> i32 {
    // A function can call itself.
    if number == 0 { 0 } else { 2 + double(number - 1) }
}

#[prompt]
fn shout(text: String) -> Result<String, Error> {
    Ok(text.to_uppercase())
}

#[tokio::test]
async fn functions_become_tools_with_their_documentation() {
    let server = Server::new("macros").state(7u32).tool(greet).tool(double.tool().meta("k", 1)).prompt(shout);
    let mut client = Pipe::legacy(&server, json!({})).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    let listed = &tools[0];
    assert_eq!(listed["name"], "greeting");
    assert_eq!(listed["title"], "Greeting");
    assert_eq!(listed["description"], "Greets.\n\nIn several languages.");
    assert_eq!(listed["annotations"], json!({"readOnlyHint": true, "destructiveHint": false}));
    assert_eq!(listed["icons"], json!([{"src": "https://example.com/i.png"}]));
    let schema = &listed["inputSchema"];
    assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["name"]), &json!(false)), "{schema}");
    assert_eq!(schema["properties"]["name"], json!({"description": "Who is greeted.", "type": "string"}));
    assert_eq!(schema["properties"]["language"]["description"], "A language.");
    assert_eq!(schema["properties"]["language"]["default"], "en");
    assert!(schema["properties"]["type"].is_object());
    assert_eq!(tools[1]["_meta"], json!({"k": 1}));
    assert_eq!(tools[1]["description"], Value::Null);

    let arguments = json!({"name": "Ada", "type": [1]});
    assert_eq!(text(&client.call("greeting", arguments).await), "Ada en 0 Some([1]) 7");
    assert_eq!(text(&client.call("double", json!({"number": 4})).await), "8");
    let answer = client.request("prompts/get", json!({"name": "shout", "arguments": {"text": "hey"}})).await;
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], "HEY");
}

#[tokio::test]
async fn functions_are_still_called() {
    assert_eq!(double(21), 42);
    assert_eq!(shout("a".to_owned()).ok().as_deref(), Some("A"));
}

#[tokio::test]
async fn state_that_nobody_gave_is_said_to_be_missing() {
    let mut client = Pipe::legacy(&Server::new("none").tool(greet), json!({})).await;
    let result = client.call("greeting", json!({"name": "Ada"})).await;
    assert!(result["isError"] == true && text(&result).contains("no state of type u32"), "{result}");
}
