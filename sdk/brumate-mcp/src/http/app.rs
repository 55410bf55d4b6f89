//! Several servers in one HTTP server, each at its path or host.

use super::authority::Authority;
use super::connections;
use super::guard::named_host;
use super::guarded_router::GuardedRouter;
use super::mount::Mount;
use super::options::HttpOptions;
use super::resource_metadata::{self, ProtectedMount};
use super::server_card;
use super::tls::Tls;
use crate::error::ServeError;
use crate::handler::LayeredHandler;
use crate::principal::Principal;
use crate::server::Server;
use crate::stdio::cancel_on_signal;
use axum::Router;
use axum::body::Body;
use http::Request;
use http::request::Parts;
use rmcp::ServerHandler;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// How long connections may take to close after their requests have ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Servers that are mounted side by side in one HTTP server. They are started and stopped together.
///
/// ```no_run
/// use brumate_mcp::{App, HttpOptions, Server};
///
/// # async fn run(echo: Server, math: Server) -> Result<(), brumate_mcp::ServeError> {
/// App::new()
///     .mount("/echo", echo, HttpOptions::new().stateless()) // at /echo/mcp
///     .mount("/math", math, HttpOptions::new()) // at /math/mcp
///     .run("127.0.0.1:8000")
///     .await
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct App {
    mounts: Vec<Mount>,
    guarded: Vec<GuardedRouter>,
    merged: Router,
    #[cfg(feature = "auth-server")]
    auth_server: Option<Arc<crate::auth_server::AuthServerInner>>,
    /// A fault of the settings. [`App::start`] fails with it.
    problem: Option<String>,
}

impl App {
    /// Makes an app without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Mounts a server below `prefix`, which may be empty. The server's path ([`HttpOptions::path`]) follows it.
    #[must_use]
    pub fn mount(self, prefix: impl Into<String>, server: Server, options: HttpOptions) -> Self {
        self.add(None, prefix.into(), server, options)
    }

    /// Mounts a server for requests to one host, which is let in.
    #[must_use]
    pub fn mount_host(self, host: impl Into<String>, server: Server, options: HttpOptions) -> Self {
        let host = host.into();
        let options = options.allow_host(host.clone());
        self.add(Some(host), String::new(), server, options)
    }

    fn add(mut self, host: Option<String>, prefix: String, server: Server, options: HttpOptions) -> Self {
        let handlers = server.clone();
        let options = options.of_server(&server);
        let mount = Mount::new(prefix, move |_| LayeredHandler::new(handlers.clone()), options);
        self.mounts.push(Mount { host, server: Some(server), ..mount });
        self
    }

    /// Mounts handlers of rmcp. `make` makes one for each session, or for each request where there are no sessions, and
    /// gets its principal. See [`lowlevel`](crate::lowlevel).
    #[must_use]
    pub fn mount_handlers<H: ServerHandler>(
        mut self,
        prefix: impl Into<String>,
        make: impl Fn(Option<&Principal>) -> H + Clone + Send + Sync + 'static,
        options: HttpOptions,
    ) -> Self {
        self.mounts.push(Mount::new(prefix.into(), make, options));
        self
    }

    /// Mounts a router below `prefix`, which may be empty, with the guard of a server. Hosts, origins and tokens are
    /// checked, and bodies and requests are limited, as `options` say. The router gets all paths below `prefix` that
    /// nothing else has. It finds the request's [`Principal`] in the extensions of the request. When the app has
    /// checked the token of a request, the request has no `Authorization` header any more.
    ///
    /// Bodies are streamed. [`HttpOptions::body_timeout`] is the time for each piece of a body. Preflight requests of
    /// web pages (CORS) are answered before the router. Each prefix has one router at most.
    #[must_use]
    pub fn mount_router(mut self, prefix: impl Into<String>, router: Router, options: HttpOptions) -> Self {
        let router = GuardedRouter::new(&prefix.into(), router, options);
        if self.guarded.iter().any(|other| other.prefix() == router.prefix()) {
            self.problem = Some(format!("there are two routers at `{}`", router.prefix()));
        } else {
            self.guarded.push(router);
        }
        self
    }

    /// Adds routes beside the servers, such as a health check. Nothing checks who requests them.
    #[must_use]
    pub fn merge(mut self, router: Router) -> Self {
        self.merged = self.merged.merge(router);
        self
    }

