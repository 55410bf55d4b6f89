//! Setting clients up, and connecting them.

use super::callbacks::{Callbacks, Change, LogMessage, OnChange, OnLog};
use super::child::ServerCommand;
use super::error::ClientError;
use super::incoming::Observed;
use super::questions::{Answerers, FormRequest, SamplingRequest, UrlRequest};
use super::request::{MAX_ROUNDS, Requests};
use super::{Client, Inner};
use crate::answers::{Answer, Root, Sampled, UrlAnswer};
use crate::error::Error;
use crate::level::Level;
use rmcp::RoleClient;
use rmcp::model as wire;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::{IntoTransport, Transport};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// How long a server may take until the connection is set up, unless the client says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// The same, where a person may have to authorize the client.
#[cfg(feature = "auth")]
const AUTHORIZE_TIMEOUT: Duration = Duration::from_secs(600);

/// Which protocol to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// The newest that the server speaks: it is asked by `server/discover`, and if it does not know that, by `initialize`. A server
    /// that does not answer what it does not know costs ten seconds.
    #[default]
    Auto,
    /// 2025-11-25 or older, by `initialize`.
    Initialize,
    /// 2026-07-28, by `server/discover`.
    Discover,
}

/// A client that is set up, and not connected yet; see [`Client`].
///
/// What a server may ask is what there is a callback for: each declares its capability.
#[must_use = "a client is connected by `connect`"]
pub struct ClientBuilder<T> {
    target: T,
    implementation: wire::Implementation,
    answerers: Answerers,
    on_log: Option<OnLog>,
    on_change: Option<OnChange>,
    log_level: Option<Level>,
    timeout: Option<Duration>,
    connect_timeout: Duration,
    protocol: Protocol,
    max_rounds: usize,
    /// Listens to changes though there is no callback for them.
    listens: bool,
}

impl<T> std::fmt::Debug for ClientBuilder<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder").field("name", &self.implementation.name).finish_non_exhaustive()
    }
}

/// A running connection.
#[allow(unreachable_pub, reason = "it shows in a sealed trait")]
pub type Running = RunningService<RoleClient, Arc<Callbacks>>;

/// What a client connects to.
pub trait Target: sealed::Target {}

impl<T: sealed::Target> Target for T {}

pub(super) mod sealed {
    use super::{Callbacks, ClientError, ClientLifecycleMode, Running};
    use std::sync::Arc;

    pub trait Target: Send {
        /// Names it for people.
        fn name(&self) -> String;

        /// Connects.
        fn start(
            self,
            callbacks: Arc<Callbacks>,
            lifecycle: ClientLifecycleMode,
        ) -> impl Future<Output = Result<Running, ClientError>> + Send;
    }
}

/// A server that is started as a child process.
#[derive(Clone, Debug)]
pub struct StdioTarget(pub(super) ServerCommand);

/// A server at the other end of two streams, a line for each message.
#[derive(Debug)]
pub struct StreamTarget<R, W> {
    input: R,
    output: W,
}

/// A server in this process.
#[cfg(feature = "server")]
#[derive(Debug)]
pub struct ServerTarget(crate::Server);

/// A server over streamable HTTP.
#[cfg(feature = "client-http")]
#[derive(Clone)]
pub struct HttpTarget(pub(super) super::http::Endpoint);

/// A server over HTTP+SSE, the transport of 2024-11-05.
#[cfg(feature = "client-http")]
#[derive(Clone)]
pub struct SseTarget(pub(super) super::http::Endpoint);

impl Client {
    /// A server that is started as a child process, in a process group of its own, and ends with the client.
    pub fn stdio(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> ClientBuilder<StdioTarget> {
        let arguments = arguments.into_iter().map(Into::into).collect();
        ClientBuilder::new(StdioTarget(ServerCommand::new(program.into(), arguments)))
    }

    /// A server at the other end of two streams, a line for each message: what it says comes from `input`.
    pub fn streams<R, W>(input: R, output: W) -> ClientBuilder<StreamTarget<R, W>>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        ClientBuilder::new(StreamTarget { input, output })
    }

