//! The engine of this host, `brumate-engine`, behind the interface that sessions and runs use, `brumate-engine-api`.

mod bundle;
mod errors;
mod local;
mod local_session;

pub(crate) use bundle::bundle;
pub(crate) use local::{LocalEngine, LocalEngineConfig};
