//! Serving a connection from its first byte to its end.

use brumate_session::CancellationToken;
use rmcp::service::{QuitReason, ServerInitializeError, ServiceExt};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::handler::PythonServer;
use crate::traces::Traced;
use crate::transport::LineTransport;

/// A connection that did not end as it should.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client and the server could not agree on a session.
    #[error("the MCP session could not be opened: {0}")]
    Open(String),
    /// The connection's task failed; a defect.
    #[error("the MCP connection failed: {0}")]
    Task(String),
}

/// Serves the process's standard input and output until the input ends or `shutdown` is cancelled.
///
/// # Errors
///
/// As [`serve`].
pub async fn serve_stdio(server: PythonServer, shutdown: CancellationToken) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    serve(server, input, output, shutdown).await
}

/// Serves one client over two byte streams.
///
/// When the input ends, calls under way may go on for five seconds; then they are cancelled, and what they have to
/// say is still sent. Cancelling `shutdown` cancels them at once.
///
/// # Errors
///
/// [`ServeError`] when no session came about, or the connection's task failed. The end of the input is no error.
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
    let running = match Traced::new(server).serve_with_ct(transport, shutdown.clone()).await {
        Ok(running) => running,
        // A client that leaves before it has said anything is nobody's mistake.
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
