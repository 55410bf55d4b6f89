//! The door to rmcp, for what this crate has no word for.
//!
//! Everything else in the crate has types of its own and stays as it is when rmcp changes; what is here changes with it.

pub use rmcp;

use crate::context::Context;
use crate::handler::Handler;
use crate::http::{HttpOptions, HttpService};
use crate::server::Server;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

impl Server {
    /// The server as a handler of rmcp's, for one connection: to wrap it, or to serve it over a transport of rmcp's. Call
    /// [`Server::start`] before and [`Server::stop`] after serving it.
    pub fn into_handler(self) -> impl ServerHandler + Clone {
        Handler::new(self)
    }
}

impl HttpService {
    /// Serves handlers of rmcp's over HTTP, one for each session, with this crate's sessions, checks and limits.
    pub fn from_handlers<H: ServerHandler>(
        make: impl Fn() -> H + Send + Sync + 'static,
        options: &HttpOptions,
    ) -> Self {
        Self::new(make, options)
    }
}

impl Context {
    /// The request as rmcp knows it, with the peer to talk to.
    pub fn rmcp(&self) -> &RequestContext<RoleServer> {
        self.request()
    }
}
