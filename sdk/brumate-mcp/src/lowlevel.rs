//! Access to rmcp, for needs that the types of this crate do not meet.
//!
//! The rest of the crate has types of its own and does not change when rmcp changes. This module changes with rmcp.

pub use crate::stdio::serve_streams;
pub use rmcp;

use crate::context::Context;
use crate::handler::LayeredHandler;
use crate::http::{Clients, HttpOptions, HttpService};
use crate::principal::Principal;
use crate::server::Server;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

impl Server {
    /// Makes a handler of rmcp for one connection, to wrap it or to serve it over a transport of rmcp. Call
    /// [`Server::start`] before and [`Server::stop`] after serving it.
    pub fn into_handler(self) -> impl ServerHandler + Clone {
        LayeredHandler::new(self)
    }
}

impl HttpService {
    /// Serves handlers of rmcp over HTTP, with this crate's sessions, checks and limits. `make` makes one for each
    /// session, or for each request where there are no sessions, and gets its principal.
    /// [`App::mount_handlers`](crate::App::mount_handlers) mounts them.
    pub fn from_handlers<H: ServerHandler>(
        make: impl Fn(Option<&Principal>) -> H + Send + Sync + 'static,
        options: &HttpOptions,
    ) -> Self {
        Self::new(make, options, Clients::new(options))
    }
}

impl Context {
    /// Returns the request as rmcp has it, with the peer.
    pub fn rmcp(&self) -> &RequestContext<RoleServer> {
        self.request()
    }
}

/// Returns the principal that sends a request; `None` if requests need no token.
pub fn principal(context: &RequestContext<RoleServer>) -> Option<&Principal> {
    crate::http::request_extensions::principal(context)
}
