//! Questions to clients, in sessions and without.

use crate::support::{Pipe, text};
use brumate_mcp::{
    Content, Context, Elicitation, ElicitationResult, Error, LogLevel, Message, Sampling, Server, prompt, resource,
    tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where to.
#[derive(Deserialize, JsonSchema)]
enum Seat {
    /// By the window
    Window,
    Aisle,
}

/// A booking.
#[derive(Deserialize, JsonSchema)]
struct Booking {
    /// How many are coming
    people: u8,
    seat: Seat,
    note: Option<String>,
}

static RUNS: AtomicU32 = AtomicU32::new(0);

#[tool]
async fn book(context: Context) -> Result<Content, Error> {
    let number: u32 = context.once("number", async { Ok(RUNS.fetch_add(1, Ordering::Relaxed)) }).await?;
    let booking = match context.elicit(Elicitation::<Booking>::form("Who comes?")).await? {
        ElicitationResult::Accepted(booking) => booking,
        ElicitationResult::Declined => return Ok(Content::text("declined")),
        ElicitationResult::Cancelled => return Ok(Content::text("cancelled")),
    };
    let by_window = matches!(booking.seat, Seat::Window);
    let said = context.sample(Sampling::new("Confirm").system_prompt("Be brief.")).await?.text();
    Ok(Content::text(format!("{} {by_window} {:?} {said} {}", booking.people, booking.note, number < 100)))
}

#[tool]
fn book_blocking(context: Context) -> Result<Content, Error> {
    let roots = context.block_on(context.roots())?;
    let names: Vec<_> = roots.into_iter().filter_map(|root| root.name).collect();
    Ok(Content::text(names.join(",")))
}

#[tool]
fn book_in_thread(context: Context) -> Result<String, Error> {
    let context = context.blocking();
    context.progress(1.0, Some(2.0));
    let number: u32 = context.once("number", || {
        // A step may wait too.
        context.warning("counting");
        Ok(RUNS.fetch_add(1, Ordering::Relaxed))
    })?;
    context.progress_message(2.0, None, "asking");
    let people = context.elicit(Elicitation::<Booking>::form("Who comes?"))?.accepted().map(|booking| booking.people);
    let said = context.sample(Sampling::new("Confirm"))?.text();
    let page = context.elicit_url("Sign in", "https://example.com/sign-in")?;
    let read = context.read_resource("hall://1")?.len();
    let same = context.once("number", || Ok(number + 1))? == number;
    context.log(LogLevel::Info, Some("hall"), context.request_id());
    let (detached, roots) = (context.detach(), context.roots()?.len());
    Ok(format!("{people:?} {said} {page:?} {read} {same} {detached} {roots} {}", context.can_elicit()))
}

#[resource("hall://{number}")]
async fn hall(number: u8) -> String {
    format!("hall {number}")
}

#[tool]
async fn visit(context: Context) -> Result<Content, Error> {
    let answer = context.elicit_url("Sign in", "https://example.com/sign-in").await?;
    Ok(Content::text(format!("{answer:?}")))
}

#[prompt]
async fn asking(context: Context) -> Result<Message, Error> {
    let schema = json!({"type": "object", "properties": {"topic": {"type": "string"}}});
    let answer = context.elicit(Elicitation::schema("What about?", schema).key("topic")).await?;
    Ok(Message::user(answer.accepted().map(|answer| answer["topic"].to_string()).unwrap_or_default()))
}

fn server() -> Server {
    Server::new("asking").tool(book).tools((book_blocking, book_in_thread, visit)).resource(hall).prompt(asking)
}

fn all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

fn answer_to(request: &Value) -> Value {
    match request["method"].as_str() {
        Some("elicitation/create") if request["params"]["mode"] == "url" => json!({"action": "accept"}),
        Some("elicitation/create") => json!({"action": "accept", "content": {"people": 2, "seat": "Window"}}),
        Some("sampling/createMessage") => {
            json!({"role": "assistant", "content": {"type": "text", "text": "ok"}, "model": "m"})
        }
        Some("roots/list") => json!({"roots": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///b", "name": "b"}]}),
        _ => panic!("{request}"),
    }
}

/// Answers what the server asks until it answers.
async fn in_session(client: &mut Pipe, name: &str) -> Value {
    let id = client.start("tools/call", json!({"name": name})).await;
    loop {
        let message = client.receive().await;
        if message["id"] == id && message.get("method").is_none() {
            return message;
        }
        client.send(json!({"jsonrpc": "2.0", "id": message["id"], "result": answer_to(&message)})).await;
    }
}

/// Asks again with answers until the result is complete; also how often.
async fn in_rounds(client: &mut Pipe, name: &str) -> (Value, usize) {
    let mut params = json!({"name": name, "arguments": {}});
    for round in 1.. {
        let answer = client.request("tools/call", params.clone()).await;
        if answer["result"]["resultType"] != "input_required" {
            return (answer, round);
        }
        let asked = answer["result"]["inputRequests"].as_object().expect("questions");
        let answers: Value = asked.iter().map(|(key, request)| (key.clone(), answer_to(request))).collect();
        params["inputResponses"] = answers;
        params["requestState"] = answer["result"]["requestState"].clone();
    }
    unreachable!("the result is complete at last")
}

#[tokio::test]
async fn a_handler_asks_the_same_way_in_both_eras() {
    let mut legacy = Pipe::legacy(&server(), all()).await;
    assert_eq!(text(&in_session(&mut legacy, "book").await["result"]), "2 true None ok true");
    assert_eq!(text(&in_session(&mut legacy, "book_blocking").await["result"]), "a,b");
    assert_eq!(text(&in_session(&mut legacy, "visit").await["result"]), "Accepted(())");
    let before = RUNS.load(Ordering::Relaxed);
    let mut modern = Pipe::modern(&server(), all());
    let (answer, rounds) = in_rounds(&mut modern, "book").await;
    assert_eq!((text(&answer["result"]), rounds), ("2 true None ok true", 3));
    assert!(RUNS.load(Ordering::Relaxed) > before);
    let (answer, rounds) = in_rounds(&mut modern, "book_blocking").await;
    assert_eq!((text(&answer["result"]), rounds), ("a,b", 2));
    assert_eq!(text(&in_rounds(&mut modern, "visit").await.0["result"]), "Accepted(())");
}

#[tokio::test]
async fn blocking_handlers_have_the_same_methods_without_await() {
    let expected = r#"Some(2) ok Accepted(()) 1 {same} false 2 true"#;
    let mut legacy = Pipe::legacy(&server(), all()).await;
    let params = json!({"name": "book_in_thread", "_meta": {"progressToken": 7}});
    let id = legacy.start("tools/call", params).await;
    let mut heard = Vec::new();
    let answer = loop {
        let message = legacy.receive().await;
        match message["method"].as_str() {
            None => break message,
            Some("notifications/progress") => heard.push(message["params"]["message"].clone()),
            Some("notifications/message") => heard.push(message["params"]["level"].clone()),
            Some(_) => {
                legacy.send(json!({"jsonrpc": "2.0", "id": message["id"], "result": answer_to(&message)})).await;
            }
        }
    };
    assert_eq!(answer["id"], id);
    // In a session nothing runs twice, and nothing is kept.
    assert_eq!(text(&answer["result"]), expected.replace("{same}", "false"));
    assert_eq!(heard, [json!(null), json!("warning"), json!("asking"), json!("info")]);
    let mut modern = Pipe::modern(&server(), all());
    let (answer, rounds) = in_rounds(&mut modern, "book_in_thread").await;
    assert_eq!((text(&answer["result"]), rounds), (expected.replace("{same}", "true").as_str(), 5));
}

#[tokio::test]
async fn forms_are_as_flat_as_the_protocol_wants_them() {
    let mut client = Pipe::modern(&server(), all());
    let answer = client.request("tools/call", json!({"name": "book"})).await;
    let form = &answer["result"]["inputRequests"]["elicitation-1"]["params"]["requestedSchema"];
    assert_eq!(form["required"], json!(["people", "seat"]), "{answer}");
    assert_eq!(form["properties"]["people"]["type"], "integer");
    assert_eq!(form["properties"]["people"]["description"], "How many are coming");
    assert_eq!(form["properties"]["note"]["type"], "string");
    let seats = form["properties"]["seat"]["oneOf"].as_array().expect("choices");
    assert!(seats.contains(&json!({"const": "Window", "title": "By the window"})), "{form}");
    assert!(seats.contains(&json!({"const": "Aisle", "title": "Aisle"})), "{form}");
}

#[tokio::test]
async fn answers_that_do_not_fit_are_refused() {
    let mut client = Pipe::modern(&server(), all());
    let ask = json!({"name": "book", "arguments": {}});
    let with = |content: Value| {
        let mut ask = ask.clone();
        ask["inputResponses"] = json!({"elicitation-1": content});
        ask
    };
    let answer = client.request("tools/call", with(json!({"action": "accept", "content": {"people": "x"}}))).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(text(&client.request("tools/call", with(json!({"action": "decline"}))).await["result"]), "declined");
    assert_eq!(text(&client.request("tools/call", with(json!({"action": "cancel"}))).await["result"]), "cancelled");
    // State that was changed, or that belongs to another request.
    let first = client.request("tools/call", ask.clone()).await;
    let state = first["result"]["requestState"].as_str().expect("state").to_owned();
    for (name, state) in [("book", format!("{state}x")), ("visit", state)] {
        let answer = client.request("tools/call", json!({"name": name, "arguments": {}, "requestState": state})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn clients_that_cannot_be_asked_are_not() {
    let mut modern = Pipe::modern(&server(), json!({}));
    let answer = modern.request("tools/call", json!({"name": "book"})).await;
    assert_eq!(answer["error"]["code"], -32021, "{answer}");
    assert_eq!(answer["error"]["data"]["requiredCapabilities"], json!({"elicitation": {"form": {}}}));
    let mut legacy = Pipe::legacy(&server(), json!({})).await;
    let result = legacy.call("book", json!({})).await;
    assert!(result["isError"] == true && text(&result).contains("supports elicitation"), "{result}");
}

#[tokio::test]
async fn prompts_ask_too() {
    let mut client = Pipe::modern(&server(), all());
    let answer = client.request("prompts/get", json!({"name": "asking"})).await;
    assert_eq!(answer["result"]["inputRequests"]["topic"]["method"], "elicitation/create", "{answer}");
    let answers = json!({"topic": {"action": "accept", "content": {"topic": "Rust"}}});
    let answer = client.request("prompts/get", json!({"name": "asking", "inputResponses": answers})).await;
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], "\"Rust\"", "{answer}");
}
