//! Lists, and who hears of their changes; resources; levels; completion.

use crate::support::Pipe;
use brumate_mcp::{
    CacheScope, Context, Error, Icon, Resource, ResourceRequest, Server, Tool, completion, resource, tool,
};
use serde_json::{Value, json};
use std::time::Duration;

fn tool_called(name: &str) -> Tool {
    Tool::new(name).raw_handler(|_: Value, _: Context| async {})
}

#[tokio::test]
async fn lists_come_in_pages_in_the_order_of_registration() {
    let names = ["c", "a", "e", "b", "d"];
    let server = names.iter().fold(Server::new("pages").page_size(2), |server, name| server.tool(tool_called(name)));
    let mut client = Pipe::legacy(&server, json!({})).await;
    let (mut found, mut params) = (Vec::new(), json!({}));
    loop {
        let result = client.request("tools/list", params).await["result"].clone();
        let page = result["tools"].as_array().expect("tools");
        assert!(page.len() <= 2);
        found.extend(page.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()));
        match result.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!(found, names);
    for list in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        // The last one is of an item that there never was.
        for cursor in ["", "?", "1", "AAAAAAAAAA8"] {
            let answer = client.request(list, json!({"cursor": cursor})).await;
            assert_eq!(answer["error"]["code"], -32602, "{list} {cursor:?}: {answer}");
        }
    }
}

#[resource("notes://{name}", mime_type = "text/plain", icon = "https://example.com/note.png")]
async fn note(name: String) -> Result<String, Error> {
    match name.as_str() {
        "missing" => Err(Error::not_found("no such note")),
        "broken" => Err(Error::new("the disk is on fire")),
        "panic" => panic!("a secret"),
        name => Ok(format!("note {name}")),
    }
}

#[resource("count://{number}{?times}")]
fn count(number: i32, #[arg(default = 2)] times: i32) -> String {
    (number * times).to_string()
}

#[tool]
async fn reads(context: Context) -> Result<String, Error> {
    let contents = context.read_resource("notes://inner").await?;
    Ok(contents[0].as_text().unwrap_or_default().to_owned())
}

fn resources() -> Server {
    let bytes = Resource::new("bytes://all").handler(|_, _| async { vec![0u8, 159] }).size(2);
    let cached = Resource::new("cached://x")
        .handler(|request: ResourceRequest, _| async move { request.uri })
        .cache(Duration::from_secs(60), CacheScope::Public);
    Server::new("resources")
        .title("Resources")
        .icon(Icon::new("https://example.com/icon.svg").mime_type("image/svg+xml").size("any"))
        .instructions("Read.")
        .cache_lists(Duration::from_secs(5), CacheScope::Private)
        .resource(note)
        .resource(count)
        .resource(bytes)
        .resource(cached)
        .tool(reads)
}

#[tokio::test]
async fn resources_are_read_by_address_and_by_template() {
    let mut client = Pipe::legacy(&resources(), json!({})).await;
    let read = async |client: &mut Pipe, uri: &str| {
        let answer = client.request("resources/read", json!({"uri": uri})).await;
        if answer["error"].is_null() { answer["result"]["contents"][0].clone() } else { answer["error"].clone() }
    };
    assert_eq!(
        read(&mut client, "notes://a%20b").await,
        json!({"uri": "notes://a%20b", "mimeType": "text/plain", "text": "note a b"})
    );
    assert_eq!(read(&mut client, "count://21").await["text"], "42");
    assert_eq!(read(&mut client, "count://2?times=5").await["text"], "10");
    assert_eq!(read(&mut client, "bytes://all").await["blob"], "AJ8=");
    assert_eq!(read(&mut client, "count://many").await["code"], -32002);
    assert_eq!(read(&mut client, "notes://missing").await["code"], -32002);
    assert_eq!(read(&mut client, "none://").await["data"]["uri"], "none://");
    assert_eq!(read(&mut client, "notes://broken").await["message"], "the disk is on fire");
    assert_eq!(read(&mut client, "notes://panic").await["message"], "resource `notes://panic` failed unexpectedly");
    assert_eq!(client.call("reads", json!({})).await["content"][0]["text"], "note inner");
    let mut modern = Pipe::modern(&resources(), json!({}));
    assert_eq!(read(&mut modern, "none://").await["code"], -32602);
}

#[tokio::test]
async fn what_may_be_cached_is_said_to_those_who_understand_it() {
    let mut modern = Pipe::modern(&resources(), json!({}));
    let hints = |answer: &Value| (answer["result"]["ttlMs"].clone(), answer["result"]["cacheScope"].clone());
    let read = json!({"uri": "cached://x"});
    assert_eq!(hints(&modern.request("tools/list", json!({})).await), (json!(5000), json!("private")));
    assert_eq!(hints(&modern.request("resources/read", read.clone()).await), (json!(60000), json!("public")));
    assert_eq!(
        hints(&modern.request("resources/read", json!({"uri": "bytes://all"})).await),
        (json!(0), json!("private"))
    );
    let mut legacy = Pipe::legacy(&resources(), json!({})).await;
    assert_eq!(hints(&legacy.request("tools/list", json!({})).await), (Value::Null, Value::Null));
    assert_eq!(hints(&legacy.request("resources/read", read).await), (Value::Null, Value::Null));
}

