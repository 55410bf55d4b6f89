//! Room for large answers.

use super::Context;
use crate::error::Error;
use crate::http::ResponseReservation;

impl Context {
    /// Waits up to ten seconds for room for an answer of about `bytes`, before the work for it is done. The bytes that a client has not read are
    /// bounded: over HTTP for each principal ([`HttpOptions::max_pending_bytes`](crate::HttpOptions::max_pending_bytes)), over streams to 64 MiB
    /// of a connection. A second reservation of a request takes the place of the first.
    ///
    /// Without a reservation an answer without room is replaced by an error, after the work.
    ///
    /// # Errors
    ///
    /// Returns an error that names the client's next step: to read its answers, or to ask for less.
    pub async fn reserve_response(&self, bytes: usize) -> Result<(), Error> {
        if self.is_task() {
            // The request was answered. The limits of tasks hold for the result.
            return Ok(());
        }
        let Some(request) = self.with_current(Clone::clone) else { return Ok(()) };
        let reserved = ResponseReservation::reserve_for(&request, bytes).await;
        reserved.map_err(|refused| Error::new(refused.to_string()))
    }
}
