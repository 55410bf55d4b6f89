//! Requests of running code to the caller, and their answers.
//!
//! Running code has at most one request at a time, and waits until it is answered. It gives a request up when it is
//! interrupted; its next request replaces that one. The caller answers by the request's number
//! ([`InterruptHandle::answer`](crate::InterruptHandle::answer)), so that a late answer meets no other request.

use serde::{Deserialize, Serialize};

use crate::{InstallAnswer, InstallRequest};

/// Longest line that answers [`RequestBody::Input`], in bytes.
pub const MAX_INPUT: usize = 1 << 20;

/// Longest prompt of [`RequestBody::Input`], in bytes; longer ones are cut.
pub const MAX_PROMPT: usize = 64 << 10;

/// Request of running code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuestRequest {
    /// Number of the request in its execution, counted from 1.
    pub id: u64,
    /// Kind of the request, with its details.
    pub body: RequestBody,
}

/// Kinds of requests. Every text is the guest's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RequestBody {
    /// A line of input. Sent to callers that allow it with [`Execute::allow_stdin`](crate::Execute::allow_stdin).
    Input {
        /// Prompt to show.
        prompt: String,
        /// Whether the line is secret: it is not shown while somebody types it.
        password: bool,
    },
    /// Packages. Sent to callers that allow it with [`Execute::allow_install`](crate::Execute::allow_install).
    Install(InstallRequest),
}

/// Answer to a [`GuestRequest`], of the kind of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuestAnswer {
    /// A line without its end, or `None` at the end of the input.
    Input(Option<String>),
    /// The layers to mount, or the reason why nothing is installed.
    Install(Result<InstallAnswer, String>),
}
