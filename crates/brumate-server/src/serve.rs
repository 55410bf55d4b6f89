//! Serves one client over two byte streams, from the first byte to the end.

use std::time::Duration;

use brumate_mcp::ServeError;
use brumate_mcp::lowlevel::{StreamOptions, rmcp, serve_streams};
use brumate_session::CancellationToken;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::server::PythonServer;
use crate::traces::TracingHandler;

/// How long interrupted calls may take to answer, in addition to the grace time of running code.
pub(crate) const ANSWER_GRACE: Duration = Duration::from_secs(1);

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
    let interrupt = server.stop_token().clone();
    let options = StreamOptions::new().shutdown(shutdown).interrupt(interrupt, server.grace() + ANSWER_GRACE);
    serve_streams(TracingHandler::new(server), input, output, options).await
}
