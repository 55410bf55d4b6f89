//! The crate's client against the crate's servers, in both eras of the protocol.

use brumate_mcp::client::{
    ClientError, CompletionRef, FormRequest, LogMessage, Progress, Protocol, SamplingRequest, ServerChange,
    TaskOrResult, TaskStatus, UrlRequest,
};
use brumate_mcp::{
    App, Client, Content, Context, Elicitation, ElicitationResult, Error, HttpOptions, Image, LogLevel, Resource,
    ResourceContents, Root, Sampling, SamplingResult, Server, TaskSupport, Tool, UrlElicitationResult, completion,
    prompt, resource, tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const ERAS: [Protocol; 2] = [Protocol::Initialize, Protocol::Discover];

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// Adds two numbers.
#[tool(title = "Adding", read_only)]
async fn add(a: i64, b: i64) -> Sum {
    Sum { sum: a + b }
}

/// Fails.
#[tool]
async fn fails() -> Result<Content, Error> {
    Err(Error::new("it always does"))
}

#[tool]
async fn picture() -> (&'static str, Image) {
    ("a pixel", Image::new(b"\x89PNG\r\n\x1a\n", "png"))
}

#[tool]
async fn talks(context: Context) -> Content {
    context.debug("a detail").await;
    for number in 0..20 {
        context.info(number).await;
    }
    Content::text("talked")
}

#[tool]
async fn steps(context: Context) -> Content {
    for step in 1..=50 {
        context.progress_message(f64::from(step), Some(50.0), format!("step {step}")).await;
    }
    Content::text("stepped")
}

#[derive(Deserialize, JsonSchema)]
struct Person {
    /// What to call them
    name: String,
    #[serde(default)]
    age: u8,
}

#[tool]
async fn asks(context: Context) -> Result<String, Error> {
    let person = context.elicit(Elicitation::<Person>::form("Who is there?")).await?;
    let page = context.elicit_url("Sign in", "https://example.org/login").await?;
    let poem = context.sample(Sampling::new("a poem").system_prompt("be brief")).await?;
    let roots = context.roots().await?;
    let person = person.accepted().map_or("nobody".to_owned(), |person| format!("{} {}", person.name, person.age));
    Ok(format!("{person}, {page:?}, {}, {}", poem.text(), roots[0].uri))
}

#[tool]
async fn waits(context: Context) -> Content {
    context.progress(1.0, None).await;
    std::future::pending().await
}

/// A greeting.
#[resource("greeting://{name}")]
async fn greeting(name: String) -> String {
    format!("Hello, {name}!")
}

/// Asks for a review.
#[prompt]
async fn review(code: String) -> String {
    format!("Review {code}")
}

#[completion(prompt = "review", argument = "code")]
async fn languages(typed: String) -> Vec<String> {
    ["rust", "ruby", "python"].into_iter().filter(|name| name.starts_with(&typed)).map(str::to_owned).collect()
}

fn server() -> Server {
    let resource = Resource::new("data://bytes").handler(|_, _| async { vec![0u8, 1, 2] });
    let slow = |_: Map<String, Value>, context: Context| async move {
        let name = context.elicit(Elicitation::<Person>::form("Who trains?")).await?;
        Ok::<_, Error>(name.accepted().map_or("nobody".to_owned(), |person| person.name))
    };
    let tasks = [("trains", TaskSupport::Optional), ("must", TaskSupport::Required)]
        .map(|(name, support)| Tool::new(name).tasks(support).handler(slow));
    let server = Server::new("Everything").version("1.2").instructions("Use it.").page_size(2);
    let server = server.tools((add, fails, picture, talks, steps, asks, waits)).tools(tasks);
    server.resources((resource, greeting)).prompts((review,)).completion(languages)
}

async fn plain(protocol: Protocol) -> Client {
    Client::in_process(&server()).protocol(protocol).connect().await.unwrap()
}

/// Serves over HTTP until the test ends; returns the address.
async fn http(options: HttpOptions) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = App::new().mount("", server(), options);
    tokio::spawn(app.serve(listener, std::future::pending()));
    format!("http://{address}/mcp")
}

/// Clients over every transport and both eras, set up with these methods.
macro_rules! clients {
    ($(.$method:ident($argument:expr))*) => {{
        let mut clients = Vec::new();
        for protocol in ERAS {
            let server = server();
            let client = Client::in_process(&server).protocol(protocol)$(.$method($argument))*;
            clients.push((format!("in process, {protocol:?}"), client.connect().await.unwrap()));
            for (name, options) in [("sessions", HttpOptions::new()), ("JSON", HttpOptions::new().json_responses())] {
                let client = Client::http(http(options).await).protocol(protocol)$(.$method($argument))*;
                clients.push((format!("HTTP with {name}, {protocol:?}"), client.connect().await.unwrap()));
            }
        }
        let address = http(HttpOptions::new().legacy_sse()).await.replace("/mcp", "/sse");
        let client = Client::sse(address)$(.$method($argument))*;
        clients.push(("HTTP+SSE".to_owned(), client.connect().await.unwrap()));
        clients
    }};
}

