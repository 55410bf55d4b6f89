//! Servers that a client can connect to.

use super::child::ServerCommand;
use super::error::ClientError;
use super::lines::LineTransport;
use super::observed_transport::AnyTransport;
#[cfg(feature = "server")]
use crate::stdio::{StreamOptions, serve_streams};
use tokio::io::{AsyncRead, AsyncWrite};

/// A server that a client can connect to. The constructors of [`Client`](super::Client) make targets.
pub trait Target: sealed::Target {}

impl<T: sealed::Target> Target for T {}

pub(super) mod sealed {
    use super::{AnyTransport, ClientError};
    use rmcp::service::ClientLifecycleMode;

    pub trait Target: Send {
        /// Returns the server's name for people: a command or a URL.
        fn name(&self) -> String;

        /// Returns how the protocol begins if the program wants `wanted`.
        fn lifecycle(&self, wanted: ClientLifecycleMode) -> ClientLifecycleMode {
            wanted
        }

        /// Opens the transport.
        fn open(self) -> impl Future<Output = Result<AnyTransport, ClientError>> + Send;
    }
}

/// A server that is started as a child process.
#[derive(Clone, Debug)]
pub struct StdioTarget(pub(super) ServerCommand);

/// A server at the other end of two streams, a line for each message.
#[derive(Debug)]
pub struct StreamTarget<R, W> {
    pub(super) input: R,
    pub(super) output: W,
}

/// A server in this process.
#[cfg(feature = "server")]
#[derive(Debug)]
pub struct ServerTarget(pub(super) crate::Server);

impl sealed::Target for StdioTarget {
    fn name(&self) -> String {
        self.0.name()
    }

    async fn open(self) -> Result<AnyTransport, ClientError> {
        Ok(AnyTransport::new(self.0.start()?))
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

    async fn open(self) -> Result<AnyTransport, ClientError> {
        Ok(of_streams(self.input, self.output))
    }
}

#[cfg(feature = "server")]
impl sealed::Target for ServerTarget {
    fn name(&self) -> String {
        "the server in this process".to_owned()
    }

    async fn open(self) -> Result<AnyTransport, ClientError> {
        /// The most bytes on the way in one direction.
        const PIPE: usize = 64 << 10;
        if let Err(error) = self.0.start().await {
            return Err(ClientError::Connect { server: self.name(), reason: error.to_string() });
        }
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(async move {
            // A client that is dropped reads no answers.
            let options = StreamOptions::new().drain_timeout(std::time::Duration::ZERO);
            if let Err(error) = serve_streams(self.0.into_handler(), input, output, options).await {
                tracing::debug!(%error, "a server in this process did not begin");
            }
        });
        let (input, output) = tokio::io::split(ours);
        Ok(of_streams(input, output))
    }
}

fn of_streams<R, W>(input: R, output: W) -> AnyTransport
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    AnyTransport::new(LineTransport::new(input, output))
}
