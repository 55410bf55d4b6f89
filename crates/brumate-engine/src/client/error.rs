//! Converts errors of the server's own parts to [`EngineError`], and bounds texts of jailed processes.

use std::time::Duration;

use crate::api::{EngineError, ExitReason};
use crate::bundle::OpenError;
use crate::cache_dir::CacheError;
use crate::wire::WireError;

impl From<WireError> for EngineError {
    fn from(error: WireError) -> EngineError {
        let reason = ExitReason::Protocol(error.to_string());
        EngineError::MachineExited { reason, output_dropped: 0, peak_memory_bytes: None }
    }
}

impl From<CacheError> for EngineError {
    fn from(error: CacheError) -> EngineError {
        EngineError::Unavailable(error.to_string())
    }
}

impl From<OpenError> for EngineError {
    fn from(error: OpenError) -> EngineError {
        EngineError::Unavailable(error.to_string())
    }
}

/// How long a jail may take to report how a machine ended.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest text that is taken from a jailed process, in bytes.
const MAX_REASON: usize = 4096;

/// Cuts a text of a jailed process to [`MAX_REASON`].
pub(super) fn truncate_bytes(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_REASON));
    text
}
