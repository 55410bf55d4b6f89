//! Errors of binding, connecting and sending, of connections, and of the protocol.

use std::io;

use crate::endpoint::Endpoint;

/// A socket cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The system refuses.
    #[error("cannot listen on {endpoint}: {source}")]
    Io {
        /// Address of the socket.
        endpoint: Endpoint,
        /// The error of the system.
        source: io::Error,
    },
    /// The path is a socket that somebody listens on, or no socket at all.
    #[error("cannot listen on {0}: the path exists")]
    Exists(Endpoint),
}

/// A socket cannot be connected.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The system refuses.
    #[error("cannot connect to {endpoint}: {source}")]
    Io {
        /// Address of the other side.
        endpoint: Endpoint,
        /// The error of the system.
        source: io::Error,
    },
    /// The other side does not greet as it must.
    #[error("cannot connect: {0}")]
    Handshake(#[from] ConnectionError),
}

/// A message is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The message is empty.
    #[error("a message has at least one part")]
    NoParts,
    /// No peer with this name is connected.
    #[error("no peer with this name is connected")]
    UnknownPeer,
    /// The connection or the socket was closed before there was room.
    #[error("the connection has ended")]
    Disconnected,
    /// The peer did not read, and has lost its connection.
    #[error("the peer does not read")]
    TimedOut,
}

/// Reason for the end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionError {
    /// One of the sides has closed it.
    #[error("the connection was closed")]
    Closed,
    /// The system reports an error.
    #[error("the connection failed: {0}")]
    Io(io::ErrorKind),
    /// The peer was too slow.
    #[error("the peer did not {0} in time")]
    TimedOut(&'static str),
    /// The peer sent ERROR, with this reason. Control characters are escaped.
    #[error("the peer refuses: {0}")]
    Refused(String),
    /// The peer has the identity of another one, which is still connected.
    #[error("another peer has the same identity")]
    IdentityInUse,
    /// The peer broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

impl From<io::Error> for ConnectionError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind())
    }
}

/// A peer sent something that the protocol or a limit does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// Its greeting has another signature.
    #[error("no greeting of ZMTP")]
    Signature,
    /// It is older than version 3.
    #[error("ZMTP of version {0}, which is below 3")]
    Version(u8),
    /// It wants another mechanism than NULL.
    #[error("another mechanism than NULL")]
    Mechanism,
    /// Flags of a frame that have no meaning.
    #[error("a frame with the flags {0:#04x}")]
    Flags(u8),
    /// A frame is too long.
    #[error("a frame of {length} bytes: more than {limit}")]
    Frame {
        /// Its bytes, as announced.
        length: u64,
        /// Most bytes of a frame of this kind.
        limit: usize,
    },
    /// A message is too long.
    #[error("a message of more than {0} bytes")]
    Message(usize),
    /// A message has too many parts.
    #[error("a message of more than {0} parts")]
    Parts(usize),
    /// A command cannot be read.
    #[error("a broken command")]
    Command,
    /// Something else than READY came first.
    #[error("READY is missing")]
    NotReady,
    /// Its socket has a type that does not go with this one.
    #[error("a socket of a type that does not go with {0}")]
    SocketType(&'static str),
    /// Its identity is too long or begins with 0.
    #[error("an identity of more than 255 bytes, or that begins with 0")]
    Identity,
    /// It has subscribed to too many topics.
    #[error("more than {0} topics")]
    Subscriptions(usize),
    /// It has subscribed to a topic that is too long.
    #[error("a topic of more than {0} bytes")]
    Topic(usize),
    /// It sent too much without a meaning.
    #[error("too many commands and messages without meaning")]
    Ignored,
}