    /// Adds an authorization server. An app has at most one.
    #[cfg(feature = "auth-server")]
    #[must_use]
    pub fn authorization_server(mut self, server: crate::auth_server::AuthServer) -> Self {
        match server.build() {
            Ok(_) if self.auth_server.is_some() => {
                self.problem = Some("an app has one authorization server at most".to_owned());
            }
            Ok(server) => self.auth_server = Some(server),
            Err(error) => self.problem = Some(error.to_string()),
        }
        self
    }

    /// Returns the number of sessions of all servers.
    pub fn session_count(&self) -> usize {
        self.mounts
            .iter()
            .map(|mount| mount.service.session_count() + mount.sse.as_ref().map_or(0, |(_, sse)| sse.count()))
            .sum()
    }

    /// Returns the number of requests that are not answered yet.
    pub fn running_requests(&self) -> usize {
        let of_routers: usize = self.guarded.iter().map(GuardedRouter::running_requests).sum();
        self.mounts.iter().map(|mount| mount.service.running_requests()).sum::<usize>() + of_routers
    }

    /// Returns the servers as an axum router, for use in another application. The application calls [`App::start`]
    /// before it serves, and [`App::drain`] and [`App::stop`] after.
    pub fn router(&self) -> Router {
        let everywhere = self.mounts.iter().filter(|mount| mount.host.is_none());
        let default = everywhere.fold(self.merged.clone(), |router, mount| router.merge(mount.router()));
        let default = self.guarded.iter().fold(default, |router, guarded| router.merge(guarded.router()));
        let default = default.merge(self.metadata(None)).merge(self.catalog(None)).merge(self.authorization());
        let mut by_host: Vec<(Authority, Router)> = Vec::new();
        for mount in &self.mounts {
            // No request names a host that cannot be parsed; the guard logs it.
            let Some(host) = mount.host.as_deref().and_then(Authority::parse) else { continue };
            match by_host.iter_mut().find(|(known, _)| *known == host) {
                Some((_, router)) => *router = router.clone().merge(mount.router()),
                None => by_host.push((host, mount.router())),
            }
        }
        if by_host.is_empty() {
            return default;
        }
        for (host, router) in &mut by_host {
            let others = self.metadata(Some(host)).merge(self.catalog(Some(host))).merge(self.authorization());
            *router = router.clone().merge(others);
        }
        let by_host = Arc::new(by_host);
        let choose = tower::service_fn(move |request: Request<Body>| {
            let (head, body) = request.into_parts();
            let router = router_for(&by_host, &head).unwrap_or_else(|| default.clone());
            router.oneshot(Request::from_parts(head, body))
        });
        Router::new().fallback_service(choose)
    }

    /// Returns the routes of the authorization server.
    fn authorization(&self) -> Router {
        #[cfg(feature = "auth-server")]
        if let Some(auth_server) = &self.auth_server {
            return auth_server.router();
        }
        Router::new()
    }

    /// Returns the servers of one host, or of every host.
    fn of_host(&self, host: Option<&Authority>) -> impl Iterator<Item = &Mount> {
        self.mounts.iter().filter(move |mount| mount.host.as_deref().and_then(Authority::parse).as_ref() == host)
    }

    /// Returns the route of the catalog of the servers' cards, for one host or for every host.
    fn catalog(&self, host: Option<&Authority>) -> Router {
        let cards: Vec<_> = self.of_host(host).filter_map(|mount| mount.card.as_ref()).collect();
        let Some((_, guard)) = cards.first() else { return Router::new() };
        let entries: Vec<_> = cards.iter().map(|(card, _)| card.entry()).collect();
        server_card::catalog_router(&entries, guard.clone())
    }

    /// Returns the routes of the metadata of the protected servers for one host, or for every host.
    fn metadata(&self, host: Option<&Authority>) -> Router {
        let protected = self.of_host(host).filter_map(|mount| {
            let (protection, guard) = mount.protection.clone()?;
            let path = format!("{}{}", mount.prefix.trim_end_matches('/'), mount.path);
            Some(ProtectedMount { protection, guard, path })
        });
        let guarded = self.guarded.iter().filter(|_| host.is_none()).filter_map(GuardedRouter::protected);
        resource_metadata::router(&protected.chain(guarded).collect::<Vec<_>>())
    }

