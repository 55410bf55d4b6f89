//! Messages between the server and the gateway.

use std::net::{IpAddr, SocketAddr};

use brumate_network::host::Host;
use brumate_network::message::Failure;
use brumate_network::rules::Rules;
use serde::{Deserialize, Serialize};

/// Largest message, in bytes. Rules are in one.
pub(crate) const MAX_ORDER: usize = 128 << 10;
/// Most name servers.
pub(crate) const MAX_SERVERS: usize = 8;
/// Most names of the hosts file.
pub(crate) const MAX_HOST_NAMES: usize = 1024;

/// From the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The first message: how names are looked up.
    Names {
        /// Name servers.
        servers: Vec<SocketAddr>,
        /// Names of the hosts file.
        hosts: Vec<(String, IpAddr)>,
    },
    /// Serve a machine, whose socket comes with the message.
    Serve {
        /// The session's number. Limits count for all machines of a session.
        session: u64,
        /// Its principal, for records.
        principal: String,
        /// The rules.
        rules: Rules,
    },
    /// The session has ended.
    End {
        /// Its number.
        session: u64,
    },
}

/// From the gateway.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The gateway is in its jail. Names walls that could not be raised.
    Ready(Vec<String>),
    /// The gateway cannot run.
    Failed(String),
    /// A connection, when it has ended or has failed.
    Connection(Record),
}

/// Record of a connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// The session's number.
    pub session: u64,
    /// Its principal.
    pub principal: String,
    /// The host, as it was asked for.
    pub host: Host,
    /// The port.
    pub port: u16,
    /// Number of the rule that allows it, from 1.
    pub rule: Option<usize>,
    /// Address that was connected to.
    pub address: Option<IpAddr>,
    /// Why there was no connection.
    pub failure: Option<Failure>,
    /// Bytes from the host.
    pub bytes_in: u64,
    /// Bytes to the host.
    pub bytes_out: u64,
    /// Milliseconds from the request to the end.
    pub milliseconds: u64,
}