async fn fill(form: FormRequest) -> ElicitationResult<Map<String, Value>> {
    assert!(form.message.starts_with("Who"));
    ElicitationResult::Accepted(json!({"name": "Ada"}).as_object().unwrap().clone())
}

async fn visit(page: UrlRequest) -> UrlElicitationResult {
    assert_eq!((page.message.as_str(), page.url.as_str()), ("Sign in", "https://example.org/login"));
    ElicitationResult::Declined
}

async fn say(request: SamplingRequest) -> Result<SamplingResult, Error> {
    assert_eq!((request.prompt().as_str(), request.system_prompt()), ("a poem", Some("be brief")));
    Ok(SamplingResult::new("model", "roses"))
}

#[tokio::test]
async fn what_a_server_offers_is_listed_and_used() {
    for (transport, client) in clients!() {
        assert_eq!((client.server_info().name.as_str(), client.instructions()), ("Everything", Some("Use it.")));
        let tools = client.tools().await.unwrap();
        assert_eq!((tools.len(), tools[0].display_name()), (9, "Adding"), "all pages");
        let sum: Sum = client.call("add").arg("a", 1).arg("b", 2).await.unwrap().parse().unwrap();
        assert_eq!(sum, Sum { sum: 3 });
        let pixel = client.call("picture").await.unwrap();
        assert_eq!(pixel.content[1].as_image().unwrap().mime_type, "image/png");
        let failed = client.call("fails").await.unwrap();
        assert!(failed.is_error);
        assert_eq!(failed.ok().unwrap_err().to_string(), "the tool failed: it always does");
        let unknown = client.call("nothing").await.unwrap_err();
        assert!(matches!(unknown, ClientError::Protocol { code: -32602, .. }), "{unknown}");

        assert_eq!(client.resources().await.unwrap()[0].uri, "data://bytes");
        assert_eq!(client.read("data://bytes").await.unwrap()[0].as_bytes(), [0, 1, 2]);
        assert_eq!(client.templates().await.unwrap()[0].uri_template, "greeting://{name}");
        let contents: Vec<ResourceContents> = client.read("greeting://Ada").await.unwrap();
        assert_eq!((contents[0].as_text(), contents[0].uri()), (Some("Hello, Ada!"), "greeting://Ada"));
        assert!(client.prompts().await.unwrap()[0].arguments[0].required);
        let messages = client.prompt("review").arg("code", "x = 1").await.unwrap().messages;
        assert_eq!(messages[0].content.as_text(), Some("Review x = 1"));
        let suggestions = client.complete(CompletionRef::prompt("review"), "code", "ru").await.unwrap();
        assert_eq!((suggestions.values, suggestions.total), (vec!["rust".to_owned(), "ruby".to_owned()], Some(2)));
        client.ping().await.unwrap();
        client.close().await;
        assert!(matches!(client.ping().await, Err(ClientError::Closed)), "{transport}");
    }
}

#[tokio::test]
async fn the_newest_protocol_is_found() {
    let client = Client::in_process(&server()).connect().await.unwrap();
    assert_eq!(client.protocol_version(), "2026-07-28");
    assert_eq!(plain(Protocol::Initialize).await.protocol_version(), "2025-11-25");
}

#[tokio::test]
async fn questions_are_answered() {
    let clients = clients!(.on_form(fill).on_url(visit).on_sampling(say).roots([Root::new("/project")]));
    for (transport, client) in clients {
        let said: String =
            client.call("asks").await.unwrap_or_else(|error| panic!("{transport}: {error}")).parse().unwrap();
        assert_eq!(said, "Ada 0, Declined, roses, file:///project", "{transport}");
    }
    for protocol in ERAS {
        // Without anybody who answers, the server does not ask.
        let error = plain(protocol).await.call("asks").await;
        let said = match error {
            Ok(result) => result.text(),
            Err(error) => error.to_string(),
        };
        assert!(said.contains("elicitation"), "{said}");
    }
}

#[tokio::test]
async fn progress_and_logs_come_in_order_and_before_the_result() {
    let logged: Arc<Mutex<Vec<LogMessage>>> = Arc::default();
    let log = || {
        let log = logged.clone();
        move |message| log.lock().unwrap().push(message)
    };
    for (transport, client) in clients!(.log_level(LogLevel::Info).on_log(log())) {
        let seen: Arc<Mutex<Vec<Progress>>> = Arc::default();
        let progress = seen.clone();
        client.call("steps").on_progress(move |step| progress.lock().unwrap().push(step)).await.unwrap();
        let done: Vec<f64> = seen.lock().unwrap().iter().map(|step| step.done).collect();
        assert_eq!(done, (1..=50).map(f64::from).collect::<Vec<_>>());
        client.call("talks").await.unwrap();
        let data: Vec<Value> = logged.lock().unwrap().drain(..).map(|message| message.data).collect();
        assert_eq!(data, (0..20).map(Value::from).collect::<Vec<_>>(), "{transport}");
    }
}

