//! The engine of this host, `brumate-engine`, behind the interface that sessions and runs use, `brumate-engine-api`.

mod bundle;
mod errors;
mod local;
mod local_session;

pub use bundle::bundle;
pub use local::{LocalEngine, LocalEngineConfig};
