//! Errors of an engine, and the reasons why a machine ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::LayerId;

/// Reason why a machine has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitReason {
    /// Parsing its source took longer than this.
    ParseLimit(Duration),
    /// It passed the wall-clock limit and did not react to the interrupt.
    TimeLimit,
    /// It used up its CPU time and did not react to the interrupt.
    CpuLimit,
    /// It took more memory than it may.
    MemoryLimit,
    /// The host ran out of memory, and its kernel ended the process. The machine was within its own limit.
    HostMemory,
    /// The caller cancelled and it did not react to the interrupt.
    Cancelled,
    /// A signal ended it that this server has not sent.
    Signal(i32),
    /// `os._exit` or C's `exit`, with this status.
    Exit(i32),
    /// `abort` or a fatal error of Python.
    Abort,
    /// The WebAssembly code trapped; the text says how.
    Trap(String),
    /// It said something that makes no sense and was ended.
    Protocol(String),
}

impl ExitReason {
    /// Number of the signal that ends a process at once, on every Linux.
    pub const SIGKILL: i32 = 9;
}

impl std::fmt::Display for ExitReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExitReason::ParseLimit(limit) => write!(f, "parsing the source took longer than {} s", limit.as_secs_f32()),
            ExitReason::TimeLimit => f.write_str("it ran out of wall-clock time"),
            ExitReason::CpuLimit => f.write_str("it used up its CPU time"),
            ExitReason::Cancelled => f.write_str("it was cancelled"),
            ExitReason::MemoryLimit => f.write_str("it ran out of memory"),
            ExitReason::HostMemory => f.write_str("the host ran out of memory, and its out-of-memory killer ended it"),
            ExitReason::Exit(code) => write!(f, "it exited with status {code}"),
            ExitReason::Abort => f.write_str("it aborted"),
            ExitReason::Trap(text) => write!(f, "it crashed: {text}"),
            ExitReason::Signal(ExitReason::SIGKILL) => f.write_str(
                "it was ended from outside (SIGKILL), for example by an administrator or for lack of memory",
            ),
            ExitReason::Signal(signal) => write!(f, "it was killed by signal {signal}"),
            ExitReason::Protocol(text) => write!(f, "it broke the protocol: {text}"),
        }
    }
}

/// Error of the host's system.
#[derive(Debug, Clone, Error)]
#[error(transparent)]
pub struct HostError(Arc<io::Error>);

impl HostError {
    /// Returns the kind of the error.
    pub fn kind(&self) -> io::ErrorKind {
        self.0.kind()
    }
}

impl From<io::Error> for HostError {
    fn from(error: io::Error) -> Self {
        Self(Arc::new(error))
    }
}

/// Errors are equal if they have the same kind and the same text.
impl PartialEq for HostError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.to_string() == other.to_string()
    }
}

impl Eq for HostError {}

/// Reason why an engine could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The machine is gone.
    #[error("the machine is gone: {reason}")]
    MachineExited {
        /// Why.
        reason: ExitReason,
        /// Output bytes that were dropped past the limit before it died.
        output_dropped: u64,
        /// Most memory that its process had, in bytes; `None` when that is not known.
        peak_memory_bytes: Option<u64>,
    },
    /// A cell ended its session's machine; the session is as it was before that cell.
    #[error("the machine is gone: {reason}; the session is as it was before")]
    RolledBack {
        /// Why.
        reason: ExitReason,
        /// Output bytes that were dropped past the limit before it died.
        output_dropped: u64,
        /// Most memory that its process had, in bytes; `None` when that is not known.
        peak_memory_bytes: Option<u64>,
    },
    /// A session cannot be hibernated, or not be resumed; the text says why.
    #[error("{0}")]
    Image(String),
    /// A hibernated session cannot be resumed, because what it began with is of another version and not there any more; the text says
    /// which. Its files can be had ([`Engine::recover`](crate::Engine::recover)).
    #[error("{0}")]
    Outdated(String),
    /// A file of a session cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A wheel cannot be mounted; the machine is as it was.
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
    /// A module of the interpreter or of a wheel could not be compiled.
    #[error("could not compile: {name}: {reason}")]
    Compile {
        /// Name of the module.
        name: String,
        /// Why.
        reason: String,
    },
    /// The host refused something.
    #[error("the host refused: {0}")]
    Io(#[source] HostError),
    /// The engine cannot make a machine on this host; the text says why.
    #[error("the sandbox is not available: {0}")]
    Unavailable(String),
}

/// Most wheels that one message names.
const MAX_NAMED_LAYERS: usize = 5;

/// Names the first wheels, and counts the others.
fn names(layers: &[LayerId]) -> String {
    let named: Vec<&str> = layers.iter().take(MAX_NAMED_LAYERS).map(|layer| &layer.name[..]).collect();
    match layers.len().saturating_sub(MAX_NAMED_LAYERS) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Reason why a file of a session could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FileError {
    /// There is none of this name.
    #[error("there is no such file")]
    NotFound,
    /// It is a directory, or something else without content.
    #[error("it is not a regular file")]
    NotAFile,
    /// The quota of the session is used up.
    #[error("no space is left in the session")]
    NoSpace,
    /// Another reason, as a text for people.
    #[error("{0}")]
    Other(String),
}

impl From<io::Error> for EngineError {
    fn from(error: io::Error) -> Self {
        EngineError::Io(error.into())
    }
}
