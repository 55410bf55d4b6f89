//! The path of a server behind proxies, which may add a prefix to it.

use axum::extract::ConnectInfo;
use http::request::Parts;
use std::net::{IpAddr, SocketAddr};

/// The header in which proxies tell the prefix that they have removed from the path.
const PREFIX: &str = "x-forwarded-prefix";
/// The header in which proxies tell the addresses that a request has come from.
#[cfg(feature = "auth-server")]
const FORWARDED_FOR: &str = "x-forwarded-for";
/// The most proxies of a request whose addresses are read.
#[cfg(feature = "auth-server")]
const MAX_PROXIES: usize = 16;
/// The longest prefix that is read from a header.
const MAX_PREFIX: usize = 512;

/// The address of a proxy, or a network of proxies (`10.0.0.0/8`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Reads an address or a network. `None` for everything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Self { address, bits })
    }

    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differs = u32::from(own) ^ u32::from(other);
                differs.checked_shr(32 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differs = u128::from(own) ^ u128::from(other);
                differs.checked_shr(128 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// Returns the address of a request's client: the address of the connection. Behind trusted proxies it is the last
/// address in their `X-Forwarded-For` that belongs to no proxy.
#[cfg(feature = "auth-server")]
pub(crate) fn client_address(head: &Parts, proxies: &[Network]) -> Option<IpAddr> {
    let is_proxy = |address: IpAddr| proxies.iter().any(|proxy| proxy.contains(address));
    let mut address = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip())?;
    // A line that cannot be read ends the search: the line before it may be the client's.
    let told = head.headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or("?"));
    let told: Vec<&str> = told.flat_map(|value| value.split(',')).collect();
    for text in told.into_iter().rev().take(MAX_PROXIES) {
        if !is_proxy(address) {
            break;
        }
        let Some(next) = forwarded_address(text) else { break };
        address = next;
    }
    Some(address)
}

/// Reads an address, which may be in brackets and have a port.
#[cfg(feature = "auth-server")]
fn forwarded_address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()))
}

/// The path before the server's own, and the proxies that may tell it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProxyPrefix {
    /// The path below which clients reach the server, without a `/` at its end.
    pub(crate) prefix: String,
    /// Proxies whose `X-Forwarded-Prefix` is trusted.
    pub(crate) proxies: Vec<Network>,
}

impl ProxyPrefix {
    /// Returns the path below which the client of a request reaches the server, without a `/` at its end.
    pub(crate) fn prefix(&self, head: &Parts) -> String {
        let peer = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip());
        let believed = peer.is_some_and(|peer| self.proxies.iter().any(|proxy| proxy.contains(peer)));
        let told = head.headers.get(PREFIX).filter(|_| believed).and_then(|prefix| prefix.to_str().ok());
        told.and_then(path_prefix).unwrap_or_else(|| self.prefix.clone())
    }
}

/// Returns a path without the `/` at its end; `None` if it is no path.
pub(crate) fn path_prefix(text: &str) -> Option<String> {
    let path = text.trim_end_matches('/');
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~%".contains(&byte);
    let whole = path.is_empty() || (path.starts_with('/') && !path.starts_with("//"));
    (whole && path.len() <= MAX_PREFIX && path.bytes().all(fits)).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_their_addresses() {
        for (network, address, expected) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("::1", "::1", true),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false),
            ("::/0", "fe00::1", true),
            ("::/0", "1.2.3.4", false),
        ] {
            let network = Network::parse(network).expect("a network");
            assert_eq!(network.contains(address.parse().expect("an address")), expected, "{network:?} {address}");
        }
        for text in ["", "localhost", "10.0.0.0/33", "10.0.0.0/", "::1/129", "10.0.0.0/-1", "10.0.0"] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }

    #[cfg(feature = "auth-server")]
    #[test]
    fn a_clients_address_is_believed_from_a_proxy_alone() {
        let proxies: Vec<Network> =
            ["10.0.0.0/8", "fd00::/8"].map(|text| Network::parse(text).expect("a network")).to_vec();
        for (peer, told, expected) in [
            ("203.0.113.9", &["198.51.100.1"][..], "203.0.113.9"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            // Addresses that the client itself has put before are not believed.
            ("10.0.0.1", &["192.0.2.1, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["192.0.2.1", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
            ("10.0.0.1", &["192.0.2.1, nonsense"], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1:4711"], "198.51.100.1"),
            ("fd00::1", &["\"[2001:db8::1]:4711\""], "2001:db8::1"),
            ("::ffff:10.0.0.1", &["[2001:db8::1]"], "2001:db8::1"),
        ] {
            let request =
                told.iter().fold(http::Request::builder(), |request, value| request.header(FORWARDED_FOR, *value));
            let (mut head, ()) = request.body(()).expect("a request").into_parts();
            assert_eq!(client_address(&head, &proxies), None, "no connection");
            head.extensions.insert(ConnectInfo(SocketAddr::new(peer.parse().expect("an address"), 1)));
            let expected: IpAddr = expected.parse().expect("an address");
            assert_eq!(client_address(&head, &proxies), Some(expected), "{peer} {told:?}");
        }
        // The line before one that cannot be read may be the client's.
        let unreadable = http::HeaderValue::from_bytes(b"\xff, 198.51.100.1").expect("a value");
        let request = http::Request::builder().header(FORWARDED_FOR, "192.0.2.1").header(FORWARDED_FOR, unreadable);
        let (mut head, ()) = request.body(()).expect("a request").into_parts();
        head.extensions.insert(ConnectInfo(SocketAddr::new("10.0.0.1".parse().expect("an address"), 1)));
        assert_eq!(client_address(&head, &proxies), "10.0.0.1".parse().ok());
    }

    #[test]
    fn a_prefix_is_believed_from_a_proxy_alone() {
        let proxy_prefix =
            ProxyPrefix { prefix: "/set".to_owned(), proxies: Network::parse("10.0.0.1").into_iter().collect() };
        let prefix = |peer: &str, told: Option<&str>| {
            let mut request = http::Request::builder();
            if let Some(told) = told {
                request = request.header(PREFIX, told);
            }
            let (mut head, ()) = request.body(()).expect("a request").into_parts();
            head.extensions.insert(ConnectInfo(SocketAddr::new(peer.parse().expect("an address"), 1)));
            proxy_prefix.prefix(&head)
        };
        for (peer, told, expected) in [
            ("10.0.0.1", Some("/tools/"), "/tools"),
            ("10.0.0.1", Some("/a/b"), "/a/b"),
            ("10.0.0.1", Some("//evil.example"), "/set"),
            ("10.0.0.1", Some("https://evil.example"), "/set"),
            ("10.0.0.1", Some("/a\"b"), "/set"),
            ("10.0.0.1", None, "/set"),
            ("10.0.0.2", Some("/tools"), "/set"),
        ] {
            assert_eq!(prefix(peer, told), expected, "{peer} {told:?}");
        }
    }
}
