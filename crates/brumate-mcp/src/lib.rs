//! An SDK for [Model Context Protocol](https://modelcontextprotocol.io) servers: functions become tools, resources
//! and prompts.
//!
//! ```no_run
//! use brumate_mcp::{ServeError, Server, prompt, resource, tool};
//!
//! /// Adds two numbers.
//! #[tool]
//! async fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! /// A personal greeting.
//! #[resource("greeting://{name}")]
//! async fn greeting(name: String) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! /// Asks for a review.
//! #[prompt]
//! async fn review(code: String) -> String {
//!     format!("Please review this code:\n\n{code}")
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), ServeError> {
//!     Server::new("Demo").tool(add).resource(greeting).prompt(review).run_stdio().await
//! }
//! ```
//!
//! # Words
//!
//! A [`Server`] offers **tools**, which models call; **resources**, which applications read by address; **prompts**, which
//! people choose. The attributes [`macro@tool`], [`macro@resource`], [`macro@prompt`] and [`macro@completion`] make them of
//! plain functions, which can still be called; [`Tool`], [`Resource`], [`Prompt`] and [`Completion`] are what they make,
//! and are built by hand at run time. Handlers see the request they answer through a [`Context`], and what the server
//! keeps (a database, say) through [`State`].
//!
//! # Handlers
//!
//! *Asynchronous* functions are dropped where they wait when their request is cancelled; *synchronous* ones run on threads
//! for blocking work and look at [`Context::is_cancelled`]. A panic is answered as a failure without its message.
//!
//! *Arguments* are checked against the JSON Schema made from their types. What does not fit is told to the model with the
//! place and the reason, before the handler runs.
//!
//! *Results* are text, media, structured content or mixes of them ([`IntoToolResult`]). *Errors* of tools, whatever
//! `?` converts into [`Error`], are results with `isError`, for the model to act on.
//!
//! *Questions* to the client ([`Context::elicit`], [`Context::sample`], [`Context::roots`]) are written in one way for all
//! protocols. In those before 2026-07-28 the handler waits for the answer. Since then the client asks again with the
//! answers, and the handler **runs from its beginning**; [`Context::once`] keeps what should not be done twice.
//!
//! # Tasks
//!
//! A call of a tool that [says so](Tool::tasks) becomes a task where the client knows them: it is answered with a name, and
//! the client asks under that name how it goes, answers what the handler asks, and stops it. In a task a question waits for
//! its answer, and the handler is not run again. Tasks are kept in memory, within [`TaskLimits`], and end with the server.
//!
//! # Addresses with variables
//!
//! Templates are RFC 6570's simple, reserved, path and query expansion: `{name}` stands for a segment or a part of one,
//! `{+path}` also for slashes, `{/name}` for a segment with its slash, and `{?a,b}`, at the end, for a query. Values
//! are percent-decoded; those that would leave their place (`..`, a slash where there is none, a backslash, NUL) match
//! nothing.
//!
//! # Transports
//!
//! [`Server::run_stdio`]; [`Server::run_http`], with [`HttpOptions`] for sessions, stateless operation, JSON responses
//! and the deprecated HTTP+SSE; [`App`], for several servers in one; [`Server::http_service`], a tower service; and
//! [`Server::serve_streams`], for pipes and sockets. Each speaks all protocols from 2024-11-05 to 2026-07-28, to each client
//! its own. The protocol itself is [rmcp](https://docs.rs/rmcp)'s, which shows in [`lowlevel`] alone.
//!
//! # What it is not
//!
//! A client, an authorization server or a client of one.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod completion;
mod connection;
mod content;
mod context;
mod described;
mod error;
mod handler;
mod http;
pub mod lowlevel;
mod prompt;
mod registry;
mod requests;
mod resource;
mod result;
mod run;
mod schema;
mod server;
mod stdio;
mod tasks;
mod template;
mod tool;

pub use brumate_mcp_macros::{completion, prompt, resource, tool};
pub use completion::{Completion, CompletionRequest, IntoSuggestions};
pub use content::{Annotations, Audio, Content, File, Icon, Image, Role};
pub use context::{Answer, ClientInfo, Context, Elicitation, Level, Root, Sampled, Sampling, State, UrlAnswer};
pub use error::{Error, Result, ServeError};
#[cfg(feature = "sqlite")]
pub use http::SqliteEventStore;
pub use http::{
    App, EventStore, HttpOptions, HttpService, Principal, Resumption, StoreError, StoredSession, StoredStream, Tls,
};
pub use prompt::{IntoMessages, Message, Prompt, PromptArgument, PromptRequest};
pub use resource::{IntoResourceContents, Resource, ResourceContents, ResourceRequest};
pub use result::{IntoToolResult, Json, ToolResult};
pub use server::{CacheScope, Server};
pub use tasks::{TaskLimits, TaskSupport};
pub use tool::Tool;

#[doc(hidden)]
pub use http::fuzzing;

#[doc(hidden)]
pub mod private;

/// Bytes nobody can guess.
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // The system's generator fails on no supported system; were it to, nothing here could be trusted.
    getrandom::fill(&mut bytes).expect("the system's random generator works");
    bytes
}

/// An identifier nobody can guess.
fn random_id() -> String {
    random_bytes::<16>().iter().map(|byte| format!("{byte:02x}")).collect()
}