    /// A server in this process, without a socket: for tests, and programs that are both.
    #[cfg(feature = "server")]
    pub fn in_process(server: &crate::Server) -> ClientBuilder<ServerTarget> {
        ClientBuilder::new(ServerTarget(server.clone()))
    }

    /// A server over streamable HTTP.
    #[cfg(feature = "client-http")]
    pub fn http(url: impl Into<String>) -> ClientBuilder<HttpTarget> {
        ClientBuilder::new(HttpTarget(super::http::Endpoint::new(url.into())))
    }

    /// A server over HTTP+SSE, the deprecated transport of 2024-11-05.
    #[cfg(feature = "client-http")]
    pub fn sse(url: impl Into<String>) -> ClientBuilder<SseTarget> {
        ClientBuilder::new(SseTarget(super::http::Endpoint::new(url.into())))
    }
}

impl<T> ClientBuilder<T> {
    pub(super) fn new(target: T) -> Self {
        Self {
            target,
            implementation: wire::Implementation::new("brumate-mcp", env!("CARGO_PKG_VERSION")),
            answerers: Answerers::default(),
            on_log: None,
            on_change: None,
            log_level: None,
            timeout: None,
            connect_timeout: CONNECT_TIMEOUT,
            protocol: Protocol::default(),
            max_rounds: MAX_ROUNDS,
            listens: false,
        }
    }

    /// Sets the client's name and version for the server; `brumate-mcp` and its version by default.
    pub fn name(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.implementation = wire::Implementation::new(name, version);
        self
    }

