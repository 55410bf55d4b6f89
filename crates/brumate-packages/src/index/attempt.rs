//! Failed attempts of requests.

use std::error::Error as _;
use std::time::Duration;

use crate::index::error::IndexError;

/// Failed attempt.
pub(super) struct AttemptFailure {
    pub(super) error: IndexError,
    /// Whether a retry may succeed.
    pub(super) transient: bool,
    /// Time that the server asks to wait.
    pub(super) retry_after: Option<Duration>,
}

impl AttemptFailure {
    /// Makes a failure that a retry cannot change.
    pub(super) fn permanent(error: IndexError) -> Self {
        Self { error, transient: false, retry_after: None }
    }
}

/// Returns the chain of causes below reqwest's own error, whose text repeats the URL.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if texts.last().is_none_or(|last| !last.ends_with(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    if texts.is_empty() {
        // The kind alone: "error decoding response body".
        return error.to_string().split(" for url").next().unwrap_or_default().to_owned();
    }
    texts.join(": ")
}
