//! Converts errors of `brumate-engine` to those of `brumate-engine-api`.

use brumate_engine::client;
use brumate_engine_api::EngineError;

/// Converts an error of the engine.
pub(super) fn engine_error(error: client::Error) -> EngineError {
    match error {
        client::Error::MachineExited { reason, output_dropped, peak_memory_bytes } => {
            EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }
        }
        client::Error::RolledBack { reason, output_dropped, peak_memory_bytes } => {
            EngineError::RolledBack { reason, output_dropped, peak_memory_bytes }
        }
        client::Error::File { error, .. } => EngineError::File(error),
        client::Error::Image(text) => EngineError::Image(text),
        client::Error::Outdated(text) => EngineError::Outdated(text),
        error @ client::Error::Layer { .. } => EngineError::Layer(error.to_string()),
        error @ client::Error::MissingLayers { .. } => EngineError::Image(error.to_string()),
        client::Error::Compile { name, reason } => EngineError::Compile(format!("{name}: {reason}")),
        client::Error::Io(error) => error.into(),
        other => EngineError::Unavailable(other.to_string()),
    }
}