    /// Answers for a model (`sampling/createMessage`).
    pub fn on_sampling<F, Fut, E>(mut self, callback: F) -> Self
    where
        F: Fn(SamplingRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Sampled, E>> + Send + 'static,
        E: Into<Error>,
    {
        self.answerers.sampling = Some(Arc::new(move |request| {
            let answer = callback(request);
            Box::pin(async move { answer.await.map_err(Into::into) })
        }));
        self
    }

    /// Shows forms to the user (`elicitation/create`). What is accepted is completed with the form's defaults.
    pub fn on_form<F, Fut>(mut self, callback: F) -> Self
    where
        F: Fn(FormRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer<Map<String, Value>>> + Send + 'static,
    {
        self.answerers.form = Some(Arc::new(move |request| {
            let answer = callback(request);
            Box::pin(async move { Ok(answer.await) })
        }));
        self
    }

    /// Shows pages to the user (`elicitation/create`, mode `url`).
    pub fn on_url<F, Fut>(mut self, callback: F) -> Self
    where
        F: Fn(UrlRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = UrlAnswer> + Send + 'static,
    {
        self.answerers.url = Some(Arc::new(move |request| {
            let answer = callback(request);
            Box::pin(async move { Ok(answer.await) })
        }));
        self
    }

    /// Tells the server which directories and files it may work with.
    pub fn roots(self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots: Vec<Root> = roots.into_iter().collect();
        self.on_roots(move || std::future::ready(roots.clone()))
    }

    /// As [`ClientBuilder::roots`], asked each time the server asks; see [`Client::notify_roots_changed`].
    pub fn on_roots<F, Fut>(mut self, callback: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<Root>> + Send + 'static,
    {
        self.answerers.roots = Some(Arc::new(move |()| {
            let roots = callback();
            Box::pin(async move { Ok(roots.await) })
        }));
        self
    }

    /// Shows the server's log messages, in their order. The callback must not block.
    pub fn on_log(mut self, callback: impl Fn(LogMessage) + Send + Sync + 'static) -> Self {
        self.on_log = Some(Arc::new(callback));
        self
    }

    /// Sets how much log messages have to matter to be sent. Without it servers before 2026-07-28 send what they like, those since
    /// then nothing.
    pub fn log_level(mut self, level: Level) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Tells of changes of what the server offers, in their order. The callback must not block.
    pub fn on_change(mut self, callback: impl Fn(Change) + Send + Sync + 'static) -> Self {
        self.on_change = Some(Arc::new(callback));
        self
    }

    /// Sets how long a request may take, unless a call says otherwise; for ever by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long the server may take until the connection is set up; a minute by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets which protocol to speak.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Hears of changes at the server, for a group.
    pub(super) fn listening(mut self) -> Self {
        self.listens = true;
        self
    }

    /// Sets how many rounds of questions one request may have (2026-07-28); [`MAX_ROUNDS`] by default.
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.max_rounds = rounds.max(1);
        self
    }
}

impl ClientBuilder<StdioTarget> {
    /// Sets a variable of the server's environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.target.0.environment.push((name.into(), value.into()));
        self
    }

    /// Gives the server all variables of this process, secrets included, and not only [`INHERITED`](super::INHERITED).
    pub fn inherit_env(mut self) -> Self {
        self.target.0.inherit_environment = true;
        self
    }

    /// Sets the directory the server is started in.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.target.0.directory = Some(directory.into());
        self
    }

    /// Throws away what the server writes to its standard error, which otherwise goes to that of this process.
    pub fn quiet(mut self) -> Self {
        self.target.0.is_quiet = true;
        self
    }
}

#[cfg(feature = "client-http")]
macro_rules! endpoint_methods {
    ($($target:ident)*) => {$(
        impl ClientBuilder<$target> {
            /// Sends a header with every request.
            pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
                self.target.0.header(name.as_ref(), value.as_ref());
                self
            }

            /// Gets tokens for the server, and sends them with every request. The time of [`ClientBuilder::connect_timeout`] is the
            /// person's, too, who authorizes the client: ten minutes, unless it is set afterwards.
            #[cfg(feature = "auth")]
            pub fn auth(mut self, authorization: impl super::auth::Authorization) -> Self {
                self.connect_timeout = AUTHORIZE_TIMEOUT;
                self.target.0.authorize(authorization);
                self
            }

            /// Sends a bearer token with every request to the server (RFC 6750).
            pub fn bearer(mut self, token: impl AsRef<str>) -> Self {
                self.target.0.header("authorization", &format!("Bearer {}", token.as_ref()));
                self
            }
        }
    )*};
}

#[cfg(feature = "client-http")]
endpoint_methods!(HttpTarget SseTarget);

