//! Layers around all requests.

use crate::support::{Http, LEGACY, MODERN, Pipe, TellsOfItsEnd, meta};
use brumate_mcp::{
    AnswerKind, Completion, Context, Elicitation, Error, HttpOptions, McpAnswer, McpRequest, NextRequest, Principal,
    Prompt, RequestLayer, Resource, Server, TaskSupport, Tool, ToolResult,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

type Lines = Arc<Mutex<Vec<String>>>;

fn lines(log: &Lines) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

/// Notes requests and their answers.
#[derive(Clone)]
struct Notes(&'static str, Lines);

impl Notes {
    fn note(&self, text: String) {
        self.1.lock().unwrap().push(format!("{}{text}", self.0));
    }
}

impl RequestLayer for Notes {
    async fn call(&self, request: McpRequest, next: NextRequest) -> Result<McpAnswer, Error> {
        let method = request.method().to_owned();
        self.note(format!("> {method}"));
        let answer = next.run(request).await;
        self.note(match &answer {
            Ok(_) => format!("< {method}"),
            Err(error) => format!("< {} {}", error.code(), error.message()),
        });
        answer
    }
}

/// The value that a layer puts into each request.
#[derive(Clone)]
struct Tag(String);

fn tag(context: &Context) -> String {
    context.extension::<Tag>().map_or("none".to_owned(), |tag| tag.0.clone())
}

fn offers() -> Server {
    let asks = Tool::new("asks").raw_handler(|_, context: Context| async move {
        let question = Elicitation::schema("Really?", json!({"type": "object", "properties": {}}));
        context.elicit(question).await.map(|_| "asked")
    });
    let task = Tool::new("task").raw_handler(|_, context: Context| async move { tag(&context) });
    Server::new("offers")
        .tool(Tool::new("tag").raw_handler(|_, context: Context| async move {
            ToolResult::text(tag(&context)).structured(json!({"success": false}))
        }))
        .tool(Tool::new("fails").raw_handler(|_, _| async { Err::<String, _>(Error::new("broken")) }))
        .tool(asks)
        .tool(task.tasks(TaskSupport::Required))
        .resource(Resource::new("tag://").handler(|_, context| async move { tag(&context) }))
        .prompt(Prompt::new("tag").handler(|_, context| async move { tag(&context) }))
        .completion(Completion::prompt("tag", "x", |_, context| async move { vec![tag(&context)] }))
}

#[tokio::test]
async fn layers_are_around_every_request() {
    let log = Lines::default();
    let server = offers().request_layer(Notes("", log.clone()));
    let mut client = Pipe::legacy(&server, json!({})).await;
    let reference = json!({"type": "ref/prompt", "name": "tag"});
    let requests = [
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "tag"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "tag://"})),
        ("resources/subscribe", json!({"uri": "tag://"})),
        ("resources/unsubscribe", json!({"uri": "tag://"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "tag"})),
        ("completion/complete", json!({"ref": reference, "argument": {"name": "x", "value": ""}})),
        ("logging/setLevel", json!({"level": "error"})),
    ];
    let mut expected = vec!["> initialize".to_owned(), "< initialize".to_owned()];
    for (method, params) in requests {
        let answer = client.request(method, params).await;
        assert!(answer.get("result").is_some(), "{answer}");
        expected.extend([format!("> {method}"), format!("< {method}")]);
    }
    for (method, params, error) in [
        ("tools/call", json!({"name": 1}), "-32602 Invalid parameters for tools/call"),
        ("kernels/list", json!({}), "-32601 Method not found: kernels/list"),
        ("resources/read", json!({"uri": "none://"}), "-32002 resource `none://` not found"),
        ("tools/call", json!({"name": "none"}), "-32602 Unknown tool: none"),
    ] {
        let answer = client.request(method, params).await;
        assert!(error.starts_with(&answer["error"]["code"].to_string()), "{answer}");
        expected.extend([format!("> {method}"), format!("< {error}")]);
    }
    assert_eq!(lines(&log), expected);

    let mut client = Pipe::modern(&server, json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    client.request("server/discover", json!({})).await;
    let task = client.call("task", json!({})).await["taskId"].clone();
    client.request("tasks/get", json!({"taskId": task})).await;
    client.request("tasks/update", json!({"taskId": task, "inputResponses": {}})).await;
    client.request("tasks/cancel", json!({"taskId": task})).await;
    let methods = ["server/discover", "tools/call", "tasks/get", "tasks/update", "tasks/cancel"];
    let expected: Vec<_> = methods.iter().flat_map(|method| [format!("> {method}"), format!("< {method}")]).collect();
    assert_eq!(lines(&log), expected);
    let listens = client.start("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await;
    client.receive().await;
    client.request("tools/list", json!({})).await;
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": listens}});
    client.send(cancelled).await;
    let mut heard = Vec::new();
    while !heard.iter().any(|line| line == "< subscriptions/listen") {
        tokio::time::sleep(Duration::from_millis(5)).await;
        heard.extend(lines(&log));
    }
    assert!(heard.contains(&"> subscriptions/listen".to_owned()), "{heard:?}");
}

/// Puts in what it sees.
async fn tags(mut request: McpRequest, next: NextRequest) -> Result<McpAnswer, Error> {
    let header = request.http().map(|head| {
        assert!(!head.headers.contains_key("authorization"), "handlers and layers do not see the token");
        head.headers["x-name"].to_str().unwrap().to_owned()
    });
    let seen = json!({
        "method": request.method(), "id": request.id(), "meta": request.meta().get("name"), "header": header,
        "version": request.protocol_version(), "tool": request.tool(), "arguments": request.arguments(),
        "principal": request.principal().map(Principal::name),
    });
    assert!(request.extension::<Tag>().is_none());
    request.insert(Tag(seen.to_string()));
    next.run(request).await
}

async fn sees_the_tag(request: McpRequest, next: NextRequest) -> Result<McpAnswer, Error> {
    assert!(request.extension::<Tag>().is_some());
    next.run(request).await
}

#[tokio::test]
async fn layers_see_the_request_and_put_values_into_it() {
    let server = offers().request_layer(tags).request_layer(sees_the_tag);
    let mut client = Pipe::legacy(&server, json!({})).await;
    let reference = json!({"type": "ref/prompt", "name": "tag"});
    for (method, params, place) in [
        ("tools/call", json!({"name": "tag", "arguments": {"a": [1]}}), "/result/content/0/text"),
        ("resources/read", json!({"uri": "tag://"}), "/result/contents/0/text"),
        ("prompts/get", json!({"name": "tag"}), "/result/messages/0/content/text"),
        (
            "completion/complete",
            json!({"ref": reference, "argument": {"name": "x", "value": ""}}),
            "/result/completion/values/0",
        ),
    ] {
        let mut params = params;
        params["_meta"] = json!({"name": "me"});
        let id = client.start(method, params.clone()).await;
        let answer = client.answer(id).await;
        let seen: Value = serde_json::from_str(answer.pointer(place).unwrap().as_str().unwrap()).unwrap();
        let expected = json!({
            "method": method, "id": id.to_string(), "meta": "me", "header": null, "version": LEGACY,
            "tool": (method == "tools/call").then_some("tag"), "arguments": params.get("arguments"), "principal": null,
        });
        assert_eq!(seen, expected);
    }
    let options = HttpOptions::new().bearer(|token| (token == "secret").then(|| Principal::new("ada")));
    let http = Http::new(&server, options).with("authorization", "Bearer secret").with("x-name", "head");
    let answer = http.call_modern("tag", json!({})).await.last();
    let seen: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&seen["header"], &seen["principal"]), (&json!("head"), &json!("ada")), "{seen}");
    assert_eq!((&seen["version"], &seen["arguments"]), (&json!(MODERN), &json!({})), "{seen}");
    let session = http.session().await;
    let answer = session.call(7, "tag", json!({})).await.last();
    let seen: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&seen["id"], &seen["version"]), (&json!("7"), &json!(LEGACY)), "{seen}");
}