#[tokio::test]
async fn sessions_hear_of_changes_and_of_what_they_subscribed_to() {
    let server = resources();
    let mut client = Pipe::legacy(&server, json!({})).await;
    // The server takes note of a new session a moment after it has begun.
    while tokio::time::timeout(Duration::from_millis(20), async {
        server.notify_prompts_changed().await;
        client.receive().await
    })
    .await
    .is_err()
    {}
    server.add_tool(tool_called("new")).expect("a tool");
    assert_eq!(other(&mut client).await["method"], "notifications/tools/list_changed");
    assert!(server.remove_resource("bytes://all") && !server.remove_resource("bytes://all"));
    assert_eq!(other(&mut client).await["method"], "notifications/resources/list_changed");

    client.request("resources/subscribe", json!({"uri": "notes://a"})).await;
    server.notify_resource_updated("notes://b").await;
    server.notify_resource_updated("notes://a").await;
    let updated = other(&mut client).await;
    assert_eq!(
        (&updated["method"], &updated["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!("notes://a"))
    );
    client.request("resources/unsubscribe", json!({"uri": "notes://a"})).await;
    server.notify_resource_updated("notes://a").await;
    server.notify_tools_changed().await;
    assert_eq!(other(&mut client).await["method"], "notifications/tools/list_changed");
}

/// The next message that does not say that prompts have changed.
async fn other(client: &mut Pipe) -> Value {
    loop {
        let message = client.receive().await;
        if message["method"] != "notifications/prompts/list_changed" {
            return message;
        }
    }
}

#[tokio::test]
async fn since_2026_07_28_who_listens_hears_what_was_asked_for() {
    let server = resources();
    let mut client = Pipe::modern(&server, json!({}));
    let filter = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["notes://a"]}});
    let id = client.start("subscriptions/listen", filter).await;
    let first = client.receive().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    // Another request's answer: the stream is being listened to.
    client.request("tools/list", json!({})).await;
    let heard = async |client: &mut Pipe| loop {
        // The listener may be registered a moment after its acknowledgement.
        server.notify_resources_changed().await;
        server.notify_resource_updated("notes://b").await;
        server.notify_resource_updated("notes://a").await;
        if let Ok(message) = tokio::time::timeout(Duration::from_millis(50), client.receive()).await {
            return message;
        }
    };
    let message = heard(&mut client).await;
    assert_eq!(message["params"]["uri"], "notes://a", "{message}");
    assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    server.notify_tools_changed().await;
    loop {
        let message = client.receive().await;
        if message["method"] == "notifications/tools/list_changed" {
            break;
        }
        assert_eq!(message["params"]["uri"], "notes://a", "{message}");
    }
}

#[tool]
async fn talks(context: Context) {
    context.debug("debug").await;
    context.log(brumate_mcp::LogLevel::Error, Some("part"), json!({"code": 7})).await;
    for done in [1.0, 1.0, 0.5, f64::NAN, 2.0] {
        context.progress_message(done, Some(2.0), "working").await;
    }
}

#[tokio::test]
async fn sessions_choose_what_is_logged_and_progress_only_grows() {
    let mut client = Pipe::legacy(&Server::new("levels").tool(talks), json!({})).await;
    client.call("talks", json!({})).await;
    assert_eq!(client.heard.len(), 2, "without a token there is no progress: {:?}", client.heard);
    client.request("logging/setLevel", json!({"level": "warning"})).await;
    client.heard.clear();
    let params = json!({"name": "talks", "_meta": {"progressToken": 9}});
    client.request("tools/call", params).await;
    let params: Vec<_> = client.heard.iter().map(|message| message["params"].clone()).collect();
    assert_eq!(params[0], json!({"level": "error", "logger": "part", "data": {"code": 7}}));
    let progress: Vec<_> = params[1..].iter().map(|params| params["progress"].clone()).collect();
    assert_eq!(progress, [json!(1.0), json!(2.0)]);
    assert_eq!(params[1]["message"], "working");
}

#[completion(template = "notes://{name}", argument = "name")]
async fn suggest_names(typed: String, known: std::collections::BTreeMap<String, String>) -> Vec<String> {
    (0..150).map(|number| format!("{typed}{number}{}", known.len())).collect()
}

#[tokio::test]
async fn suggestions_are_counted_and_cut_off() {
    let server = resources().completion(suggest_names);
    let mut client = Pipe::legacy(&server, json!({})).await;
    let mut params = json!({
        "ref": {"type": "ref/resource", "uri": "notes://{name}"},
        "argument": {"name": "name", "value": "x"},
        "context": {"arguments": {"other": "1"}},
    });
    let completion = client.request("completion/complete", params.clone()).await["result"]["completion"].clone();
    assert_eq!(completion["values"].as_array().map(Vec::len), Some(100));
    assert_eq!(
        (&completion["values"][0], &completion["total"], &completion["hasMore"]),
        (&json!("x01"), &json!(150), &json!(true))
    );
    params["argument"]["name"] = "unknown".into();
    let completion = client.request("completion/complete", params).await["result"]["completion"].clone();
    assert_eq!(completion["values"], json!([]));
}

#[tokio::test]
async fn a_server_says_what_it_is_and_what_it_offers() {
    let server = resources().version("1.2.3").extension("com.example/x", json!({"a": 1}));
    let mut client = Pipe::modern(&server, json!({}));
    let discovered = client.request("server/discover", json!({})).await["result"].clone();
    assert_eq!(discovered["instructions"], "Read.", "{discovered}");
    let capabilities = &discovered["capabilities"];
    assert_eq!(capabilities["resources"], json!({"listChanged": true, "subscribe": true}));
    assert_eq!(capabilities["extensions"]["com.example/x"], json!({"a": 1}));
    assert!(capabilities.get("prompts").is_none());
    let mut legacy = Pipe::legacy(&server, json!({})).await;
    let templates = legacy.request("resources/templates/list", json!({})).await["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["icons"], json!([{"src": "https://example.com/note.png"}]));
    assert_eq!(templates.as_array().map(Vec::len), Some(2));
}
