//! Errors whose messages are not for clients.

use crate::error::Error;
use crate::server::Server;
use rmcp::ErrorData;
use std::sync::atomic::Ordering;

/// What clients are told instead.
const HIDDEN: &str = "an internal error occurred; the server's log has the reason";

impl Server {
    /// Keeps the messages of other errors to the server: what `?` has converted into [`Error`], texts included, is told as one fixed
    /// sentence, and its message is logged (`tracing`, level `ERROR`). Such messages name paths, addresses and SQL. What the
    /// constructors of [`Error`] make is told as it is. By default all is told.
    ///
    /// This goes for tools, resources, prompts and completions, and for a start of lifespans that a request waits for; [`Server::start`] itself returns all.
    #[must_use]
    pub fn hide_errors(self) -> Self {
        self.shared.hides_errors.store(true, Ordering::Relaxed);
        self
    }

    /// What clients are told of the failure of `what`.
    pub(crate) fn shown(&self, what: &str, error: Error) -> Error {
        if !error.is_foreign() || !self.hides_errors() {
            return error;
        }
        tracing::error!(error = error.message(), "{what} failed");
        Error::new(HIDDEN)
    }

    /// Starts, for a request that came before anybody has started the server.
    pub(crate) async fn start_for_client(&self) -> Result<(), ErrorData> {
        self.start().await.map_err(|error| {
            let message = error.to_string();
            if !self.hides_errors() {
                return ErrorData::internal_error(message, None);
            }
            tracing::error!(error = message, "the server could not be started");
            ErrorData::internal_error(HIDDEN, None)
        })
    }

    fn hides_errors(&self) -> bool {
        self.shared.hides_errors.load(Ordering::Relaxed)
    }
}
