//! Connected streams, whatever they run over.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::endpoint::Endpoint;

/// Silence of a TCP connection after which the system asks whether the other side is still there, and between two questions.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// Questions without an answer that end a connection.
const KEEPALIVE_COUNT: u32 = 4;

/// A connected stream, made `From` one of tokio's.
pub struct Stream {
    pub(crate) reader: Box<dyn AsyncRead + Send + Sync + Unpin>,
    pub(crate) writer: Box<dyn AsyncWrite + Send + Sync + Unpin>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stream").finish_non_exhaustive()
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        // Both are of use only, and never needed.
        let _ = stream.set_nodelay(true);
        let _ = keep_alive(&stream);
        let (reader, writer) = stream.into_split();
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }
}

/// Has the system find out when the other side is gone without a word.
fn keep_alive(stream: &TcpStream) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE)?;
    sockopt::set_tcp_keepcnt(stream, KEEPALIVE_COUNT)
}

/// Connects to a socket.
pub(crate) async fn connect(endpoint: &Endpoint) -> io::Result<Stream> {
    Ok(match endpoint {
        Endpoint::Tcp { host, port } => TcpStream::connect(SocketAddr::new(*host, *port)).await?.into(),
        Endpoint::Ipc(path) => UnixStream::connect(path).await?.into(),
    })
}
