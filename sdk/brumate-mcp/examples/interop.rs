//! A little of everything that a client may use, over any transport: `interop MODE [ADDRESS]`, where the mode is
//! `stdio`, `http`, `stateless`, `json` (with sessions) or `sse`. The tests run the SDKs' clients against it.

use brumate_mcp::{
    App, Content, Context, Elicitation, Error, HttpOptions, Image, ServeError, Server, State, prompt, resource, tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// Most letters of a text.
const MAX_LETTERS: usize = 64 << 20;

/// Calls of `waits` that were cancelled, in this process.
type Cancelled = Arc<AtomicU32>;

/// Told when `steps` may return.
type Seen = Arc<Notify>;

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// Adds two numbers.
#[tool(read_only)]
async fn add(a: i64, #[arg(default = 1)] b: i64) -> Sum {
    Sum { sum: a.saturating_add(b) }
}

/// A picture (as far as clients look at it), and what it is.
#[tool]
async fn picture() -> (&'static str, Image) {
    ("a pixel", Image::new(b"\x89PNG\r\n\x1a\n", "png"))
}

/// Fails.
#[tool]
async fn fails() -> Result<Content, Error> {
    Err(Error::new("it always does"))
}

/// Panics, which is a failure like others.
#[tool]
#[expect(clippy::panic, reason = "what it is for")]
async fn panics() -> Content {
    panic!("nobody sees this")
}

/// Logs at three levels.
#[tool]
async fn talks(context: Context) -> Content {
    context.debug("a detail").await;
    context.info("a fact").await;
    context.warning("a warning").await;
    Content::text("talked")
}

/// Reports progress, and returns when the client says that it has seen it.
#[tool]
async fn steps(context: Context, told: State<Seen>) -> Content {
    for (done, step) in [(1.0, "one"), (1.5, "and a half"), (1.0, "not back again"), (2.0, "two")] {
        context.progress_message(done, Some(2.0), step).await;
    }
    told.notified().await;
    Content::text("stepped")
}

/// Lets `steps` return.
#[tool]
async fn seen(tell: State<Seen>) -> Content {
    tell.notify_one();
    Content::text("told")
}

/// Counts when it is dropped before its time.
struct Counts(Cancelled);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Says with progress that it has begun, and never ends by itself.
#[tool]
async fn waits(context: Context, cancelled: State<Cancelled>) -> Content {
    let _counts = Counts(Arc::clone(&cancelled));
    context.progress_message(1.0, None, "waiting").await;
    std::future::pending().await
}

/// How many calls of `waits` were cancelled.
#[tool(name = "cancelled", read_only)]
async fn how_many(cancelled: State<Cancelled>) -> u32 {
    cancelled.load(Ordering::SeqCst)
}

/// Who somebody is.
#[derive(Deserialize, JsonSchema)]
struct Person {
    /// What to call them
    name: String,
}

/// Asks the client's user for a name.
#[tool]
async fn asks(context: Context) -> Result<Content, Error> {
    let answer = context.elicit(Elicitation::<Person>::form("Who is there?")).await?;
    Ok(Content::text(answer.accepted().map_or("nobody".to_owned(), |person| format!("hello, {}", person.name))))
}

/// Returns a text of any length, after so many log messages.
#[tool]
async fn letters(number: usize, #[arg(default)] log: usize, context: Context) -> Content {
    for _ in 0..log {
        context.info("letters follow").await;
    }
    Content::text("x".repeat(number.min(MAX_LETTERS)))
}

/// Counts the bytes of a text.
#[tool]
async fn length(text: String) -> Content {
    Content::text(text.len().to_string())
}

/// Text that stays as it is.
#[resource("interop://about", mime_type = "text/plain")]
async fn about() -> &'static str {
    "a server for tests"
}

/// Who a user is.
#[resource("interop://users/{name}", mime_type = "text/plain")]
async fn user(name: String) -> String {
    format!("the user {name}")
}

/// Asks a model to greet.
#[prompt]
async fn greet(
    /// Who is greeted.
    name: String,
) -> String {
    format!("Greet {name}.")
}

fn server() -> Server {
    Server::new("interop")
        .state(Cancelled::default())
        .state(Seen::default())
        .tool(add)
        .tool(picture)
        .tool(fails)
        .tool(panics)
        .tool(talks)
        .tool(steps)
        .tool(seen)
        .tool(waits)
        .tool(how_many)
        .tool(asks)
        .tools((letters, length))
        .resource(about)
        .resource(user)
        .prompt(greet)
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match arguments.first().map(String::as_str) {
        Some("stdio") => return server().run_stdio().await,
        Some("http") => HttpOptions::new(),
        Some("stateless") => HttpOptions::new().stateless(),
        Some("json") => HttpOptions::new().json_responses(),
        Some("sse") => HttpOptions::new().legacy_sse(),
        _ => {
            eprintln!("usage: interop stdio|http|stateless|json|sse [ADDRESS]");
            std::process::exit(2);
        }
    };
    let address = arguments.get(1).map_or("127.0.0.1:8000", String::as_str);
    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}", listener.local_addr()?);
    App::new().mount("", server(), options).run_on(listener).await
}
