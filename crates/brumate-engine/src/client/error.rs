//! What can go wrong between the server and a machine.

use std::time::Duration;

use crate::api::LayerId;
use crate::wire::WireError;

/// Why a machine is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Died {
    /// Parsing the source took longer than this.
    ParseLimit(Duration),
    /// It did not react to the wall-clock limit's KeyboardInterrupt in time.
    WallLimit,
    /// It used up its CPU time and did not react.
    CpuLimit,
    /// The caller cancelled and it did not react in time, or was killed at once.
    Cancelled,
    /// The kernel ended it for lack of memory, or its process grew beyond its limit.
    MemoryLimit,
    /// `os._exit` or C's `exit`, with this status.
    Exit(i32),
    /// `abort` or a fatal Python error.
    Abort,
    /// A WebAssembly trap: a memory fault, an exhausted stack, a bad call.
    Trap(String),
    /// Killed by this signal.
    Signal(i32),
    /// It spoke nonsense and was ended.
    Protocol(String),
}

impl std::fmt::Display for Died {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Died::ParseLimit(limit) => write!(f, "parsing the source took longer than {limit:?}"),
            Died::WallLimit => f.write_str("it ran out of wall-clock time"),
            Died::CpuLimit => f.write_str("it used up its CPU time"),
            Died::Cancelled => f.write_str("it was cancelled"),
            Died::MemoryLimit => f.write_str("it ran out of memory"),
            Died::Exit(code) => write!(f, "it exited with status {code}"),
            Died::Abort => f.write_str("it aborted"),
            Died::Trap(text) => write!(f, "it crashed: {text}"),
            Died::Signal(signal) => write!(f, "it was killed by signal {signal}"),
            Died::Protocol(text) => write!(f, "it broke the protocol: {text}"),
        }
    }
}

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine has ended; it cannot be used any more.
    #[error("the interpreter ended: {reason}")]
    MachineDied {
        /// Why.
        reason: Died,
        /// Output bytes dropped past the limit in its last execution: exact when the machine could say so, else a lower
        /// bound.
        output_dropped: u64,
        /// Most memory that its process had resident, in bytes, with what it shared with others; `None` when that is not known.
        peak_memory_bytes: Option<u64>,
    },
    /// A cell ended its session's machine; the session is as it was before that cell.
    #[error("the interpreter ended: {reason}; the session is as it was before this cell")]
    RolledBack {
        /// Why.
        reason: Died,
        /// Bytes of output that the cell had dropped, as far as is known.
        output_dropped: u64,
        /// Most memory that its process had resident; as in [`Error::MachineDied`].
        peak_memory_bytes: Option<u64>,
    },
    /// A file of the guest cannot be had or changed; the guest goes on.
    #[error("{path}: {reason}")]
    File {
        /// The guest's path.
        path: String,
        /// Why.
        reason: String,
    },
    /// A wheel cannot be mounted; the machine goes on.
    #[error("cannot mount {name}: {reason}")]
    Layer {
        /// The wheel's file name.
        name: String,
        /// Why.
        reason: String,
    },
    /// A sleeping session has wheels mounted that it was not given again.
    #[error("the session cannot be woken: it needs {}", names(layers))]
    MissingLayers {
        /// Which ones.
        layers: Vec<LayerId>,
    },
    /// A module does not compile.
    #[error("cannot compile {name}: {reason}")]
    Compile {
        /// Which module.
        name: String,
        /// Why.
        reason: String,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] crate::cache_dir::CacheError),
    /// A sleeping session cannot be woken by this version of Brumate on this host; its files can be had ([`super::Sandbox::recover`]). The
    /// text says why.
    #[error("{0}")]
    Outdated(String),
    /// A session cannot be put to sleep or woken; the text says why.
    #[error("{0}")]
    Image(String),
    /// No machine can be had.
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
        let reason = Died::Protocol(error.to_string());
        Error::MachineDied { reason, output_dropped: 0, peak_memory_bytes: None }
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

/// How long a jail may take to say how a machine ended.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest text that is taken from a jailed process, in bytes.
const MAX_REASON: usize = 4096;

/// As much of a text as is taken from a jailed process.
pub(super) fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_REASON));
    text
}
