//! Several servers in one HTTP server, each at its path or host.

use super::authority::Authority;
use super::clients::Clients;
use super::connections;
use super::guard::{Guard, named_host};
use super::options::HttpOptions;
use super::resource_metadata::{self, ProtectedMount};
use super::running_requests::ShutdownPolicy;
use super::service::HttpService;
use super::sse::SseEndpoint;
use super::tls::Tls;
use crate::auth::Protection;
use crate::error::ServeError;
use crate::handler::Handler;
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
    merged: Router,
    #[cfg(feature = "auth-server")]
    auth_server: Option<Arc<crate::auth_server::AuthServerInner>>,
    /// What is wrong with the settings. [`App::start`] fails with it.
    problem: Option<String>,
}

/// A server or handlers at a path, or for a host.
#[derive(Clone)]
struct Mount {
    host: Option<String>,
    prefix: String,
    /// The server whose lifespans are started and stopped. Handlers of rmcp have none.
    server: Option<Server>,
    service: HttpService,
    sse: Option<(String, Arc<SseEndpoint>)>,
    path: String,
    shutdown: ShutdownPolicy,
    /// The metadata of the protected resource, and the guard of its requests.
    protection: Option<(Arc<Protection>, Guard)>,
}

impl std::fmt::Debug for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mount").field("prefix", &self.prefix).field("server", &self.server).finish_non_exhaustive()
    }
}

impl Mount {
    fn new<H: ServerHandler>(
        prefix: String,
        make: impl Fn(Option<&Principal>) -> H + Clone + Send + Sync + 'static,
        options: HttpOptions,
    ) -> Self {
        let clients = Clients::new(&options);
        let sse = options.sse_path.clone();
        let sse = sse.map(|path| (path, SseEndpoint::new(make.clone(), &options, clients.clone())));
        let service = HttpService::new(make, &options, clients);
        let protection = options.verifier.protection.clone().map(|protection| (protection, Guard::new(&options)));
        let HttpOptions { path, shutdown, .. } = options;
        Self { host: None, prefix, server: None, service, sse, path, shutdown, protection }
    }

    /// Refuses new requests, waits for running ones, and ends all sessions.
    async fn drain(&self) {
        self.service.begin_drain();
        let sse = self.sse.as_ref().map(|(_, sse)| sse);
        if let Some(sse) = sse {
            sse.begin_drain();
        }
        let finished = async {
            self.service.finished().await;
            if let Some(sse) = sse {
                sse.finished().await;
            }
        };
        self.shutdown.wait(finished).await;
        self.service.end_all();
        if let Some(sse) = sse {
            sse.end_all();
        }
    }

    fn router(&self) -> Router {
        let mut router = Router::new().route_service(&self.path, self.service.clone());
        if let Some((path, sse)) = &self.sse {
            router = router.merge(sse.router(path));
        }
        match self.prefix.trim_end_matches('/') {
            "" => router,
            prefix => Router::new().nest(prefix, router),
        }
    }
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
        let mount = Mount::new(prefix, move |_| Handler::new(handlers.clone()), options);
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
        self.mounts.iter().map(|mount| mount.service.running_requests()).sum()
    }

    /// Returns the servers as an axum router, for use in another application. The application calls [`App::start`]
    /// before it serves, and [`App::drain`] and [`App::stop`] after.
    pub fn router(&self) -> Router {
        let everywhere = self.mounts.iter().filter(|mount| mount.host.is_none());
        let default = everywhere.fold(self.merged.clone(), |router, mount| router.merge(mount.router()));
        let default = default.merge(self.metadata(None)).merge(self.authorization());
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
            *router = router.clone().merge(self.metadata(Some(host))).merge(self.authorization());
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

    /// Returns the routes of the metadata of the protected servers for one host, or for every host.
    fn metadata(&self, host: Option<&Authority>) -> Router {
        let of_host = |mount: &&Mount| mount.host.as_deref().and_then(Authority::parse).as_ref() == host;
        let protected = self.mounts.iter().filter(of_host).filter_map(|mount| {
            let (protection, guard) = mount.protection.clone()?;
            let path = format!("{}{}", mount.prefix.trim_end_matches('/'), mount.path);
            Some(ProtectedMount { protection, guard, path })
        });
        resource_metadata::router(&protected.collect::<Vec<_>>())
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
        #[cfg(feature = "auth-server")]
        if let Some(auth_server) = &self.auth_server {
            for mount in &self.mounts {
                let Some((protection, _)) = &mount.protection else { continue };
                auth_server.check_grants(protection, mount.server.as_ref()).map_err(ServeError::Setup)?;
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
        futures::future::join_all(self.mounts.iter().map(Mount::drain)).await;
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

    /// Serves what `listener` accepts until the process gets SIGINT or SIGTERM.
    ///
    /// # Errors
    ///
    /// Returns an error if a server cannot be started.
    pub async fn run_on(self, listener: TcpListener) -> Result<(), ServeError> {
        let token = CancellationToken::new();
        tokio::spawn(cancel_on_signal(token.clone()));
        self.serve(listener, async move { token.cancelled().await }).await
    }

    /// Serves what `listener` accepts until `shutdown` completes. Then it lets running requests end, closes all
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
