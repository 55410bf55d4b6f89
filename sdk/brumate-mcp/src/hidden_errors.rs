//! Errors whose messages clients do not see.

use crate::error::Error;
use crate::server::Server;
use rmcp::ErrorData;
use std::sync::atomic::Ordering;

/// The message that clients get instead.
const HIDDEN: &str = "an internal error occurred; the server's log has the reason";

impl Server {
    /// Hides the messages of errors that `?` has converted into [`Error`], texts included. Clients get one fixed
    /// sentence, and the message is logged (`tracing`, level `ERROR`). Such messages can name paths, addresses and SQL.
    /// Errors of the constructors of [`Error`] are not hidden. By default no error is.
    ///
    /// This holds for tools, resources, prompts and completions, and for a start of lifespans that a request waits for.
    /// [`Server::start`] returns the whole error.
    #[must_use]
    pub fn hide_errors(self) -> Self {
        self.shared.hides_errors.store(true, Ordering::Relaxed);
        self
    }

    /// Returns the error that clients get when `what` fails.
    pub(crate) fn shown(&self, what: &str, error: Error) -> Error {
        if !error.is_foreign() || !self.hides_errors() {
            return error;
        }
        tracing::error!(error = error.message(), "{what} failed");
        Error::new(HIDDEN)
    }

    /// Starts the server for a request, if nobody has started it yet.
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
