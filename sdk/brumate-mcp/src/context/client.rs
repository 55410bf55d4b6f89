//! The client of a request beyond the request: its state, and notifications that it alone gets.

use super::Context;
use crate::client_state::{ClientState, is_shared};
use crate::connection::ChangeNotification;
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
    /// Values of 10,000 principals are kept. When there are more, values that nobody holds are dropped. If all are held, the value of
    /// one more principal ends with its request.
    pub fn client_state<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.client_of_request().get()
    }

    /// Returns whether clients that do not know each other share [`Context::client_state`]: over HTTP without authentication, since 2026-07-28.
    /// Do not keep secrets of one client there then.
    pub fn shares_client_state(&self) -> bool {
        is_shared(self.request())
    }

    /// Notifies the client of this request that its list of resources has changed. Use it for a list that differs from
    /// the lists of other clients. Before 2026-07-28 the connection of the request is notified. Since then the client's
    /// listeners (`subscriptions/listen`) are notified, over HTTP all listeners of its principal.
    /// [`Server::notify_resources_changed`](crate::Server::notify_resources_changed) notifies all clients.
    ///
    /// Returns when they are notified. A client that does not read is given up after 30 seconds.
    pub async fn notify_resources_changed(&self) {
        self.notify_client(&ChangeNotification::Resources).await;
    }

    /// Notifies the client of this request like [`Context::notify_resources_changed`], of changed tools.
    pub async fn notify_tools_changed(&self) {
        self.notify_client(&ChangeNotification::Tools).await;
    }

    /// Notifies the client of this request like [`Context::notify_resources_changed`], of changed prompts.
    pub async fn notify_prompts_changed(&self) {
        self.notify_client(&ChangeNotification::Prompts).await;
    }

    async fn notify_client(&self, change: &ChangeNotification) {
        let peer = (!self.is_stateless_protocol()).then(|| self.request().peer.clone());
        self.inner.connection.notify(self.client_of_request(), peer, change).await;
    }

    fn client_of_request(&self) -> &Arc<ClientState> {
        self.inner.client.get_or_init(|| self.inner.connection.client(self.request()))
    }
}
