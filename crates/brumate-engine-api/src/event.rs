//! Events of a running machine.
//!
//! Output has Jupyter's names (`stream`, `display_data`, `execute_result`; source: the Jupyter messaging specification 5.4).
//! An exception is part of the [outcome](crate::Outcome).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{FrontendMessage, GuestRequest, bounded};

/// Standard stream that a text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamName {
    /// fd 1.
    Stdout,
    /// fd 2.
    Stderr,
}

/// Representations of one object.
pub const MAX_MIME_TYPES: usize = 64;

/// Map from MIME type to payload: text as it is, binary types as base64 (Jupyter's mime bundle).
pub type MimeBundle = BTreeMap<String, String>;

/// Report of a machine while it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// Output of the guest, in order.
    Stream {
        /// Which stream.
        name: StreamName,
        /// Text; invalid UTF-8 is replaced.
        text: String,
    },
    /// `display(...)`, a shown figure.
    DisplayData {
        /// The mime bundle.
        #[serde(deserialize_with = "bounded::texts::<_, MAX_MIME_TYPES>")]
        data: MimeBundle,
    },
    /// The value of the last expression, as a mime bundle.
    ExecuteResult {
        /// The mime bundle.
        #[serde(deserialize_with = "bounded::texts::<_, MAX_MIME_TYPES>")]
        data: MimeBundle,
    },
    /// A message to the Jupyter frontends. [`ExecuteMode::Frontend`](crate::ExecuteMode::Frontend) sends it in the place of
    /// [`Event::DisplayData`] and [`Event::ExecuteResult`].
    Frontend(FrontendMessage),
    /// Output beyond [`Limits::output_bytes`](crate::Limits::output_bytes) is being dropped. Sent now and then;
    /// [`Outcome::output_dropped`](crate::Outcome::output_dropped) is exact.
    OutputDropped {
        /// Bytes dropped so far.
        bytes: u64,
    },
    /// The code waits for an answer of the caller; see [`InterruptHandle::answer`](crate::InterruptHandle::answer).
    Request(GuestRequest),
}
