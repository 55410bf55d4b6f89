//! A host as a program names it, in the one form that rules are asked for.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::address::canonical;

/// Longest name of a host, in bytes (RFC 1035).
pub const MAX_NAME: usize = 253;

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Host {
    /// A name in lower case, in ASCII (IDNA), without a dot at its end.
    Name(String),
    /// An address; IPv4-mapped addresses are addresses of IPv4.
    Address(IpAddr),
}

/// The reason why a text is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no name or address of a host", .0.escape_debug())]
pub struct NoHost(pub String);

impl Host {
    /// Reads a host. All spellings of an address become the address: `0x7f.1`, `2130706433`, `[::1]`, `::ffff:127.0.0.1`.
    ///
    /// # Errors
    /// When the text is no host by the URL standard, has an escape or a zone, or is longer than [`MAX_NAME`].
    pub fn parse(text: &str) -> Result<Host, NoHost> {
        let wrong = || NoHost(text.chars().take(MAX_NAME).collect());
        if text.is_empty() || text.len() > 4 * MAX_NAME || text.contains('%') {
            return Err(wrong());
        }
        if let Ok(six) = text.parse::<Ipv6Addr>() {
            return Ok(Host::Address(canonical(six.into())));
        }
        match url::Host::parse(text).map_err(|_| wrong())? {
            url::Host::Ipv4(four) => Ok(Host::Address(four.into())),
            url::Host::Ipv6(six) => Ok(Host::Address(canonical(six.into()))),
            url::Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(&name);
                let fits = |label: &str| {
                    (1..=63).contains(&label.len())
                        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
                };
                if name.len() > MAX_NAME || !name.split('.').all(fits) {
                    return Err(wrong());
                }
                Ok(Host::Name(name.to_owned()))
            }
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => out.write_str(name),
            Host::Address(IpAddr::V6(six)) => write!(out, "[{six}]"),
            Host::Address(address) => address.fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_form() {
        for (text, expected) in [
            ("API.GitHub.com", "api.github.com"),
            ("api.github.com.", "api.github.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("ｅｘａｍｐｌｅ。com", "example.com"),
            ("127.0.0.1", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("0x7f.0.0.1", "127.0.0.1"),
            ("0177.0.0.01", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("0", "0.0.0.0"),
            ("①②⑦.⓪.⓪.①", "127.0.0.1"),
            ("::1", "[::1]"),
            ("[::1]", "[::1]"),
            ("::ffff:169.254.169.254", "169.254.169.254"),
            ("[::ffff:7f00:1]", "127.0.0.1"),
        ] {
            assert_eq!(Host::parse(text).map(|host| host.to_string()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn no_host_is_taken_for_one() {
        let long = "a.".repeat(200);
        for text in [
            "",
            ".",
            "..",
            "a..b",
            "a b",
            "a\0b",
            "a\nb",
            "a/b",
            "a@b",
            "a:80",
            "%6cocalhost",
            "fe80::1%eth0",
            "[::1",
            "1.2.3.4.5",
            "256.1.1.1",
            "*.example.com",
            &long,
        ] {
            assert!(Host::parse(text).is_err(), "{text:?}");
        }
    }
}
