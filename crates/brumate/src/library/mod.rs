//! The sandbox as a library.

mod error;
mod result;
mod run_builder;
mod sandbox;
mod sandbox_builder;
mod sandbox_core;
mod session;
mod setting_names;
pub mod snapshot;

pub use error::Error;
pub use result::{Figure, File, RunResult, StopReason};
pub use run_builder::{Event, InputRequest, RunBuilder};
pub use sandbox::{Sandbox, init};
pub use sandbox_builder::SandboxBuilder;
pub use session::Session;
