//! An SDK for [Model Context Protocol](https://modelcontextprotocol.io) servers and clients: functions become tools,
//! resources and prompts.
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
//! keeps (a database, say) through [`State`]; [`FromRequest`] makes such parameters of a program's own types.
//!
//! A [`Service`] is several of them at once, for [`Server::service`]: the methods of a type ([`macro@tools`]), which share one value,
//! or the functions of a module ([`macro@server`]).
//!
//! A [`Layer`] is code around calls of tools, of all ([`Server::layer`]) or of one ([`Tool::layer`]): it measures, limits, audits.
//!
//! # Handlers
//!
//! *Asynchronous* functions are dropped where they wait when their request is cancelled; *synchronous* ones run on threads
//! for blocking work, look at [`Context::is_cancelled`], and use [`Context::blocking`]. A panic is answered as a failure without its message.
//!
//! *Arguments* are checked against the JSON Schema made from their types. What does not fit is told to the model with the
//! place and the reason, before the handler runs.
//!
//! *Results* are text, media, structured content or mixes of them ([`IntoToolResult`]). *Errors* of tools, whatever
//! `?` converts into [`Error`], are results with `isError`, for the model to act on. [`Server::hide_errors`] keeps the messages of
//! other libraries' errors in the server's log.
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
//! # Authorization
//!
//! [`HttpOptions::protect`] asks for access tokens of OAuth 2.1; see [`auth`]. The feature `auth-server` has an authorization server, in
//! the module `auth_server`.
//!
//! # Clients
//!
//! [`Client`] connects to servers over all these transports; see [`client`].
//!
//! # Features
//!
//! | feature | what | default |
//! |---|---|---|
//! | `server` | servers | yes |
//! | `client` | clients of child processes, streams and servers in the same process | yes |
//! | `client-http` | clients of servers over HTTP | yes |
//! | `auth` | OAuth 2.1: authorization of clients, verifiers of access tokens | yes |
//! | `auth-server` | an authorization server | no |
//! | `keyring` | a client's tokens in the system's keyring (Secret Service) | no |
//! | `sqlite` | sessions and events that outlive the process; `SqliteAuth` | no |
//!

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(all(feature = "server", feature = "client")), allow(dead_code, reason = "each half needs its part"))]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod answers;
#[cfg(feature = "server")]
pub mod auth;
#[cfg(feature = "auth-server")]
pub mod auth_server;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
mod command_line;
#[cfg(feature = "server")]
mod completion;
#[cfg(feature = "server")]
mod connection;
mod content;
mod contents;
#[cfg(feature = "server")]
mod context;
#[cfg(feature = "sqlite")]
mod database;
#[cfg(feature = "server")]
mod described;
mod error;
#[cfg(feature = "server")]
mod from_request;
#[cfg(feature = "server")]
mod handler;
#[cfg(feature = "server")]
mod hide;
#[cfg(feature = "server")]
mod http;
#[cfg(feature = "client-http")]
mod http_client;
#[cfg(feature = "server")]
mod layer;
mod level;
#[cfg(feature = "server")]
pub mod lowlevel;
mod message;
#[cfg(feature = "auth")]
mod oauth;
#[cfg(feature = "auth")]
mod outbound;
#[cfg(feature = "server")]
mod prompt;
#[cfg(feature = "server")]
mod registry;
#[cfg(feature = "server")]
mod requests;
#[cfg(feature = "server")]
mod resource;
#[cfg(feature = "server")]
mod result;
#[cfg(feature = "server")]
mod run;
mod schema;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod service;
#[cfg(feature = "server")]
mod several;
#[cfg(feature = "server")]
mod stdio;
mod sync;
#[cfg(feature = "server")]
mod tasks;
#[cfg(feature = "server")]
mod template;
#[cfg(feature = "server")]
mod tool;

pub use answers::{Answer, Root, Sampled, UrlAnswer};
#[cfg(feature = "server")]
pub use brumate_mcp_macros::{completion, prompt, resource, server, tool, tools};
#[cfg(feature = "client")]
pub use client::Client;
#[cfg(feature = "server")]
pub use completion::{Completion, CompletionRequest, IntoSuggestions};
pub use content::{Annotations, Audio, Content, File, Icon, Image, Role};
pub use contents::ResourceContents;
#[cfg(feature = "server")]
pub use context::{BlockingContext, ClientInfo, Context, Elicitation, Sampling, State};
#[cfg(feature = "server")]
pub use error::ServeError;
pub use error::{Error, Result};
#[cfg(feature = "server")]
pub use from_request::FromRequest;
#[cfg(feature = "sqlite")]
pub use http::SqliteEventStore;
#[cfg(feature = "server")]
pub use http::{
    App, EventStore, HttpOptions, HttpService, Principal, Resumption, StoreError, StoredSession, StoredStream, Tls,
};
#[cfg(feature = "server")]
pub use layer::{Call, Layer, Next};
pub use level::Level;
pub use message::Message;
#[cfg(feature = "server")]
pub use prompt::{IntoMessages, Prompt, PromptArgument, PromptRequest};
#[cfg(feature = "server")]
pub use resource::{IntoResourceContents, Resource, ResourceRequest};
#[cfg(feature = "server")]
pub use result::{IntoToolResult, Json, ToolResult};
#[cfg(feature = "server")]
pub use server::{CacheScope, Server};
#[cfg(feature = "server")]
pub use service::Service;
#[cfg(feature = "server")]
pub use several::{PromptSet, ResourceSet, ToolSet};
#[cfg(feature = "server")]
pub use tasks::{TaskLimits, TaskSupport};
#[cfg(feature = "server")]
pub use tool::Tool;

/// The versions of these crates whose traits show here: `#[serde(crate = "brumate_mcp::serde")]` and
/// `#[schemars(crate = "brumate_mcp::schemars")]` derive them without a dependency of one's own.
#[cfg(feature = "server")]
pub use schemars;
pub use {serde, serde_json};

/// The attribute for traits with asynchronous methods that programs implement, such as [`auth::TokenVerifier`].
pub use async_trait::async_trait;

/// The names that most programs use: `use brumate_mcp::prelude::*;`.
pub mod prelude {
    #[cfg(feature = "client")]
    pub use crate::Client;
    pub use crate::{Answer, Content, Error, File, Image, Level, Message, ResourceContents};
    #[cfg(feature = "server")]
    pub use crate::{
        App, Call, ClientInfo, Context, Elicitation, FromRequest, HttpOptions, Json, Layer, Next, Principal, Prompt,
        Resource, Sampling, ServeError, Server, Service, State, Tool, ToolResult, completion, prompt, resource, server,
        tool, tools,
    };
}

#[cfg(feature = "server")]
#[doc(hidden)]
pub use http::fuzzing;

#[cfg(feature = "server")]
#[doc(hidden)]
pub mod private;

/// Returns random bytes that nobody can guess.
#[cfg(any(feature = "server", feature = "auth"))]
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // The system's generator fails on no supported system; were it to, nothing here could be trusted.
    getrandom::fill(&mut bytes).expect("the system's random generator works");
    bytes
}

/// Returns a random identifier that nobody can guess.
#[cfg(feature = "server")]
fn random_id() -> String {
    random_bytes::<16>().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The examples of the README are compiled, and run where they can.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
