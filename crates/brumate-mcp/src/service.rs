//! Services: several things that a server offers, which share one value.

use crate::server::Server;
use std::sync::Arc;

/// Something with tools, resources, prompts and completions, for [`Server::service`].
///
/// [`#[tools]`](macro@crate::tools) implements it for a type by its methods, and [`#[server]`](macro@crate::server) for a module by
/// its functions. Implement it by hand for what is known at run time only.
pub trait Service: Send + Sync + 'static {
    /// Adds what it offers to a server; handlers share the value.
    #[must_use]
    fn add_to(self: Arc<Self>, server: Server) -> Server;
}

/// A value that others use too.
impl<S: Service + ?Sized> Service for Arc<S> {
    fn add_to(self: Arc<Self>, server: Server) -> Server {
        S::add_to(Arc::clone(&self), server)
    }
}

impl Server {
    /// Adds all that a service offers: a value whose type has [`#[tools]`](macro@crate::tools), or an [`Arc`] of one, or a module with
    /// [`#[server]`](macro@crate::server).
    #[must_use]
    pub fn service(self, service: impl Service) -> Self {
        Arc::new(service).add_to(self)
    }
}
