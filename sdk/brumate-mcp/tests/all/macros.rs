//! What the attributes make of functions.

use crate::support::{Http, LEGACY, Pipe, text};
use brumate_mcp::{
    ClientInfo, Context, Error, FromRequest, HttpOptions, Principal, Server, State, completion, prompt, resource, tool,
};
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

/// What a handler's own extractor takes.
struct Protocol(String);

impl FromRequest for Protocol {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        tokio::task::yield_now().await;
        Ok(Self(context.protocol_version()))
    }
}

/// Nobody has one.
struct Ticket;

impl FromRequest for Ticket {
    async fn from_request(_context: &Context) -> Result<Self, Error> {
        Err(Error::new("no ticket"))
    }
}

#[tool]
async fn who(client: ClientInfo, same: Option<ClientInfo>, #[from_request] protocol: Protocol) -> String {
    format!("{} {} {} {}", client.name, client.version, protocol.0, same == Some(client.clone()))
}

#[tool]
fn blocking_who(#[from_request] protocol: Protocol, word: String) -> String {
    format!("{} {word}", protocol.0)
}

#[tool]
async fn enter(#[from_request] _ticket: Ticket) -> &'static str {
    "in"
}

#[resource("who://{word}")]
async fn who_resource(word: String, #[from_request] protocol: Protocol) -> String {
    format!("{word} {}", protocol.0)
}

#[prompt]
async fn who_prompt(#[from_request] protocol: Protocol, word: String) -> String {
    format!("{word} {}", protocol.0)
}

#[completion(prompt = "who_prompt", argument = "word")]
async fn who_words(#[from_request] protocol: Protocol, typed: String) -> Vec<String> {
    vec![typed + &protocol.0]
}

#[tokio::test]
async fn parameters_are_taken_from_the_request_by_their_trait() {
    let server = Server::new("from").tools((who, blocking_who, enter)).resource(who_resource);
    let mut client = Pipe::legacy(&server.prompt(who_prompt).completion(who_words), json!({})).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    assert_eq!(tools[0]["inputSchema"].get("properties"), None, "{tools}");
    assert_eq!(tools[1]["inputSchema"]["required"], json!(["word"]));
    assert_eq!(text(&client.call("who", json!({})).await), format!("test 1 {LEGACY} true"));
    assert_eq!(text(&client.call("blocking_who", json!({"word": "x"})).await), format!("{LEGACY} x"));
    let result = client.call("enter", json!({})).await;
    assert!(result["isError"] == true && text(&result) == "no ticket", "{result}");
    let read = client.request("resources/read", json!({"uri": "who://x"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], format!("x {LEGACY}"));
    let got = client.request("prompts/get", json!({"name": "who_prompt", "arguments": {"word": "x"}})).await;
    assert_eq!(got["result"]["messages"][0]["content"]["text"], format!("x {LEGACY}"));
    let argument = json!({"name": "word", "value": "x"});
    let reference = json!({"type": "ref/prompt", "name": "who_prompt"});
    let completed = client.request("completion/complete", json!({"ref": reference, "argument": argument})).await;
    assert_eq!(completed["result"]["completion"]["values"], json!([format!("x{LEGACY}")]));
}

#[tool]
async fn mine(principal: Principal) -> String {
    principal.name().to_owned()
}

#[tool]
async fn anyones(principal: Option<Principal>) -> bool {
    principal.is_some()
}

#[tokio::test]
async fn principals_are_taken_from_requests_that_have_one() {
    let server = Server::new("principals").tools((mine, anyones));
    let options = HttpOptions::new().bearer(|token| (token == "secret").then(|| Principal::new("ada")));
    let http = Http::new(&server, options).with("authorization", "Bearer secret").session().await;
    assert_eq!(text(&http.call(1, "mine", json!({})).await.last()["result"]), "ada");
    assert_eq!(text(&http.call(2, "anyones", json!({})).await.last()["result"]), "true");
    let mut pipe = Pipe::legacy(&server, json!({})).await;
    let result = pipe.call("mine", json!({})).await;
    assert!(result["isError"] == true && text(&result).contains("credentials"), "{result}");
    assert_eq!(text(&pipe.call("anyones", json!({})).await), "false");
}

/// Functions whose names the expansions could use, with parameters of their own names.
mod named {
    use brumate_mcp::{completion, prompt, resource, tool};

    #[tool]
    pub(super) async fn value(value: u8) -> Result<u8, brumate_mcp::Error> {
        Ok(value)
    }

    #[tool]
    pub(super) fn tool() {}

    #[tool]
    pub(super) fn result() {}

    #[resource("a://{server}")]
    pub(super) fn server(server: String) -> String {
        server
    }

    #[prompt]
    pub(super) fn context(context: String) -> String {
        context
    }

    #[completion(prompt = "context", argument = "context")]
    pub(super) fn error(error: String) -> Vec<String> {
        vec![error]
    }
}

#[tokio::test]
async fn functions_have_any_names() {
    let server = Server::new("named").tools((named::value, named::tool, named::result)).resource(named::server);
    let server = server.prompt(named::context).completion(named::error);
    let mut client = Pipe::legacy(&server, json!({})).await;
    assert_eq!(text(&client.call("value", json!({"value": 7})).await), "7");
    let read = client.request("resources/read", json!({"uri": "a://x"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "x");
}

/// Types of a program's own that have the names of the crate's.
mod own {
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct State {
        pub(super) code: String,
    }

    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct Context {
        pub(super) line: u32,
    }

    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    pub(super) enum Access {
        Read,
    }
}

#[tool]
async fn tax(
    state: own::State,
    #[arg] context: own::Context,
    #[arg(default = own::Access::Read)] access: own::Access,
) -> String {
    format!("{} {} {access:?}", state.code, context.line)
}

#[tokio::test]
async fn own_types_with_the_names_of_ours_are_arguments() {
    let mut client = Pipe::legacy(&Server::new("own").tool(tax), json!({})).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["state", "context"]), "{tools}");
    let result = client.call("tax", json!({"state": {"code": "NY"}, "context": {"line": 7}})).await;
    assert_eq!(text(&result), "NY 7 Read");
}
