//! Tasks: whose they are, how they end, what bounds them.

use crate::support::{Answer, Http, MODERN, Pipe, TellsOfItsEnd, events, meta, read_until, text};
use axum::body::Body;
use brumate_mcp::{
    Content, Context, Elicitation, Error, HttpOptions, Principal, Server, State, TaskLimits, TaskSupport, Tool, tool,
};
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Lets tools go on, and tells of their ends.
#[derive(Default)]
struct Gate {
    open: Notify,
    dropped: Arc<Notify>,
}

/// Waits for the gate.
#[tool(tasks = "optional")]
async fn waits(gate: State<Arc<Gate>>, context: Context) -> Content {
    let _told = TellsOfItsEnd(gate.dropped.clone());
    context.progress_message(1.0, None, "waiting").await;
    gate.open.notified().await;
    Content::text("through")
}

/// Must be a task.
#[tool(tasks = "required")]
async fn must() -> Content {
    Content::text("done")
}

/// Asks the same thing twice.
#[tool(tasks = "optional")]
async fn asks(context: Context) -> Result<Content, Error> {
    let question = || Elicitation::schema("Well?", json!({"type": "object", "properties": {}})).key("same");
    let first = context.elicit(question()).await?;
    let second = context.elicit(question()).await?;
    Ok(Content::text(format!("{:?} {:?}", first.accepted(), second.accepted())))
}

