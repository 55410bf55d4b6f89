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
//! # Concepts
//!
//! A [`Server`] offers **tools**, which models call; **resources**, which applications read by URI; and **prompts**,
//! which people choose. The attributes [`macro@tool`], [`macro@resource`], [`macro@prompt`] and [`macro@completion`]
//! make them from plain functions, which can still be called. [`Tool`], [`Resource`], [`Prompt`] and [`Completion`] are
//! the values that the attributes make; build them by hand for items that are known only at run time.
//!
//! | type | is |
//! |---|---|
//! | [`Context`] | the request that a handler answers: logs, progress, input from the client |
//! | [`State`] | state of the server in a handler, such as a database |
//! | [`FromRequest`] | a parameter of a program's own type, taken from the request |
//! | [`Service`] | several items that share one value: the methods of a type ([`macro@tools`]) or the functions of a module ([`macro@server`]) |
//! | [`ResourceProvider`] | resources that are not known beforehand, such as the resources of each principal |
//! | [`Layer`] | code around calls of all tools ([`Server::layer`]) or of one ([`Tool::layer`]), to measure, limit or audit them |
//! | [`RequestLayer`] | code around every request ([`Server::request_layer`]), to trace, count or refuse them |
//!
//! # Handlers
//!
//! - An *asynchronous* handler is dropped at its next await when its request is cancelled. A *synchronous* handler runs
//!   on a thread for blocking work, looks at [`Context::is_cancelled`], and uses [`Context::blocking`].
//! - A panic is answered as a failure without its message.
//! - *Arguments* are checked against the JSON Schema of their types before the handler runs. The model gets the place
//!   and the reason of each violation.
//! - *Results* are text, media, structured content or mixes of them ([`IntoToolResult`]).
//! - *Errors* of tools are everything that `?` converts into [`Error`]. They are results with `isError`, for the model
//!   to act on. [`Server::hide_errors`] keeps the messages of other libraries' errors in the server's log.
//! - *Input* from the client ([`Context::elicit`], [`Context::sample`], [`Context::roots`]) is requested in the same
//!   way in all protocols. Before 2026-07-28 the handler waits for the answer. Since then the client sends its request
//!   again with the answers, and the handler **runs from its beginning**. [`Context::once`] keeps the results of steps
//!   that must not run twice.
//!
//! # Tasks
//!
//! A call of a tool with [`Tool::tasks`] becomes a task if the client supports tasks. The client gets the task's id,
//! with which it asks for the status, answers input requests and cancels the task. In a task the handler waits for
//! input and does not run again. Tasks are kept in memory, within [`TaskLimits`], and end with the server.
//!
//! # URI templates
//!
//! The URI of a resource can have variables (RFC 6570):
//!
//! | form | matches |
//! |---|---|
//! | `{name}` | a segment, or a part of one |
//! | `{+path}` | the same, with slashes |
//! | `{/name}` | a segment with its slash |
//! | `{?a,b}`, at the end | a query |
//!
//! Values are percent-decoded. A value that would leave its place does not match: `..`, a slash where the form allows
//! none, a backslash, NUL.
//!
//! # Transports
//!
//! | method | serves |
//! |---|---|
//! | [`Server::run_stdio`] | one client, over standard input and output |
//! | [`Server::run_http`] | streamable HTTP; [`HttpOptions`] has sessions, stateless operation, JSON responses and the deprecated HTTP+SSE |
//! | [`App::run`] | several servers over HTTP |
//! | [`Server::http_service`] | a tower service |
//! | [`Server::serve_streams`] | a pair of streams: pipes, sockets |
//!
//! Each speaks all protocols from 2024-11-05 to 2026-07-28, and uses the one that the client speaks. The protocol is
//! implemented by [rmcp](https://docs.rs/rmcp), whose types appear only in [`lowlevel`].
//!
//! # Authorization
//!
//! [`HttpOptions::protect`] requires access tokens of OAuth 2.1; see [`auth`]. The module `auth_server` (feature
//! `auth-server`) is an authorization server.
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
//! | `skills` | `Server::skills`: folders of instructions for models (SEP-2640) | no |
//! | `sqlite` | sessions and events that outlive the process; `SqliteAuth` | no |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(all(feature = "server", feature = "client")), allow(dead_code, reason = "each half needs its part"))]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files that they wrote"))]

#[cfg(feature = "server")]
pub mod auth;
#[cfg(feature = "auth-server")]
pub mod auth_server;
#[cfg(any(feature = "client", feature = "server"))]
mod bounded_lines;
#[cfg(feature = "server")]
mod cache;
#[cfg(feature = "client")]
pub mod client;
mod client_features;
#[cfg(feature = "server")]
mod client_state;
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
mod error;
#[cfg(any(feature = "client", feature = "server"))]
mod exact_arguments;
#[cfg(feature = "server")]
mod from_request;
#[cfg(feature = "server")]
mod handler;
#[cfg(feature = "server")]
mod hidden_errors;
#[cfg(feature = "server")]
mod http;
#[cfg(feature = "server")]
mod incoming;
#[cfg(feature = "server")]
mod item_metadata;
#[cfg(feature = "server")]
mod item_sets;
#[cfg(feature = "server")]
mod kept_call;
#[cfg(feature = "server")]
mod layer;
mod log_level;
#[cfg(feature = "server")]
pub mod lowlevel;
mod media;
mod message;
#[cfg(any(feature = "client", feature = "server"))]
mod numbers;
#[cfg(feature = "server")]
mod principal;
#[cfg(feature = "server")]
mod prompt;
#[cfg(feature = "server")]
mod registry;
#[cfg(feature = "server")]
mod request_layer;
#[cfg(feature = "server")]
mod resource;
#[cfg(feature = "server")]
mod resource_provider;
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
mod stdio;
#[cfg(feature = "server")]
mod suspended_calls;
#[cfg(feature = "server")]
mod suspension;
mod sync;
#[cfg(feature = "server")]
mod tasks;
#[cfg(feature = "server")]
mod template;
#[cfg(feature = "server")]
mod tool;
#[cfg(feature = "server")]
mod watchdog;

