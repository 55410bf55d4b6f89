//! CPython in wasmtime: the engine of Brumate.
//!
//! ```no_run
//! # async fn example() -> Result<(), brumate_engine::client::EngineError> {
//! use brumate_engine::api::{Execute, Machine as _, MachineSpec};
//! use brumate_engine::client::{Sandbox, SandboxConfig};
//!
//! let config = SandboxConfig { cache_dir: "/var/cache/brumate".into(), ..SandboxConfig::default() };
//! let sandbox = Sandbox::start(config).await?;
//! let mut machine = sandbox.machine(MachineSpec::default()).await?;
//! let (events, _) = tokio::sync::mpsc::channel(16);
//! let request = Execute { code: "1 + 1".to_owned(), ..Execute::default() };
//! let outcome = machine.execute(request, events).await?;
//! # Ok(()) }
//! ```
//!
//! **Words.** A *guest* is a CPython interpreter compiled to WebAssembly and the code it runs. A *machine* is one process
//! with one guest. A *zygote* is a process with a booted guest from which machines are forked. The *server* is the process
//! that uses this crate; it runs no guest code. The *bundle* is what is embedded in the binary: interpreter, standard
//! library, wheels.
//!
//! **Not here:** MCP, HTTP, sessions, resolving packages. See `ARCHITECTURE.md` in the repository.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files that they wrote"))]

mod account;
mod allocator;
pub mod bundle;
mod cache_dir;
mod caps;
mod channel;
pub mod client;
mod code;
mod engine;
mod files;
mod host;
mod image;
mod interpreter;
mod jail;
mod jail_entry;
#[doc(hidden)]
pub mod libc;
mod link;
mod memory;
mod meter;
mod page_map;
mod process;
mod signals;
mod threads;
mod trace;
pub mod wire;
mod worker;
mod zygote;

pub use allocator::Trimmer;
/// Requests, events and outcomes: the words of [`client`] and of what crosses the process border in [`wire`] frames.
pub use brumate_engine_api as api;
pub use code::shipped::precompile;
pub use jail_entry::internal_main;

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
