//! Outcomes of executions.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::FileInfo;

/// Value of the last expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnValue {
    /// JSON text, indent 2; NaN and infinities are `NaN`, `Infinity` and `-Infinity`, as pydantic writes them.
    pub json: String,
    /// The value is a `str`: clients in text mode show it verbatim.
    pub is_str: bool,
}

impl ReturnValue {
    /// Returns the value as text: a string itself, other values as JSON. A string that is no Unicode text (a lone surrogate) can only be
    /// shown as JSON.
    pub fn text(&self) -> String {
        let unquoted = || serde_json::from_str(&self.json).ok();
        self.is_str.then(unquoted).flatten().unwrap_or_else(|| self.json.clone())
    }
}

/// End of an [`Execute`](crate::Execute) inside the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// Ran to its end.
    Returned(Option<ReturnValue>),
    /// An exception reached the top; the text of its traceback.
    Raised {
        /// Class name.
        ename: String,
        /// `str(exception)`.
        evalue: String,
        /// Traceback text.
        traceback: String,
    },
    /// `SystemExit` or `os._exit`.
    Exited {
        /// Exit code, 0 to 255.
        code: i32,
        /// What Python prints for `SystemExit("text")`.
        message: String,
    },
}

/// Reason why a running guest was interrupted by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    /// [`Limits::wall`](crate::Limits::wall) passed.
    TimeLimit,
    /// [`Limits::cpu`](crate::Limits::cpu) used up.
    CpuLimit,
    /// The caller asked for it.
    Cancelled,
}

/// Answer to an [`Execute`](crate::Execute).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// Whether the text of `ended` is part of stderr: a script prints it before its exit functions run.
    pub is_printed: bool,
    /// Set when the host interrupted the guest during this execution; `ended` is then usually a `KeyboardInterrupt`.
    pub stopped: Option<StopReason>,
    /// Output bytes dropped past [`Limits::output_bytes`](crate::Limits::output_bytes).
    pub output_dropped: u64,
    /// Highest linear memory size so far, bytes.
    pub peak_memory_bytes: u64,
    /// CPU time of this execution.
    pub cpu: Duration,
    /// Files that it made, wrote to or renamed and that are still there, sorted by path; at most [`MAX_NEW_FILES`](crate::MAX_NEW_FILES).
    /// Hidden ones, caches of bytecode, those in granted directories and, in a session, those in its working directory are left out.
    pub new_files: Vec<FileInfo>,
    /// How many more such files there are.
    pub more_new_files: u64,
}
