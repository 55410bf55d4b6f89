//! Several servers in one HTTP server, each under its path or host.

use super::activity::Farewell;
use super::authority::Authority;
use super::clients::Clients;
use super::guard::{Guard, named_host};
use super::principal::Principal;
use super::resource_metadata::{self, Protected};
use super::service::HttpService;
use super::sse::SseEndpoint;
use super::tls::Tls;
use super::{HttpOptions, connections};
use crate::auth::Protection;
use crate::error::ServeError;
use crate::handler::Handler;
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

/// Servers mounted side by side, started and stopped together.
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
    beside: Router,
    /// The routes of the authorization server.
    authorization: Option<Router>,
    /// What is wrong with the settings; starting fails with it.
    problem: Option<String>,
}

#[derive(Clone)]
struct Mount {
    host: Option<String>,
    prefix: String,
    /// Whose lifespans are started and stopped; handlers of rmcp's have none.
    server: Option<Server>,
    service: HttpService,
    sse: Option<(String, Arc<SseEndpoint>)>,
    path: String,
    farewell: Farewell,
    /// What serves its metadata as a protected resource.
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
        let HttpOptions { path, farewell, .. } = options;
        Self { host: None, prefix, server: None, service, sse, path, farewell, protection }
    }

    /// Refuses new requests, waits for those that run, and ends all sessions.
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
        self.farewell.wait(finished).await;
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
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Mounts a server below `prefix`, which may be empty: its paths ([`HttpOptions::path`]) follow it.
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

    /// Mounts handlers of rmcp's, one for each session (each request, where there are none), made for its principal. See
    /// [`lowlevel`](crate::lowlevel).
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

    /// Serves other things beside the servers, such as a page that says whether they are well. Nothing checks who asks for
    /// them.
    #[must_use]
    pub fn beside(mut self, router: Router) -> Self {
        self.beside = self.beside.merge(router);
        self
    }

    /// Serves an authorization server beside the servers.
    #[cfg(feature = "auth-server")]
    #[must_use]
    pub fn authorization_server(mut self, server: crate::auth_server::AuthServer) -> Self {
        match server.build() {
            Ok(_) if self.authorization.is_some() => {
                self.problem = Some("an app has one authorization server at most".to_owned());
            }
            Ok(server) => self.authorization = Some(server.router()),
            Err(error) => self.problem = Some(error.to_string()),
        }
        self
    }

    /// How many sessions of all servers there are.
    pub fn sessions(&self) -> usize {
        self.mounts
            .iter()
            .map(|mount| mount.service.sessions() + mount.sse.as_ref().map_or(0, |(_, sse)| sse.count()))
            .sum()
    }

    /// How many requests are not answered yet.
    pub fn running(&self) -> usize {
        self.mounts.iter().map(|mount| mount.service.running()).sum()
    }

    /// The servers as an axum router, to be part of another application. That one calls [`App::start`] before and
    /// [`App::drain`] and [`App::stop`] after it serves.
    pub fn router(&self) -> Router {
        let everywhere = self.mounts.iter().filter(|mount| mount.host.is_none());
        let default = everywhere.fold(self.beside.clone(), |router, mount| router.merge(mount.router()));
        let default = default.merge(self.metadata(None)).merge(self.authorization.clone().unwrap_or_default());
        let mut by_host: Vec<(Authority, Router)> = Vec::new();
        for mount in &self.mounts {
            // One that cannot be read is never asked for; the guard says so in the log.
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
            let authorization = self.authorization.clone().unwrap_or_default();
            *router = router.clone().merge(self.metadata(Some(host))).merge(authorization);
        }
        let by_host = Arc::new(by_host);
        let choose = tower::service_fn(move |request: Request<Body>| {
            let (head, body) = request.into_parts();
            let router = router_for(&by_host, &head).unwrap_or_else(|| default.clone());
            router.oneshot(Request::from_parts(head, body))
        });
        Router::new().fallback_service(choose)
    }

    /// The metadata of the protected servers for one host, or for those of every host.
    fn metadata(&self, host: Option<&Authority>) -> Router {
        let of_host = |mount: &&Mount| mount.host.as_deref().and_then(Authority::parse).as_ref() == host;
        let protected = self.mounts.iter().filter(of_host).filter_map(|mount| {
            let (protection, guard) = mount.protection.clone()?;
            let path = format!("{}{}", mount.prefix.trim_end_matches('/'), mount.path);
            Some(Protected { protection, guard, path })
        });
        resource_metadata::router(&protected.collect::<Vec<_>>())
    }

    /// Starts all lifespans.
    ///
    /// # Errors
    ///
    /// The first server that cannot be started; those before it are stopped again.
    pub async fn start(&self) -> Result<(), ServeError> {
        if let Some(problem) = &self.problem {
            return Err(ServeError::Setup(problem.clone()));
        }
        for server in self.mounts.iter().filter_map(|mount| mount.server.as_ref()) {
            if let Err(error) = server.start().await {
                self.stop().await;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Refuses new requests, waits for those that run as long as their server's options allow, and ends all sessions.
    pub async fn drain(&self) {
        futures::future::join_all(self.mounts.iter().map(Mount::drain)).await;
    }

    /// Stops all lifespans, in reverse.
    pub async fn stop(&self) {
        for server in self.mounts.iter().rev().filter_map(|mount| mount.server.as_ref()) {
            server.stop().await;
        }
    }

    /// Serves at `address` until the process is interrupted or terminated.
    ///
    /// # Errors
    ///
    /// A server cannot be started; [`ServeError::Bind`].
    pub async fn run(self, address: impl ToSocketAddrs) -> Result<(), ServeError> {
        self.run_on(listen(address).await?).await
    }

    /// Serves what `listener` accepts until the process is interrupted or terminated.
    ///
    /// # Errors
    ///
    /// A server cannot be started.
    pub async fn run_on(self, listener: TcpListener) -> Result<(), ServeError> {
        let token = CancellationToken::new();
        tokio::spawn(cancel_on_signal(token.clone()));
        self.serve(listener, async move { token.cancelled().await }).await
    }

    /// Serves what `listener` accepts until `shutdown` completes; then lets running requests end, closes everything and
    /// stops the lifespans.
    ///
    /// # Errors
    ///
    /// A server cannot be started.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        self.serve_with(listener, None, shutdown).await
    }

    /// As [`App::serve`], over TLS, with HTTP/2 for clients that speak it.
    ///
    /// # Errors
    ///
    /// A server cannot be started.
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
    /// Serves over HTTP at `address` until the process is interrupted or terminated: streamable HTTP at `/mcp`, unless
    /// the options say otherwise.
    ///
    /// # Errors
    ///
    /// The server cannot be started; [`ServeError::Bind`].
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
/// The name is not known; [`ServeError::Bind`].
pub(crate) async fn listen(address: impl ToSocketAddrs) -> Result<TcpListener, ServeError> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(address).await?.collect();
    TcpListener::bind(&addresses[..]).await.map_err(|error| {
        let address = addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ");
        ServeError::Bind { address, error }
    })
}
