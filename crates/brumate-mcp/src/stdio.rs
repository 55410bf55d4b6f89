//! Serving over standard input and output, or any other pair of streams.

use crate::bounded_requests::BoundedRequests;
use crate::error::ServeError;
use crate::handler::Handler;
use crate::server::Server;
use rmcp::ServiceExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

impl Server {
    /// Serves one client over standard input and output, until the client closes its end or the process gets SIGINT or
    /// SIGTERM. Then it stops the lifespans. Standard output belongs to the protocol meanwhile: write logs to standard
    /// error.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be set up or started.
    pub async fn run_stdio(self) -> Result<(), ServeError> {
        self.start().await?;
        let token = CancellationToken::new();
        let signals = tokio::spawn(cancel_on_signal(token.clone()));
        let served = self.serve_connection(rmcp::transport::io::stdio(), token).await;
        // The only client that could fetch them is gone.
        self.shared.tasks.cancel_all();
        signals.abort();
        self.stop().await;
        served
    }

    /// Serves one client over a pair of streams, such as a socket or a pipe, with a line for each message, until the
    /// input ends. Starts the lifespans if nobody has, and does not stop them.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be started, or if client and server cannot agree on a protocol.
    pub async fn serve_streams<R, W>(&self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Sync + Unpin + 'static,
        W: AsyncWrite + Send + Sync + Unpin + 'static,
    {
        self.start().await?;
        self.serve_connection((input, output), CancellationToken::new()).await
    }

    /// Serves one client over a transport of rmcp, without starting or stopping lifespans.
    pub(crate) async fn serve_connection<T, E, A>(
        &self,
        transport: T,
        token: CancellationToken,
    ) -> Result<(), ServeError>
    where
        T: rmcp::transport::IntoTransport<rmcp::RoleServer, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let transport = BoundedRequests::new(transport.into_transport());
        serve_handler(Handler::new(self.clone()), transport, token).await
    }
}

/// Serves one client with a handler, over a transport of rmcp.
pub(crate) async fn serve_handler<H, T, E, A>(
    handler: H,
    transport: T,
    token: CancellationToken,
) -> Result<(), ServeError>
where
    H: rmcp::ServerHandler,
    T: rmcp::transport::IntoTransport<rmcp::RoleServer, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    match handler.serve_with_ct(transport, token).await {
        Ok(running) => {
            let _ = running.waiting().await;
            Ok(())
        }
        // A client may leave before its first message.
        Err(
            rmcp::service::ServerInitializeError::ConnectionClosed(_) | rmcp::service::ServerInitializeError::Cancelled,
        ) => Ok(()),
        Err(error) => Err(ServeError::Handshake(error.to_string())),
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
