//! Tools whose handlers run on between the requests of a call.

use crate::support::{Http, MODERN, Pipe, TellsOfItsEnd, meta, text};
use brumate_mcp::{
    Content, Context, Elicitation, ElicitationResult, Error, HttpOptions, InputError, LogLevel, Principal, Server,
    Suspension, TaskSupport, Tool,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Counts the starts of handlers, and tells of their ends.
#[derive(Default)]
struct Counter {
    starts: AtomicU32,
    ended: Arc<Notify>,
}

fn question(message: &str) -> Elicitation {
    Elicitation::schema(message, json!({"type": "object", "properties": {"value": {"type": "string"}}})).key("input")
}

/// Asks twice, and says what it heard.
async fn ask(context: Context, counter: Arc<Counter>, timeout: Option<Duration>) -> Result<String, Error> {
    let _told = TellsOfItsEnd(counter.ended.clone());
    let start = counter.starts.fetch_add(1, Ordering::Relaxed);
    let mut heard = Vec::new();
    for message in ["first", "second"] {
        context.progress_message(1.0, None, message).await;
        context.set_status_message(format!("asking {message}"));
        let mut form = question(message).unchecked();
        if let Some(timeout) = timeout {
            form = form.timeout(timeout);
        }
        heard.push(match context.elicit(form).await {
            Ok(ElicitationResult::Accepted(content)) => content["value"].to_string(),
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{:?}", error.input_error().expect("an input error")),
        });
    }
    Ok(format!("{} {}", heard.join(" "), counter.starts.load(Ordering::Relaxed) - start))
}

/// Waits until it is told to end.
async fn linger(context: Context, counter: Arc<Counter>) -> Content {
    let _told = TellsOfItsEnd(counter.ended.clone());
    context.progress(1.0, None).await;
    context.cancellation().cancelled().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    Content::text("put in order")
}

fn server() -> (Server, Arc<Counter>) {
    let counter = Arc::new(Counter::default());
    let ask_tool = |name: &str, timeout: Option<Duration>| {
        let counter = counter.clone();
        let tool = Tool::new(name).suspends(Suspension::new().too_late_message("too late"));
        tool.raw_handler(move |_, context| ask(context, counter, timeout))
    };
    let (of_linger, of_stays) = (counter.clone(), counter.clone());
    let lingers = Tool::new("lingers")
        .suspends(Suspension::new())
        .tasks(TaskSupport::Optional)
        .task_after(Duration::from_millis(50))
        .raw_handler(move |_, context| linger(context, of_linger));
    let stays = Tool::new("stays").suspends(Suspension::new().grace(Duration::ZERO)).raw_handler(
        move |_, context: Context| async move {
            let _told = TellsOfItsEnd(of_stays.ended.clone());
            context.progress(1.0, None).await;
            std::future::pending::<()>().await;
        },
    );
    let tasks = ask_tool("asks_in_task", None).tasks(TaskSupport::Optional).task_after(Duration::from_secs(3600));
    let panics = Tool::new("panics").suspends(Suspension::new()).raw_handler(|_, context: Context| async move {
        let _ = context.elicit(question("?")).await;
        panic!("a secret");
        #[allow(unreachable_code, reason = "the type of the handler")]
        ""
    });
    let server = Server::new("suspension").tool(ask_tool("asks", None)).tool(tasks).tool(lingers).tool(stays);
    (server.tool(ask_tool("hurries", Some(Duration::from_millis(50)))).tool(panics), counter)
}

fn capabilities() -> Value {
    json!({"elicitation": {}})
}

fn with_tasks() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

fn answer(value: Value) -> Value {
    json!({"input": {"action": "accept", "content": {"value": value}}})
}

/// The parameters that bring the answers to an `input_required`.
fn again(params: &Value, required: &Value, answers: Value) -> Value {
    assert_eq!(required["result"]["resultType"], "input_required", "{required}");
    let mut params = params.clone();
    params["requestState"] = required["result"]["requestState"].clone();
    params["inputResponses"] = answers;
    params
}

#[tokio::test]
async fn a_handler_runs_once_over_all_requests_of_its_call() {
    let (server, _) = server();
    let mut pipe = Pipe::modern(&server, capabilities());
    let params = |token: u64| json!({"name": "asks", "arguments": {"a": 1}, "_meta": {"progressToken": token}});
    let first = pipe.request("tools/call", params(1)).await;
    assert_eq!(first["result"]["inputRequests"]["input"]["params"]["message"], "first");
    let second = pipe.request("tools/call", again(&params(2), &first, answer(json!("a")))).await;
    assert_eq!(second["result"]["inputRequests"]["input"]["params"]["message"], "second");
    assert_ne!(first["result"]["requestState"], second["result"]["requestState"]);
    // What a client sends in another form reaches a handler that does not want it checked.
    let last = pipe.request("tools/call", again(&params(3), &second, answer(json!(7)))).await;
    assert_eq!(text(&last["result"]), "\"a\" 7 1");
    let heard: Vec<_> = pipe.heard.iter().map(|heard| &heard["params"]).collect();
    let progress = |token: u64, message: &str| json!({"progressToken": token, "progress": 1.0, "message": message});
    assert_eq!(heard, [&progress(1, "first"), &progress(2, "second")]);
}

#[tokio::test]
async fn answers_that_do_not_belong_to_a_waiting_call_are_refused() {
    let (server, _) = server();
    let mut pipe = Pipe::modern(&server, capabilities());
    let params = json!({"name": "asks", "arguments": {"a": 1}});
    let required = pipe.request("tools/call", params.clone()).await;
    let mut other = again(&params, &required, answer(json!("a")));
    other["arguments"] = json!({"a": 2});
    let refused = pipe.request("tools/call", other).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let malformed = pipe.request("tools/call", again(&params, &required, json!({"input": "secret"}))).await;
    assert!(!malformed.to_string().contains("secret") && malformed["error"]["code"] == -32602, "{malformed}");
    let missing = pipe.request("tools/call", again(&params, &required, json!({}))).await;
    assert_eq!(missing["result"], required["result"], "{missing}");
    let given = again(&params, &required, answer(json!("a")));
    assert_eq!(pipe.request("tools/call", given.clone()).await["result"]["resultType"], "input_required");
    for late in
        [given, again(&params, &json!({"result": {"resultType": "input_required", "requestState": "x"}}), json!({}))]
    {
        let late = pipe.request("tools/call", late).await;
        assert_eq!((text(&late["result"]), &late["result"]["isError"]), ("too late", &json!(true)));
    }
    let state = "AAAAAAAA.AAAAAAAAAAAAAAAAAAAAAAAA";
    let elsewhere = json!({"result": {"resultType": "input_required", "requestState": state}});
    let elsewhere = pipe.request("tools/call", again(&params, &elsewhere, answer(json!("a")))).await;
    assert!(text(&elsewhere["result"]).contains("another process"), "{elsewhere}");
}

#[tokio::test]
async fn a_call_of_another_principal_is_one_that_never_was() {
    let (server, _) = server();
    let find = |token: &str| ["Ada", "Grace"].contains(&token).then(|| Principal::new(token));
    // Each has a connection of its own.
    let call = async |name: &str, params: &Value| {
        let http = Http::new(&server, HttpOptions::new().bearer(find));
        let http = http.with("authorization", &format!("Bearer {name}")).with("mcp-protocol-version", MODERN);
        let http = http.with("mcp-method", "tools/call").with("mcp-name", "asks");
        let mut params = params.clone();
        params["_meta"] = meta(capabilities());
        http.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await.last()
    };
    let params = json!({"name": "asks", "arguments": {}});
    let required = call("Ada", &params).await;
    let given = again(&params, &required, answer(json!("a")));
    assert_eq!(text(&call("Grace", &given).await["result"]), "too late");
    let own = call("Ada", &given).await;
    assert_eq!(own["result"]["inputRequests"]["input"]["params"]["message"], "second", "{own}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_come_back_lets_the_handler_go_on_without_answers() {
    let (server, counter) = server();
    let mut pipe = Pipe::modern(&server, capabilities());
    let params = json!({"name": "hurries", "arguments": {}});
    let required = pipe.request("tools/call", params.clone()).await;
    counter.ended.notified().await;
    let late = pipe.request("tools/call", again(&params, &required, answer(json!("a")))).await;
    assert_eq!(text(&late["result"]), "too late");
}

#[tokio::test]
async fn too_many_waiting_calls_fail_their_questions() {
    let (server, _) = server();
    let mut pipe = Pipe::modern(&server, capabilities());
    let params = json!({"name": "asks", "arguments": {}});
    for _ in 0..256 {
        let required = pipe.request("tools/call", params.clone()).await;
        assert_eq!(required["result"]["resultType"], "input_required", "{required}");
    }
    let refused = pipe.request("tools/call", params).await;
    assert!(text(&refused["result"]).starts_with("TooManyCalls TooManyCalls"), "{refused}");
}

#[tokio::test]
async fn a_session_asks_in_the_call_and_withdraws_late_questions() {
    let (server, _) = server();
    let mut pipe = Pipe::legacy(&server, capabilities()).await;
    let id = pipe.start("tools/call", json!({"name": "asks"})).await;
    for (answer, message) in [
        (json!({"result": {"action": "decline"}}), "first"),
        (json!({"error": {"code": -1, "message": "no"}}), "second"),
    ] {
        let asked = pipe.receive().await;
        assert_eq!(
            (asked["method"].as_str(), asked["params"]["message"].as_str()),
            (Some("elicitation/create"), Some(message))
        );
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = asked["id"].clone();
        pipe.send(answer).await;
    }
    let refused = format!("Declined {:?} 1", InputError::Refused { code: -1, message: "no".to_owned() });
    assert_eq!(text(&pipe.answer(id).await["result"]), refused);
    let id = pipe.start("tools/call", json!({"name": "hurries"})).await;
    let asked = pipe.receive().await;
    let withdrawn = pipe.receive().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"], json!({"requestId": asked["id"], "reason": "nobody answered in time"}));
    assert!(text(&pipe.answer(id).await["result"]).starts_with("TimedOut(50ms) TimedOut(50ms)"));
}

#[tokio::test]
async fn a_cancelled_handler_has_time_to_return() {
    let (server, counter) = server();
    for modern in [true, false] {
        let mut pipe =
            if modern { Pipe::modern(&server, capabilities()) } else { Pipe::legacy(&server, capabilities()).await };
        // The handler of the second tool does not listen, and is dropped.
        for name in ["lingers", "stays"] {
            let id = pipe.start("tools/call", json!({"name": name, "_meta": {"progressToken": 1}})).await;
            assert_eq!(pipe.receive().await["method"], "notifications/progress");
            pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
                .await;
            tokio::time::timeout(Duration::from_secs(10), counter.ended.notified()).await.expect("it ends");
        }
    }
}

#[tokio::test]
async fn a_call_becomes_a_task_at_its_question() {
    let (server, _) = server();
    let mut pipe = Pipe::modern(&server, with_tasks());
    let task = pipe.call("asks_in_task", json!({})).await;
    assert_eq!((&task["resultType"], &task["statusMessage"]), (&json!("task"), &json!("asking first")), "{task}");
    let id = task["taskId"].clone();
    for _ in 0..2 {
        let required = loop {
            let task = pipe.request("tasks/get", json!({"taskId": id})).await["result"].clone();
            if task["status"] == "input_required" {
                break task;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let keys = required["inputRequests"].as_object().expect("questions").keys();
        let answers: Value =
            keys.map(|key| (key.clone(), json!({"action": "accept", "content": {"value": "b"}}))).collect();
        pipe.request("tasks/update", json!({"taskId": id, "inputResponses": answers})).await;
    }
    let task = loop {
        let task = pipe.request("tasks/get", json!({"taskId": id})).await["result"].clone();
        if task["status"] == "completed" {
            break task;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(text(&task["result"]), "\"b\" \"b\" 1");
}

#[tokio::test]
async fn a_cancelled_task_shows_the_last_words_of_its_handler() {
    let (server, _) = server();
    let mut pipe = Pipe::modern(&server, with_tasks());
    let id = pipe.call("lingers", json!({})).await["taskId"].clone();
    pipe.request("tasks/cancel", json!({"taskId": id})).await;
    let task = loop {
        let task = pipe.request("tasks/get", json!({"taskId": id})).await["result"].clone();
        if task["status"] != "working" {
            break task;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!((&task["status"], &task["statusMessage"]), (&json!("cancelled"), &json!("put in order")), "{task}");
}

#[tokio::test]
async fn a_panic_after_a_question_fails_the_call_alone() {
    let (server, _) = server();
    let mut pipe = Pipe::modern(&server, capabilities());
    let params = json!({"name": "panics", "arguments": {}});
    let required = pipe.request("tools/call", params.clone()).await;
    let failed = pipe.request("tools/call", again(&params, &required, answer(json!("a")))).await;
    assert!(!failed.to_string().contains("secret"), "{failed}");
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    let next = pipe.request("tools/call", json!({"name": "asks", "arguments": {}})).await;
    assert_eq!(next["result"]["resultType"], "input_required", "{next}");
}

#[tokio::test]
async fn logs_go_to_the_request_that_waits() {
    let tool = Tool::new("logs").suspends(Suspension::new()).raw_handler(|_, context: Context| async move {
        context.log(LogLevel::Info, None, "before").await;
        let _ = context.elicit(question("?")).await;
        context.log(LogLevel::Info, None, "after").await;
    });
    let mut pipe = Pipe::modern(&Server::new("logs").tool(tool), capabilities());
    let quiet = json!({"name": "logs", "arguments": {}});
    let mut loud = quiet.clone();
    loud["_meta"] = json!({"io.modelcontextprotocol/logLevel": "debug"});
    // Each request has a level of its own.
    let required = pipe.request("tools/call", quiet.clone()).await;
    assert!(pipe.heard.is_empty(), "{:?}", pipe.heard);
    pipe.request("tools/call", again(&loud, &required, answer(json!("a")))).await;
    assert_eq!(pipe.heard.len(), 1, "{:?}", pipe.heard);
    assert_eq!(pipe.heard[0]["params"]["data"], "after");
}

#[tokio::test]
async fn an_answer_to_a_withdrawn_question_answers_no_other() {
    let withdraw = Arc::new(Notify::new());
    let of_tool = withdraw.clone();
    let tool = Tool::new("asks").suspends(Suspension::new()).raw_handler(move |_, context: Context| async move {
        tokio::select! {
            _ = context.elicit(question("first").unchecked()) => return "the first was answered".to_owned(),
            () = of_tool.notified() => {}
        }
        let second = context.elicit(question("second").unchecked()).await.expect("an answer").accepted();
        second.expect("it is accepted")["value"].to_string()
    });
    let mut pipe = Pipe::modern(&Server::new("asks").tool(tool), capabilities());
    let params = json!({"name": "asks", "arguments": {}});
    let first = pipe.request("tools/call", params.clone()).await;
    withdraw.notify_one();
    let second = pipe.request("tools/call", again(&params, &first, answer(json!("one")))).await;
    assert_eq!(second["result"]["inputRequests"]["input"]["params"]["message"], "second", "{second}");
    let last = pipe.request("tools/call", again(&params, &second, answer(json!("two")))).await;
    assert_eq!(text(&last["result"]), "\"two\"");
}

#[tokio::test]
async fn a_waiting_call_is_no_request_under_way() {
    let (server, _) = server();
    let http = Http::new(&server, HttpOptions::new().max_requests(1, 1));
    let http = http.with("mcp-protocol-version", MODERN).with("mcp-method", "tools/call").with("mcp-name", "asks");
    let call = async |mut params: Value| {
        params["_meta"] = meta(capabilities());
        http.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await.last()
    };
    let params = json!({"name": "asks", "arguments": {}});
    let first = call(params.clone()).await;
    let second = call(again(&params, &first, answer(json!("a")))).await;
    let last = call(again(&params, &second, answer(json!("b")))).await;
    assert_eq!(text(&last["result"]), "\"a\" \"b\" 1", "{last}");
}

#[tokio::test]
async fn a_handler_that_blocks_waits_for_its_answer() {
    let tool = Tool::new("asks").suspends(Suspension::new()).blocking_handler(|_: Nothing, context: Context| {
        let answer = context.blocking().elicit(question("?").unchecked())?.accepted();
        Ok::<_, Error>(answer.map(|answer| answer["value"].to_string()).unwrap_or_default())
    });
    let mut pipe = Pipe::modern(&Server::new("asks").tool(tool), capabilities());
    let params = json!({"name": "asks", "arguments": {}});
    let required = pipe.request("tools/call", params.clone()).await;
    let last = pipe.request("tools/call", again(&params, &required, answer(json!("a")))).await;
    assert_eq!(text(&last["result"]), "\"a\"");
}

/// No arguments.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}