    /// Starts all lifespans.
    ///
    /// # Errors
    ///
    /// Returns the error of the first server that cannot be started. The servers before it are stopped again.
    pub async fn start(&self) -> Result<(), ServeError> {
        if let Some(problem) = &self.problem {
            return Err(ServeError::Setup(problem.clone()));
        }
        for mount in &self.mounts {
            let Some((card, _)) = &mount.card else { continue };
            card.to_json(mount.server.as_ref()).map_err(ServeError::Setup)?;
        }
        #[cfg(feature = "auth-server")]
        if let Some(auth_server) = &self.auth_server {
            for mount in &self.mounts {
                let Some((protection, _)) = &mount.protection else { continue };
                auth_server.check_grants(protection, mount.server.as_ref()).map_err(ServeError::Setup)?;
            }
            for protection in self.guarded.iter().filter_map(GuardedRouter::protection) {
                auth_server.check_grants(protection, None).map_err(ServeError::Setup)?;
            }
        }
        for server in self.mounts.iter().filter_map(|mount| mount.server.as_ref()) {
            if let Err(error) = server.start().await {
                self.stop().await;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Refuses new requests, waits for running ones as long as their server's options allow, and ends all sessions.
    pub async fn drain(&self) {
        let servers = futures::future::join_all(self.mounts.iter().map(Mount::drain));
        let routers = futures::future::join_all(self.guarded.iter().map(GuardedRouter::drain));
        futures::join!(servers, routers);
    }

    /// Stops all lifespans, in reverse.
    pub async fn stop(&self) {
        for server in self.mounts.iter().rev().filter_map(|mount| mount.server.as_ref()) {
            server.stop().await;
        }
    }

    /// Serves at `address` until the process gets SIGINT or SIGTERM.
    ///
    /// # Errors
    ///
    /// Returns an error if a server cannot be started, and [`ServeError::Bind`] if the address cannot be bound.
    pub async fn run(self, address: impl ToSocketAddrs) -> Result<(), ServeError> {
        self.run_on(listen(address).await?).await
    }

    /// Serves the connections of `listener` until the process gets SIGINT or SIGTERM.
    ///
    /// # Errors
    ///
    /// Returns an error if a server cannot be started.
    pub async fn run_on(self, listener: TcpListener) -> Result<(), ServeError> {
        let token = CancellationToken::new();
        tokio::spawn(cancel_on_signal(token.clone()));
        self.serve(listener, async move { token.cancelled().await }).await
    }

    /// Serves the connections of `listener` until `shutdown` completes. Then it lets running requests end, closes all
    /// connections and stops the lifespans.
    ///
    /// # Errors
    ///
    /// Returns an error if a server cannot be started.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        self.serve_with(listener, None, shutdown).await
    }

    /// Serves like [`App::serve`], over TLS, with HTTP/2 for clients that speak it.
    ///
    /// # Errors
    ///
    /// Returns an error if a server cannot be started.
    pub async fn serve_tls(
        self,
        listener: TcpListener,
        tls: Tls,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        self.serve_with(listener, Some(tls), shutdown).await
    }

    async fn serve_with(
        self,
        listener: TcpListener,
        tls: Option<Tls>,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        self.start().await?;
        if let Ok(address) = listener.local_addr() {
            tracing::info!(%address, "serving MCP over HTTP");
        }
        let (ending, closing) = (CancellationToken::new(), CancellationToken::new());
        let winding_up = async {
            shutdown.await;
            self.drain().await;
            ending.cancel();
            tokio::time::sleep(CLOSE_TIMEOUT).await;
            closing.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = connections::serve(listener, tls, self.router(), ending.clone(), closing.clone()) => {}
            () = winding_up => {}
        }
        self.stop().await;
        Ok(())
    }
}

impl Server {
    /// Serves over HTTP at `address` until the process gets SIGINT or SIGTERM: streamable HTTP at `/mcp`, unless the
    /// options say otherwise.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be started, and [`ServeError::Bind`] if the address cannot be bound.
    pub async fn run_http(self, address: impl ToSocketAddrs, options: HttpOptions) -> Result<(), ServeError> {
        App::new().mount("", self, options).run(address).await
    }
}

fn router_for(by_host: &[(Authority, Router)], request: &Parts) -> Option<Router> {
    let named = Authority::parse(&named_host(request).ok()?)?;
    by_host.iter().find(|(host, _)| host.admits(&named)).map(|(_, router)| router.clone())
}

/// Listens at an address.
///
/// # Errors
///
/// Returns an error if the name does not resolve, and [`ServeError::Bind`] if the address cannot be bound.
pub(crate) async fn listen(address: impl ToSocketAddrs) -> Result<TcpListener, ServeError> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(address).await?.collect();
    TcpListener::bind(&addresses[..]).await.map_err(|error| {
        let address = addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ");
        ServeError::Bind { address, error }
    })
}