#[tokio::test]
async fn a_call_ends_by_its_timeout_and_by_its_token() {
    for (transport, client) in clients!() {
        let late = client.call("waits").timeout(Duration::from_millis(50)).await.unwrap_err();
        assert!(matches!(late, ClientError::Timeout(_)), "{transport}: {late}");
        let token = CancellationToken::new();
        let fire = token.clone();
        let call = client.call("waits").cancel(token).on_progress(move |_| fire.cancel());
        assert!(matches!(call.await, Err(ClientError::Cancelled(None))));
        // The connection goes on.
        client.ping().await.unwrap();
    }
}

#[tokio::test]
async fn calls_become_tasks() {
    let client = Client::in_process(&server()).on_form(fill).connect().await.unwrap();
    // Whoever does not ask for a task gets none where it is a choice, and waits for it where it is not.
    for tool in ["trains", "must"] {
        assert_eq!(client.call(tool).await.unwrap().text(), "Ada");
    }
    let TaskOrResult::Task(task) = client.call("trains").as_task().await.unwrap() else { panic!("a task") };
    assert_eq!(task.result().await.unwrap().text(), "Ada");
    assert!(matches!(task.status().await.unwrap(), TaskStatus::Completed(_)));
    let TaskOrResult::Task(stopped) = client.call("must").as_task().await.unwrap() else { panic!("a task") };
    stopped.cancel().await.unwrap();
    let end = stopped.result().await;
    assert!(matches!(end, Err(ClientError::Cancelled(_))), "{end:?}");
}

#[tokio::test]
async fn changes_are_heard_of() {
    for protocol in ERAS {
        let server = server();
        let heard: Arc<Mutex<Vec<ServerChange>>> = Arc::default();
        let changes = heard.clone();
        let client = Client::in_process(&server)
            .protocol(protocol)
            .on_change(move |change| changes.lock().unwrap().push(change))
            .connect()
            .await
            .unwrap();
        let mut subscribed = client.subscribe(["data://bytes"]).await.unwrap();
        server.notify_resource_updated("data://other").await;
        server.notify_resource_updated("data://bytes").await;
        let change = tokio::time::timeout(Duration::from_secs(10), subscribed.next()).await.unwrap().unwrap();
        assert_eq!(change, Some(ServerChange::Resource("data://bytes".to_owned())), "{protocol:?}");
        // The stream of the newest protocol is opened in the background.
        for _ in 0..100 {
            server.remove_tool("fails");
            server.add_tool(fails).unwrap();
            if heard.lock().unwrap().contains(&ServerChange::Tools) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(heard.lock().unwrap().contains(&ServerChange::Tools), "{protocol:?}");
    }
}

#[tokio::test]
async fn a_client_ends_with_its_last_handle() {
    let ended = Arc::new(AtomicUsize::new(0));
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    let server = server();
    let count = ended.clone();
    let serving = tokio::spawn(async move {
        server.serve_streams(input, output).await.unwrap();
        count.fetch_add(1, Ordering::SeqCst);
    });
    let (input, output) = tokio::io::split(ours);
    let client = Client::streams(input, output).connect().await.unwrap();
    let other = client.clone();
    drop(client);
    other.ping().await.unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    drop(other);
    tokio::time::timeout(Duration::from_secs(20), serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_child_process_ends_with_its_client() {
    let start = || Client::stdio(crate::clients::examples().join("interop"), ["stdio"]).env("SECRET", "1").quiet();
    for protocol in ERAS {
        let client = start().protocol(protocol).connect().await.unwrap();
        assert_eq!(client.call("add").arg("a", 2).await.unwrap().structured, Some(json!({"sum": 3})));
        client.close().await;
    }
    let missing = Client::stdio("/nowhere/server", [""; 0]).connect().await.unwrap_err();
    assert!(missing.to_string().contains("/nowhere/server") && missing.to_string().contains("started"), "{missing}");
    // One that closes its output says nothing more; one that is no server is told apart from one that is.
    let silent = Client::stdio("true", [""; 0]).connect().await.unwrap_err();
    assert!(matches!(silent, ClientError::Connect { .. }), "{silent}");
}

#[tokio::test]
async fn children_of_a_child_process_end_too_and_see_no_secrets() {
    let directory = tempfile::tempdir().unwrap();
    // It ignores the end of its input, starts another process, and notes its environment.
    let script = "env > env; sleep 600 & echo $! > pid; trap '' TERM; sleep 600";
    let connecting = Client::stdio("sh", ["-c", script])
        .current_dir(directory.path())
        .env("GIVEN", "yes")
        .connect_timeout(Duration::from_millis(500))
        .connect();
    let error = connecting.await.unwrap_err();
    assert!(error.to_string().contains("did not answer"), "{error}");
    let pid = std::fs::read_to_string(directory.path().join("pid")).unwrap();
    for _ in 0..100 {
        if !std::path::Path::new("/proc").join(pid.trim()).exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists(), "the child's own child is still there");
    let environment = std::fs::read_to_string(directory.path().join("env")).unwrap();
    assert!(environment.contains("GIVEN=yes") && environment.contains("PATH="), "{environment}");
    assert!(!environment.contains("CARGO"), "{environment}");
}
