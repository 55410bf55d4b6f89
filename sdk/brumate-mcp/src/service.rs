//! Services: several items of a server that share one value.

use crate::server::Server;
use std::sync::Arc;

/// Tools, resources, prompts and completions that share one value; see [`Server::service`].
///
/// [`#[tools]`](macro@crate::tools) implements it for a type by its methods, and [`#[server]`](macro@crate::server) for
/// a module by its functions. Implement it by hand for items that are known only at run time:
///
/// ```
/// use brumate_mcp::{Context, Server, Service, Tool};
/// use std::sync::Arc;
///
/// struct Rooms(Vec<String>);
///
/// impl Service for Rooms {
///     fn add_to(self: Arc<Self>, server: Server) -> Server {
///         self.0.iter().fold(server, |server, room| {
///             let text = format!("the light of {room} is on");
///             server.tool(Tool::new(format!("light_{room}")).raw_handler(move |_, _: Context| std::future::ready(text.clone())))
///         })
///     }
/// }
///
/// let server = Server::new("Lights").service(Rooms(vec!["hall".to_owned(), "attic".to_owned()]));
/// ```
pub trait Service: Send + Sync + 'static {
    /// Adds the items to a server. Their handlers share the value.
    #[must_use]
    fn add_to(self: Arc<Self>, server: Server) -> Server;
}

/// A value that others use too is a service as well.
impl<S: Service + ?Sized> Service for Arc<S> {
    fn add_to(self: Arc<Self>, server: Server) -> Server {
        S::add_to(Arc::clone(&self), server)
    }
}

impl Server {
    /// Adds all items of a service. It is a value whose type has [`#[tools]`](macro@crate::tools), an [`Arc`] of such a
    /// value, or a module with [`#[server]`](macro@crate::server).
    #[must_use]
    pub fn service(self, service: impl Service) -> Self {
        Arc::new(service).add_to(self)
    }
}
