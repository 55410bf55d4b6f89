//! Serving over standard input and output, or any other pair of streams.

mod in_flight;
mod line;
mod response_budget;
mod transport;

use crate::error::{ServeError, causes};
use crate::handler::LayeredHandler;
use crate::server::Server;
use rmcp::ServiceExt as _;
use rmcp::service::{QuitReason, ServerInitializeError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use transport::LineTransport;

/// How long running requests may take to end after the end of the input. Then they are cancelled.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

impl Server {
    /// Serves one client over standard input and output, until the client closes its end or the process gets SIGINT or
    /// SIGTERM. Then it stops the lifespans. Standard output belongs to the protocol meanwhile: write logs to standard
    /// error.
    ///
    /// When the input ends, running requests have five seconds to end, and their answers are still sent. A message has
    /// at most 16 MiB, and 1,024 requests may be unanswered. A client that exceeds a limit gets an error.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be set up or started.
    pub async fn run_stdio(self) -> Result<(), ServeError> {
        self.start().await?;
        let options = StreamOptions::new();
        let signals = tokio::spawn(cancel_on_signal(options.shutdown.clone()));
        let (input, output) = rmcp::transport::stdio_pipes();
        let served = serve_streams(LayeredHandler::new(self.clone()), input, output, options).await;
        // The only client that could fetch their results is gone.
        self.cancel_calls();
        signals.abort();
        self.stop().await;
        served
    }

    /// Serves one client over a pair of streams, such as a socket or a pipe, with a line for each message, until the
    /// input ends. Starts the lifespans if nobody has, and does not stop them. [`Server::run_stdio`] has the same
    /// limits.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be started, or if client and server cannot agree on a protocol.
    pub async fn serve_streams<R, W>(&self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.serve_streams_with(input, output, StreamOptions::new()).await
    }

    /// Serves one client like [`Server::serve_streams`], with options.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Server::serve_streams`].
    pub async fn serve_streams_with<R, W>(&self, input: R, output: W, options: StreamOptions) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.start().await?;
        serve_streams(LayeredHandler::new(self.clone()), input, output, options).await
    }
}

/// Returns the standard input and output of the process as streams for [`Server::serve_streams`]. Reading does not block the end of the
/// process.
pub fn stdio_pipes() -> (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static) {
    rmcp::transport::stdio_pipes()
}

/// Settings of [`Server::serve_streams_with`].
#[derive(Clone, Debug)]
pub struct StreamOptions {
    shutdown: CancellationToken,
    drain_timeout: Duration,
    interrupt: Option<(CancellationToken, Duration)>,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self { shutdown: CancellationToken::new(), drain_timeout: DRAIN_TIMEOUT, interrupt: None }
    }
}

impl StreamOptions {
    /// Makes options with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the token that ends the connection.
    #[must_use]
    pub fn shutdown(mut self, token: CancellationToken) -> Self {
        self.shutdown = token;
        self
    }

    /// Sets how long running requests may take to end after the end of the input. Default: 5 seconds.
    #[must_use]
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// Sets a token that is cancelled when running requests must end: after the drain timeout, at the shutdown, and when
    /// the client no longer reads. The requests may answer for `grace` then. Default: their futures are dropped.
    #[must_use]
    pub fn interrupt(mut self, token: CancellationToken, grace: Duration) -> Self {
        self.interrupt = Some((token, grace));
        self
    }
}

/// Serves one client with a handler of rmcp over two byte streams, a line for each message, until the input ends.
///
/// | a client sends | answer |
/// |---|---|
/// | a line of more than 16 MiB, or a text that is no JSON-RPC 2.0 | an error, at most 1,000 times |
/// | a request whose id is in use, or the 1,025th unanswered one | an error |
/// | the end of the input | running requests have five seconds to end; their answers are sent |
///
/// # Errors
///
/// Returns an error if client and server cannot agree on a protocol, or if the connection's task fails. The end of the
/// input is no error.
pub async fn serve_streams<H, R, W>(handler: H, input: R, output: W, options: StreamOptions) -> Result<(), ServeError>
where
    H: rmcp::ServerHandler,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let StreamOptions { shutdown, drain_timeout, interrupt } = options;
    // The shutdown's token may belong to several connections.
    let connection = shutdown.child_token();
    let (interrupt, grace) = interrupt.unwrap_or_else(|| (connection.clone(), Duration::ZERO));
    let transport = LineTransport::new(input, output, drain_timeout, interrupt.clone(), grace);
    let _interrupt_requests = interrupt.clone().drop_guard();
    serve_handler(handler, transport, connection, interrupt).await
}

/// Serves one client with a handler, over a transport of rmcp. Cancels `interrupt` at the shutdown.
pub(crate) async fn serve_handler<H, T, E, A>(
    handler: H,
    transport: T,
    shutdown: CancellationToken,
    interrupt: CancellationToken,
) -> Result<(), ServeError>
where
    H: rmcp::ServerHandler,
    T: rmcp::transport::IntoTransport<rmcp::RoleServer, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let running = match handler.serve_with_ct(transport, shutdown.clone()).await {
        Ok(running) => running,
        // A client may leave before its first message.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(ServeError::Handshake(handshake_reason(error))),
    };
    let finished = running.waiting();
    tokio::pin!(finished);
    let reason = tokio::select! {
        reason = &mut finished => reason,
        () = shutdown.cancelled() => {
            interrupt.cancel();
            finished.await
        }
    };
    match reason {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Connection(error.to_string())),
        Ok(other) => Err(ServeError::Connection(format!("{other:?}"))),
    }
}

/// Returns the reason why the handshake failed, without names of types and without the client's message.
fn handshake_reason(error: ServerInitializeError) -> String {
    match error {
        ServerInitializeError::TransportError { error, .. } => causes(error.error.as_ref()),
        ServerInitializeError::ExpectedInitializeRequest(_) => {
            "the client's first message is neither `initialize` nor a request of 2026-07-28".to_owned()
        }
        ServerInitializeError::InitializeFailed(error) => error.message.into_owned(),
        other => other.to_string(),
    }
}

/// Cancels `token` at SIGINT and SIGTERM.
pub(crate) async fn cancel_on_signal(token: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    token.cancel();
}
