//! Serves one client over two byte streams, from the first byte to the end.

use brumate_mcp::{ServeError, StreamOptions, stdio_pipes};
use brumate_session::CancellationToken;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::server::PythonServer;

/// Serves the process's standard input and output until the input ends or `shutdown` is cancelled.
///
/// # Errors
///
/// Returns the errors of [`serve`].
pub async fn serve_stdio(server: PythonServer, shutdown: CancellationToken) -> Result<(), ServeError> {
    let (input, output) = stdio_pipes();
    serve(server, input, output, shutdown).await
}

/// Serves one client over two byte streams.
///
/// When the input ends, running calls have five seconds to end. Then they are cancelled, and their answers are still sent.
/// Cancelling `shutdown` cancels them at once.
///
/// # Errors
///
/// Returns [`ServeError`] if no session was opened, or if the connection's task failed. The end of the input is no
/// error.
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
    let (interrupt, grace) = server.interrupt();
    let options = StreamOptions::new().shutdown(shutdown).interrupt(interrupt, grace);
    server.mcp_server().serve_streams_with(input, output, options).await
}
