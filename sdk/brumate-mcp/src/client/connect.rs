//! The ways to connect a client: a constructor for each kind of server.

use super::Client;
use super::builder::ClientBuilder;
use super::child::ServerCommand;
#[cfg(feature = "client-http")]
use super::endpoint::{Endpoint, HttpTarget, SseTarget};
#[cfg(feature = "server")]
use super::target::ServerTarget;
use super::target::{StdioTarget, StreamTarget};
use std::ffi::OsString;
use tokio::io::{AsyncRead, AsyncWrite};

impl Client {
    /// Makes a client of a server that runs as a child process. The process is in a process group of its own, and ends
    /// with the client.
    pub fn stdio(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> ClientBuilder<StdioTarget> {
        let arguments = arguments.into_iter().map(Into::into).collect();
        ClientBuilder::new(StdioTarget(ServerCommand::new(program.into(), arguments)))
    }

    /// Makes a client of a server at the other end of two streams, with a line for each message. The server's messages
    /// come from `input`.
    pub fn streams<R, W>(input: R, output: W) -> ClientBuilder<StreamTarget<R, W>>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        ClientBuilder::new(StreamTarget { input, output })
    }

    /// Makes a client of a server in this process, without a socket: for tests, and for programs that are both.
    #[cfg(feature = "server")]
    pub fn in_process(server: &crate::Server) -> ClientBuilder<ServerTarget> {
        ClientBuilder::new(ServerTarget(server.clone()))
    }

    /// Makes a client of a server over streamable HTTP.
    #[cfg(feature = "client-http")]
    pub fn http(url: impl Into<String>) -> ClientBuilder<HttpTarget> {
        ClientBuilder::new(HttpTarget(Endpoint::new(url.into())))
    }

    /// Makes a client of a server over HTTP+SSE, the deprecated transport of 2024-11-05.
    #[cfg(feature = "client-http")]
    pub fn sse(url: impl Into<String>) -> ClientBuilder<SseTarget> {
        ClientBuilder::new(SseTarget(Endpoint::new(url.into())))
    }
}