impl<T: Target> ClientBuilder<T> {
    /// Connects.
    ///
    /// # Errors
    ///
    /// The server cannot be started or reached, wants other credentials, or speaks no protocol that this client speaks.
    pub async fn connect(self) -> Result<Client, ClientError> {
        let name = self.target.name();
        let callbacks = Arc::new(Callbacks::new(self.implementation, self.answerers, self.on_log, self.on_change));
        let newest = vec![ProtocolVersion::LATEST];
        let lifecycle = match self.protocol {
            Protocol::Auto => ClientLifecycleMode::Auto {
                preferred_versions: newest,
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
            Protocol::Initialize => ClientLifecycleMode::Initialize,
            Protocol::Discover => ClientLifecycleMode::Discover { preferred_versions: newest },
        };
        let started = tokio::time::timeout(self.connect_timeout, self.target.start(callbacks.clone(), lifecycle));
        let running = started.await.unwrap_or_else(|_| {
            let reason = format!("it did not answer within {:?}", self.connect_timeout);
            Err(ClientError::Connect { server: name, reason })
        })?;
        let client = Client::of_running(running, callbacks, self.max_rounds, self.timeout, self.log_level);
        if let Some(level) = self.log_level.filter(|_| !client.inner.is_modern && client.has("logging")) {
            client.set_log_level(level).await?;
        }
        if self.listens || client.inner.requests.callbacks.wants_changes() {
            client.listen();
        }
        Ok(client)
    }
}

impl Client {
    fn of_running(
        running: Running,
        callbacks: Arc<Callbacks>,
        max_rounds: usize,
        timeout: Option<Duration>,
        log_level: Option<Level>,
    ) -> Client {
        let peer = running.peer().clone();
        let info = peer.peer_info();
        let info = info.as_deref();
        let server = info.and_then(|info| serde_json::to_value(info.server_info.as_ref()?).ok());
        let capabilities = info.and_then(|info| serde_json::to_value(&info.capabilities).ok());
        let version = info.map_or(ProtocolVersion::LATEST_WITH_INITIALIZE, |info| info.protocol_version.clone());
        let stop = running.cancellation_token();
        let closed = CancellationToken::new();
        let ended = closed.clone();
        tokio::spawn(async move {
            let _ = running.waiting().await;
            ended.cancel();
        });
        let inner = Inner {
            requests: Requests { peer, callbacks, max_rounds },
            server: server.and_then(|server| serde_json::from_value(server).ok()).unwrap_or_default(),
            protocol_version: version.to_string(),
            instructions: info.and_then(|info| info.instructions.clone()),
            capabilities: match capabilities {
                Some(Value::Object(capabilities)) => capabilities,
                _ => Map::new(),
            },
            is_modern: !version.has_initialize(),
            timeout,
            log_level,
            tools: Default::default(),
            stop: Mutex::new(Some(stop)),
            closed,
        };
        Client { inner: Arc::new(inner) }
    }

    /// Whether the server has a capability.
    pub(super) fn has(&self, capability: &str) -> bool {
        self.inner.capabilities.contains_key(capability)
    }
}

/// Starts the protocol over a transport of rmcp's.
pub(super) async fn serve<T>(
    name: &str,
    transport: T,
    callbacks: Arc<Callbacks>,
    lifecycle: ClientLifecycleMode,
) -> Result<Running, ClientError>
where
    T: Transport<RoleClient> + 'static,
{
    let transport = Observed::new(transport, callbacks.clone());
    let started = serve_client_with_lifecycle(callbacks, transport, lifecycle).await;
    started.map_err(|error| ClientError::of_start(name, &error))
}

impl sealed::Target for StdioTarget {
    fn name(&self) -> String {
        self.0.name()
    }

    async fn start(self, callbacks: Arc<Callbacks>, lifecycle: ClientLifecycleMode) -> Result<Running, ClientError> {
        serve(&self.name(), self.0.start()?, callbacks, lifecycle).await
    }
}

impl<R, W> sealed::Target for StreamTarget<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    fn name(&self) -> String {
        "the streams".to_owned()
    }

    async fn start(self, callbacks: Arc<Callbacks>, lifecycle: ClientLifecycleMode) -> Result<Running, ClientError> {
        let name = self.name();
        let transport = IntoTransport::<RoleClient, _, _>::into_transport((self.input, self.output));
        serve(&name, transport, callbacks, lifecycle).await
    }
}

#[cfg(feature = "server")]
impl sealed::Target for ServerTarget {
    fn name(&self) -> String {
        "the server in this process".to_owned()
    }

    async fn start(self, callbacks: Arc<Callbacks>, lifecycle: ClientLifecycleMode) -> Result<Running, ClientError> {
        /// Bytes on the way in one direction.
        const PIPE: usize = 64 << 10;
        let name = self.name();
        let failed =
            |error: crate::ServeError| ClientError::Connect { server: name.clone(), reason: error.to_string() };
        self.0.start().await.map_err(failed)?;
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(async move {
            if let Err(error) = self.0.serve_streams(input, output).await {
                tracing::debug!(%error, "a server in this process did not begin");
            }
        });
        let transport = IntoTransport::<RoleClient, _, _>::into_transport(tokio::io::split(ours));
        serve(&name, transport, callbacks, lifecycle).await
    }
}
