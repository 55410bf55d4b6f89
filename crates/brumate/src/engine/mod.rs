//! Implements the interface `brumate-engine-api` with `brumate-engine`, the engine of this host.

mod bundle;
mod errors;
mod local;
mod local_session;

pub use bundle::bundle;
pub use local::{LocalEngine, LocalEngineConfig};