#[cfg(feature = "server")]
pub use brumate_mcp_macros::{completion, prompt, resource, server, tool, tools};
#[cfg(feature = "server")]
pub use cache::CacheScope;
#[cfg(feature = "client")]
pub use client::Client;
pub use client_features::{ElicitationResult, Root, SamplingResult, UrlElicitationResult};
#[cfg(feature = "server")]
pub use completion::{Completion, CompletionRequest, IntoSuggestions};
pub use content::{Annotations, Content, Icon, Role};
pub use contents::ResourceContents;
#[cfg(feature = "server")]
pub use context::{BlockingContext, ClientInfo, Context, Elicitation, Sampling, State};
#[cfg(feature = "server")]
pub use error::ServeError;
pub use error::{Error, InputError, Result};
#[cfg(feature = "server")]
pub use from_request::FromRequest;
#[cfg(feature = "sqlite")]
pub use http::SqliteEventStore;
#[cfg(feature = "server")]
pub use http::{
    App, EventStore, HttpOptions, HttpService, ResumptionLimits, ServerCard, StoreError, StoredSession, StoredStream,
    Tls, TokenRevocation,
};
#[cfg(feature = "server")]
pub use item_sets::{PromptSet, ResourceSet, ToolSet};
#[cfg(feature = "server")]
pub use layer::{Layer, Next, ToolCall};
pub use log_level::LogLevel;
pub use media::{Audio, File, Image};
pub use message::Message;
#[cfg(feature = "server")]
pub use principal::Principal;
#[cfg(feature = "server")]
pub use prompt::{IntoMessages, Prompt, PromptArgument, PromptRequest};
#[cfg(feature = "server")]
pub use request_layer::{AnswerKind, McpAnswer, McpRequest, NextRequest, RequestLayer};
#[cfg(feature = "server")]
pub use resource::{IntoResourceContents, Resource, ResourceRequest};
#[cfg(feature = "server")]
pub use resource_provider::{ProvidedContents, ResourcePage, ResourceProvider};
#[cfg(feature = "server")]
pub use result::{IntoToolResult, Json, ToolResult};
#[cfg(feature = "server")]
pub use server::Server;
#[cfg(feature = "server")]
pub use service::Service;
#[cfg(feature = "server")]
pub use stdio::{StreamOptions, stdio_pipes};
#[cfg(feature = "server")]
pub use suspension::Suspension;
#[cfg(feature = "server")]
pub use tasks::{TaskLimits, TaskSupport};
#[cfg(feature = "server")]
pub use tool::{Arguments, Tool};

/// The versions of these crates whose traits appear here: `#[serde(crate = "brumate_mcp::serde")]` and
/// `#[schemars(crate = "brumate_mcp::schemars")]` derive them without a dependency of your own.
#[cfg(feature = "server")]
pub use schemars;
pub use {serde, serde_json};

/// The attribute for traits with asynchronous methods that programs implement, such as [`auth::TokenVerifier`].
pub use async_trait::async_trait;

/// The `tracing` target of the protocol's implementation; the targets of its parts begin with it. Below warnings its events contain whole
/// messages, with passwords and whatever else is in them: keep them out of logs.
pub const PROTOCOL_TARGET: &str = "rmcp";

/// The names that most programs use: `use brumate_mcp::prelude::*;`.
pub mod prelude {
    #[cfg(feature = "client")]
    pub use crate::Client;
    #[cfg(feature = "server")]
    pub use crate::{
        App, Arguments, ClientInfo, Context, Elicitation, FromRequest, HttpOptions, Json, Layer, McpAnswer, McpRequest,
        Next, NextRequest, Principal, Prompt, ProvidedContents, RequestLayer, Resource, ResourcePage, ResourceProvider,
        Sampling, ServeError, Server, Service, State, Suspension, Tool, ToolCall, ToolResult, completion, prompt,
        resource, server, tool, tools,
    };
    pub use crate::{Content, ElicitationResult, Error, File, Image, LogLevel, Message, ResourceContents};
}

#[cfg(feature = "server")]
#[doc(hidden)]
pub use http::fuzzing;

#[cfg(feature = "server")]
#[doc(hidden)]
pub mod private;

/// Returns random bytes from the system's generator.
#[cfg(feature = "server")]
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // It does not fail on supported systems. Without it no secret could be trusted.
    getrandom::fill(&mut bytes).expect("the system's random generator works");
    bytes
}

/// Returns a random identifier of 128 bits, in hexadecimal digits.
#[cfg(feature = "server")]
fn random_id() -> String {
    random_bytes::<16>().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compiles the examples of the README, and runs those that can run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
