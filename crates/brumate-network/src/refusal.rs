//! Reasons for which the gateway refuses something.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Reason of a refusal, as logs, answers and errors inside the sandbox have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Reason {
    /// There is no rule at all.
    NoNetwork,
    /// No rule has this host.
    Host,
    /// Rules have this host, with other ports.
    Port,
    /// The address has a special purpose, and no rule has it.
    Address,
    /// The text is no host.
    Name,
    /// TLS asks for another host than the connection.
    ServerName,
    /// A limit of the session or its principal is reached.
    Limit,
    /// The protocol is none that is granted.
    Protocol,
}

impl Reason {
    /// Returns the code of the reason.
    pub const fn code(self) -> &'static str {
        match self {
            Reason::NoNetwork => "no_network",
            Reason::Host => "host_not_allowed",
            Reason::Port => "port_not_allowed",
            Reason::Address => "address_not_allowed",
            Reason::Name => "invalid_host",
            Reason::ServerName => "server_name_not_allowed",
            Reason::Limit => "limit_reached",
            Reason::Protocol => "protocol_not_allowed",
        }
    }
}

/// A refusal: its reason, and a text that names the object, the rule and the fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason.
    pub reason: Reason,
    /// The text.
    pub text: String,
}

impl Refusal {
    /// Returns a refusal with a text.
    pub fn new(reason: Reason, text: impl Into<String>) -> Refusal {
        Refusal { reason, text: text.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.text, self.reason.code())
    }
}

impl std::error::Error for Refusal {}