#[tokio::test]
async fn layers_see_what_an_answer_is() {
    let log = Lines::default();
    let notes = Notes("", log.clone());
    let server = offers().request_layer(async move |request: McpRequest, next: NextRequest| {
        let answer = next.run(request).await?;
        let json = answer.tool_result_json().map(|json| serde_json::from_str::<Value>(&json).unwrap());
        let text = json.map(|json| json["content"][0]["text"].clone());
        notes.note(format!("{:?} {} {:?} {text:?}", answer.kind(), answer.is_error(), answer.structured()));
        assert_eq!(answer.kind() == AnswerKind::Result, text.is_some());
        Ok(answer)
    });
    let capabilities = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut client = Pipe::modern(&server, capabilities);
    for name in ["tag", "fails", "asks", "task"] {
        client.call(name, json!({})).await;
    }
    let expected = [
        r#"Result false Some(Object {"success": Bool(false)}) Some(String("none"))"#,
        r#"Result true None Some(String("broken"))"#,
        "InputRequired false None None",
        "Task false None None",
    ];
    assert_eq!(lines(&log), expected);
}

#[tokio::test]
async fn a_layer_refuses_requests_and_the_first_is_the_outermost() {
    let log = Lines::default();
    let server = offers()
        .hide_errors()
        .request_layer(Notes("1", log.clone()))
        .request_layer(async |request: McpRequest, next: NextRequest| match request.method() {
            "tools/call" => Err(Error::protocol(-32050, "no calls", Some(json!({"until": "noon"})))),
            "prompts/list" => Err(std::io::Error::other("/secret/path").into()),
            "resources/list" => panic!("a secret"),
            _ => next.run(request).await,
        })
        .request_layer(Notes("2", log.clone()));
    let hidden = "an internal error occurred; the server's log has the reason";
    let mut client = Pipe::legacy(&server, json!({})).await;
    lines(&log);
    for (method, error) in [
        ("tools/call", json!({"code": -32050, "message": "no calls", "data": {"until": "noon"}})),
        ("prompts/list", json!({"code": -32603, "message": hidden})),
        ("resources/list", json!({"code": -32603, "message": "the request failed unexpectedly"})),
    ] {
        assert_eq!(client.request(method, json!({"name": "tag"})).await["error"], error);
    }
    let expected = ["> tools/call", "< -32050 no calls", "> prompts/list", "< -32603 /secret/path", "> resources/list"];
    assert_eq!(lines(&log), expected.map(|line| format!("1{line}")));
    client.request("tools/list", json!({})).await;
    assert_eq!(lines(&log), ["1> tools/list", "2> tools/list", "2< tools/list", "1< tools/list"]);
    let http = Http::new(&server, HttpOptions::new());
    assert_eq!(http.call_modern("tag", json!({})).await.last()["error"]["code"], -32050);
    // A server that cannot be opened says so.
    let closed =
        offers().request_layer(async |_: McpRequest, _: NextRequest| Err(Error::protocol(-32051, "closed", None)));
    let answer = Http::new(&closed, HttpOptions::new()).post(&Http::initialize()).await;
    assert_eq!(answer.last()["error"]["code"], -32051, "{}", answer.body);
}

