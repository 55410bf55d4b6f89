//! Settings of a client, and connecting it.

use super::callbacks::{Callbacks, LogMessage, OnChange, OnLog, ServerChange};
#[cfg(feature = "client-http")]
use super::endpoint::{HttpTarget, SseTarget};
use super::error::ClientError;
use super::input_requests::{FormRequest, InputCallbacks, SamplingRequest, UrlRequest, infallible};
use super::observed_transport::ObservedTransport;
use super::request::{MAX_INPUT_ROUNDS, RequestSender};
use super::target::{StdioTarget, Target};
use super::{Client, Inner};
use crate::client_features::{ElicitationResult, Root, SamplingResult, UrlElicitationResult};
use crate::error::Error;
use crate::log_level::LogLevel;
use rmcp::RoleClient;
use rmcp::model as wire;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The default time to set up a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// The default time to set up a connection that a person may have to authorize.
#[cfg(feature = "auth")]
const AUTHORIZE_TIMEOUT: Duration = Duration::from_secs(600);

/// The protocol that a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// The newest that the server speaks. The client sends `server/discover`, and `initialize` if the server does not
    /// know that. A server that does not answer unknown methods delays the connection by ten seconds.
    #[default]
    Auto,
    /// 2025-11-25 or older, with `initialize`.
    Initialize,
    /// 2026-07-28, with `server/discover`.
    Discover,
}

/// The settings of a client that is not connected yet; see [`Client`].
///
/// ```no_run
/// use brumate_mcp::client::ClientError;
/// use brumate_mcp::{ElicitationResult, Client};
/// use std::time::Duration;
///
/// # async fn run() -> Result<(), ClientError> {
/// let client = Client::http("http://127.0.0.1:8000/mcp")
///     .name("my-client", "1.0.0")
///     .timeout(Duration::from_secs(60))
///     .on_log(|message| eprintln!("{:?}: {}", message.level, message.data))
///     .on_form(|form| async move {
///         eprintln!("{}", form.message);
///         ElicitationResult::Declined
///     })
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// Each callback declares its capability to the server. A server only requests input that a callback can give.
#[must_use = "a client is connected by `connect`"]
pub struct ClientBuilder<T> {
    target: T,
    implementation: wire::Implementation,
    input_callbacks: InputCallbacks,
    on_log: Option<OnLog>,
    on_change: Option<OnChange>,
    log_level: Option<LogLevel>,
    timeout: Option<Duration>,
    connect_timeout: Duration,
    protocol: Protocol,
    max_input_rounds: usize,
    /// Whether it listens to changes without a callback for them.
    listens: bool,
}

impl<T> std::fmt::Debug for ClientBuilder<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder").field("name", &self.implementation.name).finish_non_exhaustive()
    }
}

impl<T> ClientBuilder<T> {
    pub(super) fn new(target: T) -> Self {
        Self {
            target,
            implementation: wire::Implementation::new("brumate-mcp", env!("CARGO_PKG_VERSION")),
            input_callbacks: InputCallbacks::default(),
            on_log: None,
            on_change: None,
            log_level: None,
            timeout: None,
            connect_timeout: CONNECT_TIMEOUT,
            protocol: Protocol::default(),
            max_input_rounds: MAX_INPUT_ROUNDS,
            listens: false,
        }
    }

    /// Sets the client's name and version for the server; `brumate-mcp` and its version by default.
    pub fn name(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.implementation = wire::Implementation::new(name, version);
        self
    }

    /// Answers requests to a model (`sampling/createMessage`).
    pub fn on_sampling<F, Fut, E>(mut self, callback: F) -> Self
    where
        F: FnOnce(SamplingRequest) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<SamplingResult, E>> + Send + 'static,
        E: Into<Error>,
    {
        self.input_callbacks.sampling = Some(Arc::new(move |request| {
            let answer = callback.clone()(request);
            Box::pin(async move { answer.await.map_err(Into::into) })
        }));
        self
    }

    /// Shows forms to the user (`elicitation/create`). Accepted content is completed with the form's defaults.
    pub fn on_form<F, Fut>(mut self, callback: F) -> Self
    where
        F: FnOnce(FormRequest) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = ElicitationResult<Map<String, Value>>> + Send + 'static,
    {
        self.input_callbacks.form = Some(infallible(callback));
        self
    }

    /// Shows pages to the user (`elicitation/create`, mode `url`).
    pub fn on_url<F, Fut>(mut self, callback: F) -> Self
    where
        F: FnOnce(UrlRequest) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = UrlElicitationResult> + Send + 'static,
    {
        self.input_callbacks.url = Some(infallible(callback));
        self
    }

    /// Sets the directories and files that the server may work with (`roots/list`).
    pub fn roots(self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots: Vec<Root> = roots.into_iter().collect();
        self.on_roots(move || std::future::ready(roots.clone()))
    }

    /// Sets roots like [`ClientBuilder::roots`], with a callback for each request of the server; see
    /// [`Client::notify_roots_changed`].
    pub fn on_roots<F, Fut>(mut self, callback: F) -> Self
    where
        F: FnOnce() -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Vec<Root>> + Send + 'static,
    {
        self.input_callbacks.roots = Some(infallible(move |()| callback()));
        self
    }

    /// Sets a callback for the server's log messages, in their order. It must not block. Messages below
    /// [`LogLevel::Info`] come only if [`log_level`](Self::log_level) asks for them.
    pub fn on_log(mut self, callback: impl Fn(LogMessage) + Send + Sync + 'static) -> Self {
        self.on_log = Some(Arc::new(callback));
        self
    }

