//! The client of a request beyond the request: its state.

use super::Context;
use crate::client_state::{ClientState, is_shared};
use std::sync::Arc;

impl Context {
    /// Returns the client's value of type `T`, which outlives the request. It begins as the default.
    ///
    /// ```
    /// use brumate_mcp::{Context, Server, tool};
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// /// Counts the calls of this client.
    /// #[tool]
    /// async fn count(context: Context) -> u64 {
    ///     context.client_state::<AtomicU64>().fetch_add(1, Ordering::Relaxed) + 1
    /// }
    ///
    /// let server = Server::new("counter").tool(count);
    /// ```
    ///
    /// | transport | the value belongs to |
    /// |---|---|
    /// | stdio and other streams | the connection |
    /// | HTTP, before 2026-07-28 | the session, in this process; the request where there are no sessions |
    /// | HTTP, since 2026-07-28 | the principal of the server. [All clients without a token](Context::shares_client_state) share it |
    ///
    /// Values of 10,000 principals are kept. When there are more, principals of which nobody holds a value lose theirs. If all are held, the
    /// value of one more principal ends with its request.
    pub fn client_state<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.client_of_request().get()
    }

    /// Returns whether clients that do not know each other share [`Context::client_state`]: over HTTP without authentication, since 2026-07-28.
    /// What one client must not see of another does not belong there then.
    pub fn shares_client_state(&self) -> bool {
        is_shared(self.request())
    }

    pub(super) fn client_of_request(&self) -> &Arc<ClientState> {
        self.inner.client.get_or_init(|| self.inner.connection.client(self.request()))
    }
}