#[tokio::test]
async fn the_answer_of_another_request_is_none() {
    let kept: Arc<Mutex<Option<McpAnswer>>> = Arc::default();
    let server = offers().request_layer(async move |request: McpRequest, next: NextRequest| {
        if request.method() == "ping" {
            let answer = next.run(request).await?;
            *kept.lock().unwrap() = Some(answer);
            return Err(Error::new("kept"));
        }
        let kept = kept.lock().unwrap().take();
        match kept {
            Some(kept) => Ok(kept),
            None => next.run(request).await,
        }
    });
    let mut client = Pipe::legacy(&server, json!({})).await;
    assert_eq!(client.request("ping", json!({})).await["error"]["message"], "kept");
    let answer = client.request("tools/list", json!({})).await;
    assert_eq!(answer["error"]["message"], "a layer gave the answer of another request");
    assert!(client.request("tools/list", json!({})).await.get("result").is_some());
}

#[tokio::test]
async fn a_layer_is_dropped_when_its_request_is_cancelled_and_after_the_handler() {
    let log = Lines::default();
    let (waits, started) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let server = {
        let (notes, waits, started) = (Notes("", log.clone()), waits.clone(), started.clone());
        let handler = {
            let (notes, started) = (notes.clone(), started.clone());
            async move |_: Value, _: Context| {
                started.notify_one();
                let _noted = on_drop(move || notes.note("handler".to_owned()));
                std::future::pending::<()>().await;
            }
        };
        Server::new("slow").tool(Tool::new("forever").raw_handler(handler)).request_layer(
            async move |request: McpRequest, next: NextRequest| {
                let is_call = request.method() == "tools/call";
                let waiting = request.arguments().is_some_and(|arguments| arguments.contains_key("wait"));
                let drops = notes.clone();
                let _waits = waiting.then(|| TellsOfItsEnd(waits.clone()));
                let _noted = is_call.then(|| on_drop(move || drops.note("layer".to_owned())));
                if waiting {
                    started.notify_one();
                    std::future::pending::<()>().await;
                }
                let answer = next.run(request).await;
                if is_call {
                    notes.note(format!("answer {}", answer.is_ok()));
                }
                answer
            },
        )
    };
    let mut client = Pipe::legacy(&server, json!({})).await;
    let cancel = |id: u64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let id = client.start("tools/call", json!({"name": "forever", "arguments": {"wait": true}})).await;
    started.notified().await;
    client.send(cancel(id)).await;
    waits.notified().await;
    let id = client.start("tools/call", json!({"name": "forever"})).await;
    started.notified().await;
    client.send(cancel(id)).await;
    let mut found = Vec::new();
    while found.len() < 4 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        found.extend(lines(&log));
    }
    assert_eq!(found, ["layer", "handler", "answer false", "layer"]);
    // Over HTTP a client goes away.
    let http = Http::new(&server, HttpOptions::new());
    let params = json!({"name": "forever", "arguments": {"wait": true}, "_meta": meta(json!({}))});
    let http = http.with("mcp-protocol-version", MODERN).with("mcp-method", "tools/call").with("mcp-name", "forever");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let calling = tokio::spawn(async move { http.begin(&call).await });
    started.notified().await;
    calling.abort();
    waits.notified().await;
}

/// Runs a function when it is dropped.
fn on_drop(run: impl FnOnce()) -> impl Drop {
    struct Guard<F: FnOnce()>(Option<F>);
    impl<F: FnOnce()> Drop for Guard<F> {
        fn drop(&mut self) {
            if let Some(run) = self.0.take() {
                run();
            }
        }
    }
    Guard(Some(run))
}