    /// Sets the lowest level of log messages that the server sends. Without it, servers before 2026-07-28 choose. Later
    /// ones are asked for [`LogLevel::Info`] if there is a callback ([`on_log`](Self::on_log)), and send none otherwise.
    pub fn log_level(mut self, level: LogLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Sets a callback for changes of the server's lists and resources, in their order. It must not block.
    pub fn on_change(mut self, callback: impl Fn(ServerChange) + Send + Sync + 'static) -> Self {
        self.on_change = Some(Arc::new(callback));
        self
    }

    /// Sets how long a request may take, unless a call sets another time; without limit by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long it may take to set up the connection; a minute by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the protocol to speak; [`Protocol::Auto`] by default.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Listens to changes without a callback, for a group.
    pub(super) fn listening(mut self) -> Self {
        self.listens = true;
        self
    }

    /// Sets how many rounds of input requests one request may have (2026-07-28); [`MAX_INPUT_ROUNDS`] by default.
    pub fn max_input_rounds(mut self, rounds: usize) -> Self {
        self.max_input_rounds = rounds.max(1);
        self
    }
}

impl ClientBuilder<StdioTarget> {
    /// Sets an environment variable of the server.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.target.0.environment.push((name.into(), value.into()));
        self
    }

    /// Sets environment variables of the server.
    pub fn envs<N: Into<OsString>, V: Into<OsString>>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.target.0.environment.extend(variables);
        self
    }

    /// Gives the server all environment variables of this process, secrets included. By default it gets only
    /// [`INHERITED_VARIABLES`](super::INHERITED_VARIABLES).
    pub fn inherit_env(mut self) -> Self {
        self.target.0.inherit_environment = true;
        self
    }

    /// Sets the working directory of the server.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.target.0.directory = Some(directory.into());
        self
    }

    /// Discards the server's standard error. By default it goes to the standard error of this process.
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

            /// Sends headers with every request.
            pub fn headers<N: AsRef<str>, V: AsRef<str>>(self, headers: impl IntoIterator<Item = (N, V)>) -> Self {
                headers.into_iter().fold(self, |client, (name, value)| client.header(name, value))
            }

            /// Gets tokens for the server, and sends them with every request. [`ClientBuilder::connect_timeout`]
            /// includes the time of the person who authorizes the client: it becomes ten minutes, unless it is set
            /// afterwards.
            #[cfg(feature = "auth")]
            pub fn auth(mut self, authorization: impl super::Authorization) -> Self {
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
    /// Returns [`ClientError::Connect`] if the server cannot be started or reached, or speaks no common protocol.
    /// Returns [`ClientError::Unauthorized`] or [`ClientError::Authorization`] if it wants other credentials.
    pub async fn connect(self) -> Result<Client, ClientError> {
        let name = self.target.name();
        let logs = self.on_log.is_some();
        let callbacks =
            Arc::new(Callbacks::new(self.implementation, self.input_callbacks, self.on_log, self.on_change));
        // Since 2026-07-28 a server sends no log messages that nobody asks for.
        let log_level = self.log_level.or(logs.then_some(LogLevel::Info));
        let newest = vec![ProtocolVersion::LATEST];
        let lifecycle = match self.protocol {
            Protocol::Auto => ClientLifecycleMode::Auto {
                preferred_versions: newest,
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
            Protocol::Initialize => ClientLifecycleMode::Initialize,
            Protocol::Discover => ClientLifecycleMode::Discover { preferred_versions: newest },
        };
        let lifecycle = self.target.lifecycle(lifecycle);
        let start = async {
            let transport = ObservedTransport::new(self.target.open().await?, callbacks.clone());
            let started = serve_client_with_lifecycle(callbacks.clone(), transport, lifecycle).await;
            started.map_err(|error| ClientError::of_start(&name, &error))
        };
        let running = tokio::time::timeout(self.connect_timeout, start).await.unwrap_or_else(|_| {
            let reason = format!("it did not answer within {:?}", self.connect_timeout);
            Err(ClientError::Connect { server: name.clone(), reason })
        })?;
        let client = Client::of_running(running, callbacks, self.max_input_rounds, self.timeout, log_level);
        if let Some(level) = self.log_level.filter(|_| !client.inner.is_stateless_protocol && client.has("logging")) {
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
        running: RunningService<RoleClient, Arc<Callbacks>>,
        callbacks: Arc<Callbacks>,
        max_input_rounds: usize,
        timeout: Option<Duration>,
        log_level: Option<LogLevel>,
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
            requests: RequestSender { peer, callbacks, max_input_rounds },
            server: server.and_then(|server| serde_json::from_value(server).ok()).unwrap_or_default(),
            protocol_version: version.to_string(),
            instructions: info.and_then(|info| info.instructions.clone()),
            capabilities: match capabilities {
                Some(Value::Object(capabilities)) => capabilities,
                _ => Map::new(),
            },
            is_stateless_protocol: !version.has_initialize(),
            timeout,
            log_level,
            tools: Default::default(),
            stop: Mutex::new(Some(stop)),
            closed,
        };
        Client { inner: Arc::new(inner) }
    }

    /// Returns whether the server has a capability.
    pub(super) fn has(&self, capability: &str) -> bool {
        self.inner.capabilities.contains_key(capability)
    }
}
