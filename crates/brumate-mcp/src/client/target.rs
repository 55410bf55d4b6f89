//! Servers that a client can connect to.

use super::Client;
use super::builder::ClientBuilder;
use super::child::ServerCommand;
#[cfg(feature = "client-http")]
use super::endpoint::Endpoint;
use super::error::ClientError;
use super::incoming::AnyTransport;
use rmcp::RoleClient;
use rmcp::transport::IntoTransport;
use std::ffi::OsString;
use tokio::io::{AsyncRead, AsyncWrite};

/// A server that a client can connect to.
pub trait Target: sealed::Target {}

impl<T: sealed::Target> Target for T {}

pub(super) mod sealed {
    use super::{AnyTransport, ClientError};
    use rmcp::service::ClientLifecycleMode;

    pub trait Target: Send {
        /// Returns the server's name for people: a command or an address.
        fn name(&self) -> String;

        /// Returns how the protocol begins, where the program has no other wish than `wanted`.
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
pub struct HttpTarget(pub(super) Endpoint);

/// A server over HTTP+SSE, the transport of 2024-11-05.
#[cfg(feature = "client-http")]
#[derive(Clone)]
pub struct SseTarget(pub(super) Endpoint);

impl Client {
    /// Sets up a client of a server that is started as a child process, in a process group of its own, and ends with the client.
    pub fn stdio(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> ClientBuilder<StdioTarget> {
        let arguments = arguments.into_iter().map(Into::into).collect();
        ClientBuilder::new(StdioTarget(ServerCommand::new(program.into(), arguments)))
    }

    /// Sets up a client of a server at the other end of two streams, a line for each message. The server's messages come from `input`.
    pub fn streams<R, W>(input: R, output: W) -> ClientBuilder<StreamTarget<R, W>>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        ClientBuilder::new(StreamTarget { input, output })
    }

    /// Sets up a client of a server in this process, without a socket: for tests, and programs that are both.
    #[cfg(feature = "server")]
    pub fn in_process(server: &crate::Server) -> ClientBuilder<ServerTarget> {
        ClientBuilder::new(ServerTarget(server.clone()))
    }

    /// Sets up a client of a server over streamable HTTP.
    #[cfg(feature = "client-http")]
    pub fn http(url: impl Into<String>) -> ClientBuilder<HttpTarget> {
        ClientBuilder::new(HttpTarget(Endpoint::new(url.into())))
    }

    /// Sets up a client of a server over HTTP+SSE, the deprecated transport of 2024-11-05.
    #[cfg(feature = "client-http")]
    pub fn sse(url: impl Into<String>) -> ClientBuilder<SseTarget> {
        ClientBuilder::new(SseTarget(Endpoint::new(url.into())))
    }
}

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
        /// Bytes on the way in one direction.
        const PIPE: usize = 64 << 10;
        if let Err(error) = self.0.start().await {
            return Err(ClientError::Connect { server: self.name(), reason: error.to_string() });
        }
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(async move {
            if let Err(error) = self.0.serve_streams(input, output).await {
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
    AnyTransport::new(IntoTransport::<RoleClient, _, _>::into_transport((input, output)))
}
