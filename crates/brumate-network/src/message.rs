//! Messages between a machine and the gateway, on a socket of their own.
//!
//! A message is one datagram (`SOCK_SEQPACKET`) of at most [`MAX_MESSAGE`] bytes in postcard's format. The descriptor of a connection comes with
//! its answer. Each request has a number, which its answer names.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::refusal::Refusal;

/// Largest message, in bytes.
pub const MAX_MESSAGE: usize = 16 << 10;
/// Most addresses of one name.
pub const MAX_ADDRESSES: usize = 16;
/// Most requests of one machine that have no answer yet.
pub const MAX_REQUESTS: usize = 256;

/// From the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Look up the addresses of a name.
    Resolve {
        /// Number of the request.
        id: u64,
        /// The name.
        host: Host,
    },
    /// Connect a stream.
    Connect {
        /// Number of the request.
        id: u64,
        /// The host.
        host: Host,
        /// The port.
        port: u16,
    },
    /// The machine does not wait for an answer any more.
    Cancel {
        /// Number of the request.
        id: u64,
    },
}

/// From the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The addresses of a name.
    Resolved {
        /// Number of the request.
        id: u64,
        /// At most [`MAX_ADDRESSES`].
        addresses: Vec<IpAddr>,
    },
    /// A stream is connected; its descriptor comes with the message.
    Connected {
        /// Number of the request.
        id: u64,
        /// Address of the gateway's end.
        local: SocketAddr,
    },
    /// The host sends nothing more on a stream. It comes before the end of the stream. Without it the stream is lost.
    Ended {
        /// Number of the request.
        id: u64,
        /// The connection was reset.
        reset: bool,
    },
    /// The request has failed.
    Failed {
        /// Number of the request.
        id: u64,
        /// Why.
        failure: Failure,
    },
}

/// Reason for which a request has failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// A rule or limit refuses it.
    Refused(Refusal),
    /// The name does not exist.
    NoName,
    /// The name cannot be looked up now.
    TryAgain,
    /// The host refuses the connection.
    ConnectionRefused,
    /// The host cannot be reached.
    Unreachable,
    /// The host does not answer in time.
    Timeout,
}

impl Failure {
    /// Returns the code of the failure, as logs have it.
    pub const fn code(&self) -> &'static str {
        match self {
            Failure::Refused(refusal) => refusal.reason.code(),
            Failure::NoName => "no_such_name",
            Failure::TryAgain => "look_up_failed",
            Failure::ConnectionRefused => "connection_refused",
            Failure::Unreachable => "unreachable",
            Failure::Timeout => "timeout",
        }
    }
}
