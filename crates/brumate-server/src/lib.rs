//! The MCP server of Brumate, over standard input and output and over HTTP: the tool `run_python_code`, and, with
//! [`PythonServer::with_sessions`], the tools and resources of a code interpreter that keeps its state.
//!
//! [`serve`] speaks the Model Context Protocol, all versions from 2024-11-05 to 2026-07-28, over any pair of byte
//! streams; [`serve_stdio`] over the process's own; [`http`] over HTTP, to many clients, each with what is its own. Everything that runs is the business of a
//! [`Runner`](brumate_session::Runner) or of [`Sessions`](brumate_session::sessions::Sessions).
//!
//! Two kinds of failure, told apart by whose problem they are: what the code did, and arguments that a model can
//! correct, are tool results; a request that is no request is a protocol error.
//!
//! While code runs, a client that sent a progress token gets the output as progress messages, and one that set a log
//! level gets stdout as `info`, stderr as `warning` and the loading of packages as `debug`. The final result holds
//! everything in any case.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod arguments;
mod clients;
mod escape;
mod format;
mod handler;
pub mod http;
mod inflight;
mod interpreter;
mod log;
mod progress;
mod questions;
mod serve;
mod tasks;
mod tool;
mod traces;
mod transport;
mod wire;
mod work;

pub use format::{ReturnMode, result_text};
pub use handler::{PythonServer, ToolSet};
pub use serve::{ServeError, serve, serve_stdio};
pub use traces::Traces;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
