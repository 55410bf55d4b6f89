//! Puts the entry of an MCP server into the configuration file of an MCP client, and takes it out again.
//!
//! | type | is |
//! |---|---|
//! | [`Client`], [`Environment`] | the clients, and where they keep their files |
//! | [`Entry`] | how a client starts a server |
//! | [`ConfigFile`] | a file: [`ConfigFile::install`] puts an entry in, [`ConfigFile::remove`] takes it out |
//! | [`Change`], [`Action`] | what was changed, or would be |
//! | [`InstallError`], [`LocateError`] | why nothing was changed |
//!
//! Edits are pieces of text that are put in and cut out at the places which a syntax tree gives. Everything else keeps its bytes.
//! [`parse_env_file`] reads files of variables.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files that they wrote"))]

mod change;
mod client;
mod config_file;
mod document;
mod entry;
mod env_file;
mod environment;
mod error;
mod file;
mod record;
mod servers;
mod splice;
mod style;

pub use change::Change;
pub use client::{Client, UnknownClient};
pub use config_file::{ConfigFile, Mode};
pub use entry::{Entry, is_name as is_server_name};
pub use env_file::{EnvFileError, MAX_ENV_FILE_BYTES, parse_env_file};
pub use environment::{Environment, LocateError, Platform};
pub use error::InstallError;
pub use servers::Action;
pub use style::is_hidden;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