/// Says much.
#[tool(tasks = "optional")]
async fn says(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Waits where it blocks.
#[tool(tasks = "optional")]
fn blocks(context: Context, gate: State<Arc<Gate>>) -> Content {
    let _told = TellsOfItsEnd(gate.dropped.clone());
    while !context.is_cancelled() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Content::text("stopped")
}

fn server() -> (Server, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let quick = Tool::new("quick")
        .tasks(TaskSupport::Optional)
        .task_after(Duration::from_secs(3600))
        .raw_handler(|_, context| async move { context.is_task() });
    let server = Server::new("tasks").state(gate.clone()).tool(quick);
    (server.tool(waits).tool(must).tool(asks).tool(says).tool(blocks), gate)
}

fn capabilities() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// The id of the task that a call becomes.
async fn begin(pipe: &mut Pipe, name: &str, arguments: Value) -> String {
    let result = pipe.call(name, arguments).await;
    assert_eq!((&result["resultType"], &result["status"]), (&json!("task"), &json!("working")), "{result}");
    result["taskId"].as_str().expect("an id").to_owned()
}

async fn get(pipe: &mut Pipe, id: &str) -> Value {
    let answer = pipe.request("tasks/get", json!({"taskId": id})).await;
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"].clone()
}

/// The task when it has another status.
async fn after(pipe: &mut Pipe, id: &str, status: &str) -> Value {
    loop {
        let task = get(pipe, id).await;
        if task["status"] != status {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_task_says_how_it_goes_and_has_its_result() {
    let (server, gate) = server();
    let mut pipe = Pipe::modern(&server, capabilities());
    let id = begin(&mut pipe, "waits", json!({})).await;
    while get(&mut pipe, &id).await["statusMessage"] != "waiting" {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    gate.open.notify_one();
    let task = after(&mut pipe, &id, "working").await;
    assert_eq!((&task["status"], text(&task["result"])), (&json!("completed"), "through"), "{task}");
    assert!(pipe.heard.is_empty(), "{:?}", pipe.heard);
    // Ended is ended.
    pipe.request("tasks/cancel", json!({"taskId": id})).await;
    assert_eq!(get(&mut pipe, &id).await, task);
}

#[tokio::test]
async fn a_cancelled_task_drops_its_handler() {
    let (server, gate) = server();
    let mut pipe = Pipe::modern(&server, capabilities());
    for name in ["waits", "blocks"] {
        let id = begin(&mut pipe, name, json!({})).await;
        let cancelled = pipe.request("tasks/cancel", json!({"taskId": id})).await;
        assert_eq!(cancelled["result"]["resultType"], "complete", "{cancelled}");
        gate.dropped.notified().await;
        let task = after(&mut pipe, &id, "working").await;
        assert_eq!((&task["status"], task.get("result")), (&json!("cancelled"), None), "{task}");
    }
}

#[tokio::test]
async fn a_question_waits_for_its_answer_and_has_a_name_of_its_own() {
    let (server, _) = server();
    let mut pipe = Pipe::modern(&server, capabilities());
    let id = begin(&mut pipe, "asks", json!({})).await;
    let mut names = Vec::new();
    for round in 1..=2 {
        let task = after(&mut pipe, &id, "working").await;
        assert_eq!(task["status"], "input_required", "{task}");
        let open = task["inputRequests"].as_object().expect("questions");
        assert_eq!((open.len(), &open.values().next().expect("one")["method"]), (1, &json!("elicitation/create")));
        names.extend(open.keys().cloned());
        let answers = json!({&names[round - 1]: {"action": "accept", "content": {"round": round}}, "other": {}});
        pipe.request("tasks/update", json!({"taskId": id, "inputResponses": answers})).await;
    }
    let mut task = get(&mut pipe, &id).await;
    while task["status"] != "completed" {
        task = after(&mut pipe, &id, "working").await;
    }
    assert!(text(&task["result"]).contains("Number(1)") && text(&task["result"]).contains("Number(2)"), "{task}");
    assert_ne!(names[0], names[1]);
}

#[tokio::test]
async fn tools_become_tasks_where_and_when_they_say_so() {
    let (server, gate) = server();
    let mut pipe = Pipe::modern(&server, capabilities());
    assert_eq!(pipe.call("quick", json!({})).await["structuredContent"]["result"], json!(false));
    // Clients that know no tasks get answers, or hear that they must know them.
    let mut plain = Pipe::modern(&server, json!({}));
    gate.open.notify_one();
    assert_eq!(text(&plain.call("waits", json!({})).await), "through");
    let refused = plain.request("tools/call", json!({"name": "must", "arguments": {}})).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let mut legacy = Pipe::legacy(&server, capabilities()).await;
    gate.open.notify_one();
    assert_eq!(text(&legacy.call("waits", json!({})).await), "through");
}

#[tokio::test]
async fn tasks_are_bounded_in_number_size_and_time() {
    let (server, gate) = server();
    let mut limits = TaskLimits::default();
    (limits.max_tasks, limits.max_result_bytes, limits.max_run_time) = (1, 1000, Duration::from_secs(3600));
    let server = server.task_limits(limits.clone());
    let mut pipe = Pipe::modern(&server, capabilities());
    let first = begin(&mut pipe, "waits", json!({})).await;
    // There is no room: what can be answered is answered, what cannot is told so.
    assert_eq!(text(&pipe.call("says", json!({"bytes": 3})).await), "xxx");
    let refused = pipe.call("must", json!({})).await;
    assert!(refused["isError"] == true && text(&refused).contains("too many tasks"), "{refused}");
    gate.open.notify_one();
    after(&mut pipe, &first, "working").await;
    // It was fetched, and makes room.
    let large = begin(&mut pipe, "says", json!({"bytes": 2000})).await;
    let gone = pipe.request("tasks/get", json!({"taskId": first})).await;
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
    let task = after(&mut pipe, &large, "working").await;
    let message = task["error"]["message"].as_str().expect("a message");
    assert!(task["status"] == "failed" && message.contains("larger than 1000 bytes"), "{task}");
    limits.max_run_time = Duration::from_millis(1);
    let server = server.task_limits(limits);
    let mut pipe = Pipe::modern(&server, capabilities());
    let long = begin(&mut pipe, "waits", json!({})).await;
    let task = after(&mut pipe, &long, "working").await;
    let message = task["error"]["message"].as_str().expect("a message");
    assert!(task["status"] == "failed" && message.contains("it ran for more than"), "{task}");
}

fn options() -> HttpOptions {
    let known = |token: &str| ["ada", "bob"].contains(&token).then(|| Principal::new(token));
    HttpOptions::new().bearer(known).drain_timeout(Duration::from_secs(3600))
}

fn of(http: &Http, who: &str) -> Http {
    http.clone().with("authorization", &format!("Bearer {who}"))
}

async fn begin_request(http: &Http, method: &'static str, name: &str, mut params: Value) -> Response<Body> {
    params["_meta"] = meta(capabilities());
    let mut http = http.clone().with("mcp-protocol-version", MODERN).with("mcp-method", method);
    if !name.is_empty() {
        http = http.with("mcp-name", name);
    }
    http.begin(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await
}

async fn request(http: &Http, method: &'static str, name: &str, params: Value) -> Answer {
    crate::support::read(begin_request(http, method, name, params).await).await
}

async fn begin_over_http(http: &Http) -> String {
    let begun = request(http, "tools/call", "waits", json!({"name": "waits", "arguments": {}})).await;
    begun.last()["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{}", begun.body)).to_owned()
}

#[tokio::test]
async fn a_task_of_another_principal_is_one_that_never_was() {
    let (server, _) = server();
    let http = Http::new(&server, options());
    let id = begin_over_http(&of(&http, "ada")).await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let asked = |who: &'static str, id: String| {
            let http = of(&http, who);
            async move { request(&http, method, &id, json!({"taskId": id, "inputResponses": {}})).await.last() }
        };
        let foreign = asked("bob", id.clone()).await;
        assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
        assert_eq!(foreign["error"], asked("ada", "0".repeat(32)).await["error"]);
    }
    let mine = request(&of(&http, "ada"), "tasks/get", &id, json!({"taskId": id})).await.last();
    assert_eq!(mine["result"]["status"], "working", "{mine}");
}

#[tokio::test]
async fn the_end_of_the_server_waits_for_tasks_and_lets_them_be_fetched() {
    let (server, gate) = server();
    let http = of(&Http::new(&server, options()), "ada");
    let id = begin_over_http(&http).await;
    let app = http.app.clone();
    let draining = tokio::spawn(async move { app.drain().await });
    while request(&http, "tools/list", "", json!({})).await.status != StatusCode::SERVICE_UNAVAILABLE {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let get = || async { request(&http, "tasks/get", &id, json!({"taskId": id})).await.last()["result"].clone() };
    assert_eq!(get().await["status"], "working");
    assert!(!draining.is_finished());
    gate.open.notify_one();
    let mut task = get().await;
    while task["status"] == "working" {
        tokio::time::sleep(Duration::from_millis(1)).await;
        task = get().await;
    }
    assert_eq!(text(&task["result"]), "through");
    draining.await.expect("the drain ends");
}

#[tokio::test]
async fn who_listens_hears_how_its_own_tasks_go() {
    let (server, gate) = server();
    let http = Http::new(&server, options());
    let (ada, bob) = (of(&http, "ada"), of(&http, "bob"));
    let (mine, foreign) = (begin_over_http(&ada).await, begin_over_http(&bob).await);
    let params = json!({"notifications": {"taskIds": [&mine, &foreign, "none"]}});
    let mut stream = begin_request(&ada, "subscriptions/listen", "", params).await;
    let heard = read_until(&mut stream, "notifications/tasks").await;
    let (_, acknowledged) = &heard[0];
    assert_eq!(acknowledged["params"]["notifications"]["taskIds"], json!([&mine]), "{acknowledged}");
    let (_, told) = heard.last().expect("a notification");
    assert_eq!((&told["params"]["taskId"], &told["params"]["status"]), (&json!(&mine), &json!("working")), "{told}");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{told}");
    // Both tasks go on, whenever they begin to wait.
    let opening = tokio::spawn(async move {
        loop {
            gate.open.notify_waiters();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let mut text = String::new();
    let task = loop {
        let frame = stream.frame().await.expect("the stream goes on").expect("a frame");
        if let Ok(data) = frame.into_data() {
            text.push_str(std::str::from_utf8(&data).expect("text"));
        }
        let ended = |message: &Value| message["params"]["status"] == "completed";
        if let Some((_, message)) = events(&text).into_iter().find(|(_, message)| ended(message)) {
            break message["params"].clone();
        }
    };
    assert_eq!(crate::support::text(&task["result"]), "through", "{task}");
    opening.abort();
}
