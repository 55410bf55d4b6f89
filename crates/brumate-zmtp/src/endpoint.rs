//! Addresses of sockets.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Address of a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A TCP port. Binding port 0 takes a free one.
    Tcp {
        /// The address of the interface.
        host: IpAddr,
        /// The port.
        port: u16,
    },
    /// The path of a Unix socket, which its owner alone may use.
    Ipc(PathBuf),
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp { host: address.ip(), port: address.port() }
    }
}

/// Writes it as ZeroMQ does: `tcp://127.0.0.1:5555`, or `ipc:///run/socket`.
impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } => write!(formatter, "tcp://{}", SocketAddr::new(*host, *port)),
            Self::Ipc(path) => write!(formatter, "ipc://{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_written_as_zeromq_writes_them() {
        let tcp = |address: &str| Endpoint::from(address.parse::<SocketAddr>().unwrap()).to_string();
        assert_eq!(tcp("127.0.0.1:5555"), "tcp://127.0.0.1:5555");
        assert_eq!(tcp("[::1]:80"), "tcp://[::1]:80");
        assert_eq!(Endpoint::Ipc("/run/socket".into()).to_string(), "ipc:///run/socket");
    }
}
