//! The sandbox as a library.

mod builder;
mod code;
mod core;
mod error;
mod result;
mod sandbox;
mod session;
pub mod snapshot;

pub use builder::Builder;
pub use code::{Code, Event, Question};
pub use error::Error;
pub use result::{Figure, File, RunResult, Stop};
pub use sandbox::{Sandbox, init};
pub use session::Session;
