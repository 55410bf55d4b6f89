//! The MCP server of Brumate: the tool `run_python_code` and, with [`PythonServer::with_sessions`], the tools and resources of a
//! stateful code interpreter. It supports the protocol versions from 2024-11-05 to 2026-07-28.
//!
//! | function | transport |
//! |---|---|
//! | [`serve_stdio`] | standard input and output of the process |
//! | [`serve`] | any pair of byte streams |
//! | [`http::serve_http`] | HTTP, for many clients |
//!
//! A [`Runner`](brumate_session::Runner) runs code in fresh interpreters, [`Sessions`](brumate_session::sessions::Sessions) run it in
//! sessions.
//!
//! | failure | answer |
//! |---|---|
//! | the code failed, or an argument is wrong | a tool result, which a model can act on |
//! | the request is malformed, or names an unknown tool | a JSON-RPC error |
//!
//! While code runs, a client with a progress token receives the output as progress notifications. A client with a log level
//! receives stdout as `info`, stderr as `warning`, and the loading of packages as `debug`. The final result has all output as
//! well.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files that they wrote"))]

mod client_sessions;
mod code_call;
mod escape;
mod format;
pub mod http;
mod resources;
mod results;
mod serve;
mod server;
mod state;
mod tools;
mod traces;
mod uri;

/// The reason why a server could not be set up or a connection failed.
pub use brumate_mcp::ServeError;
pub use format::{ReturnMode, result_text};
pub use serve::{serve, serve_stdio};
pub use server::PythonServer;
pub use state::ToolSet;
pub use traces::Traces;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
