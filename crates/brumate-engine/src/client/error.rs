//! What can go wrong between the server and a machine.

use std::time::Duration;

use crate::api::{ExitReason, FileError, LayerId};
use crate::wire::WireError;

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine has ended; it cannot be used any more.
    #[error("the interpreter ended: {reason}")]
    MachineExited {
        /// Why.
        reason: ExitReason,
        /// Output bytes dropped past the limit in its last execution: exact if the machine reported it, else a lower
        /// bound.
        output_dropped: u64,
        /// Largest resident memory of its process, in bytes, including shared memory; `None` if it is not known.
        peak_memory_bytes: Option<u64>,
    },
    /// A cell ended its session's machine; the session is as it was before that cell.
    #[error("the interpreter ended: {reason}; the session is as it was before this cell")]
    RolledBack {
        /// Why.
        reason: ExitReason,
        /// Bytes of output that the cell has dropped, as far as is known.
        output_dropped: u64,
        /// Largest resident memory of its process; as in [`Error::MachineExited`].
        peak_memory_bytes: Option<u64>,
    },
    /// A file of the guest cannot be read or changed; the guest continues.
    #[error("{path}: {error}")]
    File {
        /// The guest's path.
        path: String,
        /// Why.
        #[source]
        error: FileError,
    },
    /// A wheel cannot be mounted; the machine continues.
    #[error("cannot mount {name}: {reason}")]
    Layer {
        /// The wheel's file name.
        name: String,
        /// Why.
        reason: String,
    },
    /// A hibernated session needs wheels that the caller did not give.
    #[error("the session cannot be resumed: it needs {}", names(layers))]
    MissingLayers {
        /// The missing wheels.
        layers: Vec<LayerId>,
    },
    /// A module does not compile.
    #[error("cannot compile {name}: {reason}")]
    Compile {
        /// Name of the module.
        name: String,
        /// Why.
        reason: String,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] crate::cache_dir::CacheError),
    /// The bundle cannot be opened.
    #[error(transparent)]
    Bundle(#[from] crate::bundle::OpenError),
    /// A hibernated session cannot be resumed by this version of Brumate on this host; its files can be recovered
    /// ([`super::Sandbox::recover`]). The text has the reason.
    #[error("{0}")]
    Outdated(String),
    /// A session cannot be hibernated or resumed; the text has the reason.
    #[error("{0}")]
    Image(String),
    /// No machine is available.
    #[error("no interpreter can be started: {0}")]
    Unavailable(String),
    /// A granted directory cannot be opened.
    #[error("cannot mount {path}: {source}")]
    Mount {
        /// The host path as the operator gave it.
        path: std::path::PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The system refused something the server itself needs.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl From<WireError> for Error {
    fn from(error: WireError) -> Error {
        let reason = ExitReason::Protocol(error.to_string());
        Error::MachineExited { reason, output_dropped: 0, peak_memory_bytes: None }
    }
}

/// Most names in one message.
const MAX_NAMES: usize = 5;

fn names(layers: &[LayerId]) -> String {
    let named: Vec<&str> = layers.iter().take(MAX_NAMES).map(|layer| &layer.name[..]).collect();
    match layers.len().saturating_sub(MAX_NAMES) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// How long a jail may take to report how a machine ended.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest text that is taken from a jailed process, in bytes.
const MAX_REASON: usize = 4096;

/// Cuts a text of a jailed process to [`MAX_REASON`].
pub(super) fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_REASON));
    text
}
