//! A sandbox for Python code that you did not write: CPython 3.14 with numpy, pandas, matplotlib and 121 other packages.
//!
//! ```no_run
//! use brumate::Sandbox;
//!
//! #[tokio::main]
//! async fn run() -> Result<(), brumate::Error> {
//!     let sandbox = Sandbox::new()?;
//!     let result = sandbox.run("import numpy as np\n(np.arange(3) ** n).tolist()").global("n", 2).await?;
//!     assert_eq!(result.value::<Vec<i64>>()?, [0, 1, 4]);
//!     Ok(())
//! }
//!
//! fn main() -> Result<(), brumate::Error> {
//!     // The sandbox starts this program again for each of its jailed processes. There `init` does not return.
//!     brumate::init();
//!     run()
//! }
//! ```
//!
//! | type | what it is | example |
//! |---|---|---|
//! | [`Sandbox`] | runs code: each run has a fresh interpreter, which ends after the run | `examples/run.rs` |
//! | [`RunBuilder`] | a run: its variables, event handler and input | `examples/events.rs` |
//! | [`RunResult`] | the result of a run: value, output, error, figures | `examples/figures.rs` |
//! | [`Session`] | an interpreter that keeps variables and files, also across restarts | `examples/session.rs` |
//! | [`Session::upload`], [`Session::download`] | files of a session | `examples/files.rs` |
//! | [`Session::snapshot`], [`Sandbox::restore`] | a session in a file | `examples/snapshot.rs` |
//!
//! Code has no network, unless [`SandboxBuilder::allow_net`] names hosts, and no subprocesses. Code sees no file, variable or secret of the host. Each run is
//! a process in a jail of the operating system. Brumate runs only on Linux.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files that they wrote"))]

#[doc(hidden)]
pub mod bundle;
#[doc(hidden)]
pub mod directories;
mod library;
#[doc(hidden)]
pub mod mounts;
#[doc(hidden)]
pub mod network;
#[doc(hidden)]
pub mod ranges;

#[doc(hidden)]
pub use library::snapshot;
pub use library::{
    Error, Event, Figure, File, InputRequest, RunBuilder, RunResult, Sandbox, SandboxBuilder, Session, StopReason, init,
};

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
