//! Layers around calls, and errors that stay on the server.

use crate::log::Log;
use crate::support::{Http, Pipe, text};
use brumate_mcp::{
    Completion, Context, Elicitation, Error, HttpOptions, Layer, Next, Prompt, Resource, Server, Tool, ToolCall,
    ToolResult, tool,
};
use serde_json::{Value, json};
use std::io;
use std::sync::{Arc, Mutex};

type Lines = Arc<Mutex<Vec<String>>>;

fn lines(log: &Lines) -> Vec<String> {
    std::mem::take(&mut log.lock().expect("lines"))
}

/// Notes what passes, before and after.
struct Notes(&'static str, Lines);

impl Notes {
    fn note(&self, what: &str) {
        self.1.lock().expect("lines").push(format!("{}: {what}", self.0));
    }
}

impl Layer for Notes {
    async fn call(&self, call: ToolCall, next: Next) -> Result<ToolResult, Error> {
        self.note(&format!("{} {}", call.name(), Value::Object(call.arguments().clone())));
        let result = next.run(call).await;
        self.note(&match &result {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        });
        result
    }
}

#[tool]
async fn double(number: i64) -> i64 {
    number * 2
}

#[tool]
async fn fails() -> Result<String, Error> {
    Err(Error::new("broken"))
}

#[tokio::test]
async fn the_first_layer_is_the_outermost_and_those_of_a_tool_are_within() {
    let log = Lines::default();
    let notes = |name| Notes(name, log.clone());
    let server = Server::new("layers").layer(notes("1")).tool(double).layer(notes("2"));
    let server = server.tool(fails.tool().layer(notes("3")).layer(notes("4")));
    let mut client = Pipe::legacy(&server, json!({})).await;
    assert_eq!(text(&client.call("double", json!({"number": 4})).await), "8");
    let expected = [r#"1: double {"number":4}"#, r#"2: double {"number":4}"#, "2: ok", "1: ok"];
    assert_eq!(lines(&log), expected, "layers that are added after a tool are around it too");
    let result = client.call("fails", json!({})).await;
    assert!(result["isError"] == true && text(&result) == "broken", "{result}");
    let through = ["1", "2", "3", "4"].map(|name| format!("{name}: fails {{}}"));
    let back = ["4", "3", "2", "1"].map(|name| format!("{name}: broken"));
    assert_eq!(lines(&log), [through, back].concat());
    // What does not fit the schema gets as far as the schema.
    assert_eq!(client.call("double", json!({"number": "x"})).await["isError"], true);
    assert!(lines(&log).is_empty());
}

#[tokio::test]
async fn layers_answer_themselves_change_calls_and_results_and_try_again() {
    async fn cached(call: ToolCall, next: Next) -> Result<ToolResult, Error> {
        match call.arguments()["number"].as_i64() {
            Some(0) => Ok(ToolResult::text("nothing")),
            Some(1) => Err(Error::protocol(-32050, "not one", None)),
            _ => next.run(call).await,
        }
    }
    let server = Server::new("layers").layer(cached).tool(double).layer(async |mut call: ToolCall, next: Next| {
        let number = call.arguments()["number"].as_i64().unwrap_or_default();
        call.arguments_mut().insert("number".to_owned(), (number + 1).into());
        let first = next.clone().run(call.clone()).await?;
        assert_eq!(next.run(call).await?, first);
        Ok(first.meta("layer", true))
    });
    let mut client = Pipe::legacy(&server, json!({})).await;
    assert_eq!(text(&client.call("double", json!({"number": 0})).await), "nothing");
    let answer = client.request("tools/call", json!({"name": "double", "arguments": {"number": 1}})).await;
    assert_eq!(answer["error"]["code"], -32050, "{answer}");
    let result = client.call("double", json!({"number": 4})).await;
    assert_eq!((text(&result), &result["_meta"]), ("10", &json!({"layer": true})));
}

#[tokio::test]
async fn a_layer_sees_the_context_and_asks_the_client() {
    let confirmed = Tool::new("drop").raw_handler(|_, _| async { "dropped" });
    let server = Server::new("layers").tool(confirmed).layer(async |call: ToolCall, next: Next| {
        let question = Elicitation::schema("Really?", json!({"type": "object", "properties": {}}));
        match call.context().elicit(question).await?.accepted() {
            Some(_) => next.run(call).await,
            None => Err(Error::new("not confirmed")),
        }
    });
    let mut client = Pipe::modern(&server, json!({"elicitation": {}}));
    let mut params = json!({"name": "drop", "arguments": {}});
    let asked = client.request("tools/call", params.clone()).await["result"].clone();
    let key = asked["inputRequests"].as_object().and_then(|asked| asked.keys().next()).expect("a question");
    for (action, expected) in [("accept", "dropped"), ("decline", "not confirmed")] {
        params["inputResponses"] = json!({key: {"action": action}});
        params["requestState"] = asked["requestState"].clone();
        let answer = client.request("tools/call", params.clone()).await;
        assert_eq!(text(&answer["result"]), expected);
    }
}

#[tokio::test]
async fn a_task_has_its_layers() {
    let log = Lines::default();
    let server = Server::new("layers").layer(Notes("1", log.clone()));
    let server = server.tool(double.tool().tasks(brumate_mcp::TaskSupport::Required));
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut client = Pipe::modern(&server, capabilities);
    let task = client.call("double", json!({"number": 1})).await;
    let id = task["taskId"].as_str().expect("a task");
    loop {
        let state = client.request("tasks/get", json!({"taskId": id})).await["result"].clone();
        if state["status"] == "completed" {
            assert_eq!(text(&state["result"]), "2");
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(lines(&log), [r#"1: double {"number":1}"#, "1: ok"]);
}

/// An error as libraries have them.
fn foreign() -> io::Error {
    io::Error::other("/secret/path: denied")
}

fn failing() -> Server {
    Server::new("failing")
        .tool(Tool::new("foreign").raw_handler(|_, _| async { Err::<String, _>(foreign()) }))
        .tool(Tool::new("text").raw_handler(|_, _| async { Err::<String, _>("/secret/path".to_owned()) }))
        .tool(Tool::new("own").raw_handler(|_, _| async { Err::<String, _>(Error::new("say please")) }))
        .tool(Tool::new("reads").raw_handler(|_, context: Context| async move {
            context.read_resource("a://foreign").await.map(|_| "read")
        }))
        .resource(Resource::new("a://foreign").handler(|_, _| async { Err::<String, _>(foreign()) }))
        .resource(Resource::new("a://own").handler(|_, _| async { Err::<String, _>(Error::not_found("gone")) }))
        .prompt(Prompt::new("foreign").handler(|_, _| async { Err::<String, _>(foreign()) }))
        .prompt(Prompt::new("own").handler(|_, _| async { Err::<String, _>(Error::invalid_params("no topic")) }))
        .completion(Completion::prompt("own", "x", |_, _| async { Err::<Vec<String>, _>(foreign()) }))
}

/// What a client is told in all these cases.
async fn told(server: &Server) -> [String; 8] {
    let mut client = Pipe::legacy(server, json!({})).await;
    let mut told = Vec::new();
    for name in ["foreign", "text", "own", "reads"] {
        let result = client.call(name, json!({})).await;
        assert_eq!(result["isError"], true, "{result}");
        told.push(text(&result).to_owned());
    }
    let reference = json!({"type": "ref/prompt", "name": "own"});
    for (method, params) in [
        ("resources/read", json!({"uri": "a://foreign"})),
        ("resources/read", json!({"uri": "a://own"})),
        ("prompts/get", json!({"name": "foreign"})),
        ("completion/complete", json!({"ref": reference, "argument": {"name": "x", "value": ""}})),
    ] {
        let answer = client.request(method, params).await;
        told.push(answer["error"]["message"].as_str().expect("an error").to_owned());
    }
    told.try_into().expect("eight")
}

#[tokio::test]
async fn messages_of_other_errors_stay_on_the_server_where_it_says_so() {
    let denied = "/secret/path: denied";
    let open = [denied, "/secret/path", "say please", denied, denied, "gone", denied, denied];
    assert_eq!(told(&failing()).await, open);

    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.subscriber(tracing::Level::INFO));
    let hidden = "an internal error occurred; the server's log has the reason";
    let expected = [hidden, hidden, "say please", hidden, hidden, "gone", hidden, hidden];
    assert_eq!(told(&failing().hide_errors()).await, expected);
    let log = log.text();
    for what in ["tool `foreign` failed", "resource `a://foreign` failed", "prompt `foreign` failed", denied] {
        assert!(log.contains(what), "{what}: {log}");
    }
    assert!(!log.contains("say please"), "{log}");
}

#[tokio::test]
async fn a_start_that_fails_says_why_on_the_server_alone() {
    let server = || Server::new("never").tool(double).lifespan(async || Err::<(), _>(foreign()), async |_| {});
    let call = async |server: &Server| {
        let http = Http::new(server, HttpOptions::new());
        http.call_modern("double", json!({"number": 1})).await.last()["error"]["message"].clone()
    };
    assert_eq!(call(&server()).await, "the server's start failed: /secret/path: denied");
    let hiding = server().hide_errors();
    assert_eq!(call(&hiding).await, "an internal error occurred; the server's log has the reason");
    // Who serves it is told.
    let error = server().hide_errors().start().await.expect_err("it cannot start");
    assert!(error.to_string().contains("/secret/path"), "{error}");
}
