//! Serves one client over two byte streams, from the first byte to the end.

use brumate_session::CancellationToken;
use rmcp::service::{QuitReason, ServerInitializeError, ServiceExt};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::server::PythonServer;
use crate::traces::TracingHandler;
use crate::transport::LineTransport;

/// The reason why a connection failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client and the server could not open an MCP session.
    #[error("the MCP session could not be opened: {0}")]
    Open(String),
    /// The connection's task failed. This is a defect.
    #[error("the MCP connection failed: {0}")]
    Task(String),
}

/// Serves the process's standard input and output until the input ends or `shutdown` is cancelled.
///
/// # Errors
///
/// The errors of [`serve`].
pub async fn serve_stdio(server: PythonServer, shutdown: CancellationToken) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    serve(server, input, output, shutdown).await
}

/// Serves one client over two byte streams.
///
/// When the input ends, running calls have five seconds to end. Then they are cancelled, and their answers are still sent.
/// Cancelling `shutdown` cancels them at once.
///
/// # Errors
///
/// [`ServeError`] when no session was opened, or the connection's task failed. The end of the input is no error.
pub async fn serve<R, W>(
    server: PythonServer,
    input: R,
    output: W,
    shutdown: CancellationToken,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let stop = server.stop_token().clone();
    let transport = LineTransport::new(input, output, stop.clone(), server.grace());
    let _cancel_calls = stop.clone().drop_guard();
    let running = match TracingHandler::new(server).serve_with_ct(transport, shutdown.clone()).await {
        Ok(running) => running,
        // A client that leaves before it has sent a message is no error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(ServeError::Open(error.to_string())),
    };
    let finished = running.waiting();
    tokio::pin!(finished);
    let reason = tokio::select! {
        reason = &mut finished => reason,
        () = shutdown.cancelled() => {
            stop.cancel();
            finished.await
        }
    };
    match reason {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Task(error.to_string())),
        Ok(other) => Err(ServeError::Task(format!("{other:?}"))),
    }
}
