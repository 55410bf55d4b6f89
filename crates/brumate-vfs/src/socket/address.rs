//! Addresses of sockets, and which of them are the sandbox's own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;

/// The address of a socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SocketAddress {
    /// None yet.
    #[default]
    Unnamed,
    /// An address of the Internet protocols and a port. IPv4 addresses within IPv6 are kept as IPv4 addresses.
    Ip(IpAddr, u16),
    /// The path of a socket file, as `bind` was given it.
    Path(Bytes),
    /// A name of the abstract name space, without its leading NUL.
    Abstract(Bytes),
}

impl SocketAddress {
    /// Returns an address of the Internet protocols in its canonical form.
    pub fn ip(address: IpAddr, port: u16) -> Self {
        Self::Ip(address.to_canonical(), port)
    }

    /// Returns the port, 0 when there is none.
    pub fn port(&self) -> u16 {
        match self {
            Self::Ip(_, port) => *port,
            _ => 0,
        }
    }
}

/// Whether packets to the address stay within the sandbox.
pub(crate) fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

/// Returns the address that is meant by a destination: the unspecified one means the loopback address, as on Linux.
pub(super) fn destination(address: IpAddr) -> IpAddr {
    if address.is_unspecified() { loopback(address) } else { address }
}

/// Returns the loopback address of the same protocol, from which packets to `address` are sent.
pub(super) fn loopback(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    }
}
