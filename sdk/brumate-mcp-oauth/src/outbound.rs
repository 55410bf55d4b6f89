//! Requests to URLs that somebody else names: of metadata, authorization servers, keys.
//!
//! A server can name any URL, also one that only this machine can reach (server-side request forgery; see the security
//! best practices of MCP). So a URL must be `https`, except on this machine; host names are checked when they are
//! resolved; and responses are small.

use crate::causes::causes;
use crate::http_client;
use bytes::Bytes;
use reqwest::RequestBuilder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde::de::DeserializeOwned;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};

/// The largest response, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// The time for a request and its response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The most redirects that are followed, all to the same origin.
const MAX_REDIRECTS: usize = 3;

/// The network that an IP address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressScope {
    /// The internet.
    Public,
    /// A private network.
    Private,
    /// This machine.
    Loopback,
    /// No network that a request may go to: link-local addresses (with the metadata of clouds), multicast, reserved
    /// addresses.
    Forbidden,
}

fn scope_of(address: IpAddr) -> AddressScope {
    match address {
        IpAddr::V4(address) => scope_v4(address),
        IpAddr::V6(address) => scope_v6(address),
    }
}

fn scope_v4(address: Ipv4Addr) -> AddressScope {
    let [a, b, c, _] = address.octets();
    if address.is_loopback() {
        AddressScope::Loopback
    } else if address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && matches!(b, 18 | 19))
    {
        AddressScope::Forbidden
    } else if address.is_private() || (a == 100 && (64..128).contains(&b)) {
        AddressScope::Private
    } else {
        AddressScope::Public
    }
}

fn scope_v6(address: Ipv6Addr) -> AddressScope {
    let segments = address.segments();
    if let Some(inner) = address.to_ipv4_mapped() {
        return scope_v4(inner);
    }
    if address.is_loopback() {
        return AddressScope::Loopback;
    }
    match segments[0] {
        // NAT64 (RFC 6052) and 6to4 (RFC 3056) contain an IPv4 address.
        0x64 if segments[1] == 0xff9b => {
            scope_v4(Ipv4Addr::from((u32::from(segments[6]) << 16) | u32::from(segments[7])))
        }
        0x2002 => scope_v4(Ipv4Addr::from((u32::from(segments[1]) << 16) | u32::from(segments[2]))),
        0x2001 if segments[1] == 0xdb8 || segments[1] == 0 => AddressScope::Forbidden,
        first if first & 0xfe00 == 0xfc00 => AddressScope::Private,
        first if first & 0xe000 == 0x2000 => AddressScope::Public,
        _ => AddressScope::Forbidden,
    }
}

/// The networks that requests may go to besides the internet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    private: bool,
    loopback: bool,
}

impl AddressPolicy {
    /// Makes the policy for URLs that the server at `url` names: the network of the server itself may be reached too.
    pub fn of_server(url: &Url) -> Self {
        let scope = match url.host() {
            // A name without a dot belongs to the local network.
            Some(Host::Domain(name)) if !is_local_name(name) && !name.trim_end_matches('.').contains('.') => {
                AddressScope::Private
            }
            _ => scope_of_url(url),
        };
        Self { private: scope == AddressScope::Private, loopback: scope == AddressScope::Loopback }
    }

    /// Makes the policy for URLs of this machine and of private networks too.
    pub fn local() -> Self {
        Self { private: true, loopback: true }
    }

    fn admits(self, scope: AddressScope) -> bool {
        match scope {
            AddressScope::Public => true,
            AddressScope::Private => self.private,
            AddressScope::Loopback => self.loopback,
            AddressScope::Forbidden => false,
        }
    }
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns the network of a URL before its name is resolved. A name that may be anywhere counts as public, a URL
/// without a host as forbidden.
fn scope_of_url(url: &Url) -> AddressScope {
    match url.host() {
        Some(Host::Ipv4(address)) => scope_v4(address),
        Some(Host::Ipv6(address)) => scope_v6(address),
        Some(Host::Domain(name)) if is_local_name(name) => AddressScope::Loopback,
        Some(Host::Domain(_)) => AddressScope::Public,
        None => AddressScope::Forbidden,
    }
}

/// Returns whether a URL is on this machine, by its host's name or address.
pub fn is_loopback(url: &Url) -> bool {
    scope_of_url(url) == AddressScope::Loopback
}

/// Resolves names to those of their addresses that may be reached. The connection uses one of these, so no name is
/// resolved twice.
#[derive(Clone, Debug)]
struct Resolver(AddressPolicy);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let admitted: Vec<SocketAddr> = found.filter(|address| policy.admits(scope_of(address.ip()))).collect();
            if admitted.is_empty() {
                return Err(format!("`{}` has no address that may be reached", name.as_str()).into());
            }
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

/// The reason why a request was not made or has no usable response.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The URL may not be requested: why.
    #[error("{0} may not be reached: {1}")]
    Refused(String, &'static str),
    /// The request failed: why.
    #[error("{0}: {1}")]
    Failed(String, String),
    /// The response is not a success: its status and its body.
    #[error("{0}: HTTP {1}")]
    Status(String, u16, Bytes),
}

/// An HTTP client for URLs that somebody else names.
#[derive(Clone, Debug)]
pub struct Outbound {
    client: reqwest::Client,
    /// The client for this machine, without a proxy: a proxy would see secrets.
    direct: Option<reqwest::Client>,
    policy: AddressPolicy,
}

impl Outbound {
    /// Makes a client.
    ///
    /// # Errors
    ///
    /// Returns a text if TLS cannot be set up.
    pub fn new(policy: AddressPolicy) -> Result<Self, String> {
        let settings = || {
            let redirects = reqwest::redirect::Policy::custom(|attempt| {
                let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
                match same && attempt.previous().len() <= MAX_REDIRECTS {
                    true => attempt.follow(),
                    false => attempt.stop(),
                }
            });
            http_client::builder().dns_resolver(Arc::new(Resolver(policy))).redirect(redirects).timeout(TIMEOUT)
        };
        let client = settings().build().map_err(|error| error.to_string())?;
        let direct = policy.loopback.then(|| settings().no_proxy().build());
        Ok(Self { client, direct: direct.transpose().map_err(|error| error.to_string())?, policy })
    }

    fn client_for(&self, url: &Url) -> &reqwest::Client {
        self.direct.as_ref().filter(|_| is_loopback(url)).unwrap_or(&self.client)
    }

    /// Checks a URL as far as possible before its name is resolved.
    pub fn check(&self, url: &Url) -> Result<(), OutboundError> {
        let refused = |reason| Err(OutboundError::Refused(without_query(url), reason));
        if !url.username().is_empty() || url.password().is_some() {
            return refused("it has credentials");
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(url) => {}
            _ => return refused("it is not `https`"),
        }
        if self.policy.admits(scope_of_url(url)) { Ok(()) } else { refused("it is in a network of its own") }
    }

    /// Gets a JSON document.
    pub async fn get_json<T: DeserializeOwned>(&self, url: &Url) -> Result<T, OutboundError> {
        self.check(url)?;
        let request = self.client_for(url).get(url.clone()).header(http::header::ACCEPT, "application/json");
        self.json(url, request).await
    }

    /// Posts JSON. Returns the JSON of the response.
    pub async fn post_json<T: DeserializeOwned>(
        &self,
        url: &Url,
        body: &serde_json::Value,
    ) -> Result<T, OutboundError> {
        self.check(url)?;
        let request = self.client_for(url).post(url.clone()).header(http::header::CONTENT_TYPE, "application/json");
        self.json(url, request.body(body.to_string())).await
    }

    /// Posts a form. Returns the JSON of the response.
    pub async fn post_form<T: DeserializeOwned>(
        &self,
        url: &Url,
        form: &[(String, String)],
        authorization: Option<&str>,
    ) -> Result<T, OutboundError> {
        self.check(url)?;
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut request = self
            .client_for(url)
            .post(url.clone())
            .header(http::header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header(http::header::AUTHORIZATION, authorization);
        }
        self.json(url, request.header(http::header::ACCEPT, "application/json").body(body)).await
    }

    async fn json<T: DeserializeOwned>(&self, url: &Url, request: RequestBuilder) -> Result<T, OutboundError> {
        let failed = |reason: String| OutboundError::Failed(without_query(url), reason);
        let response = request.send().await.map_err(|error| failed(causes(&error.without_url())))?;
        let status = response.status();
        let body = http_client::read(response, MAX_ANSWER).await.map_err(failed)?;
        if !status.is_success() {
            return Err(OutboundError::Status(without_query(url), status.as_u16(), body));
        }
        serde_json::from_slice(&body)
            .map_err(|error| failed(format!("it is not the JSON that is expected: {}", describe_error(&error))))
    }
}

/// Returns what is wrong with a document. It does not repeat values, which may be secrets.
fn describe_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.starts_with("invalid ") {
        true => format!("a value of the wrong kind at line {}, column {}", error.line(), error.column()),
        false => text,
    }
}

/// Returns a URL for people, without its credentials and its query, which may be secret.
fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str, url: &str) -> Result<(), OutboundError> {
        let outbound = Outbound::new(AddressPolicy::of_server(&Url::parse(server).unwrap())).unwrap();
        outbound.check(&Url::parse(url).unwrap())
    }

    /// Each way of writing an address that must not be reached, for a server on the internet.
    #[test]
    fn addresses_of_other_networks_are_refused() {
        for url in [
            "http://example.org/",
            "ftp://example.org/",
            "file:///etc/passwd",
            "https://user:password@example.org/",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0177.0.0.1/",
            "https://localhost/",
            "https://LOCALHOST./",
            "https://a.localhost/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:169.254.169.254]/",
            "https://169.254.169.254/latest/meta-data/",
            "https://[fe80::1]/",
            "https://[fd00::1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
            "https://10.0.0.1/",
            "https://172.16.0.1/",
            "https://192.168.0.1/",
            "https://100.64.0.1/",
            "https://0.0.0.0/",
            "https://[::]/",
            "https://224.0.0.1/",
            "https://255.255.255.255/",
            "https://198.18.0.1/",
        ] {
            check("https://mcp.example.com/mcp", url).expect_err(url);
        }
        check("https://mcp.example.com/mcp", "https://auth.example.com/").unwrap();
        check("https://mcp.example.com/mcp", "https://93.184.216.34/").unwrap();
    }

    #[tokio::test]
    async fn refused_addresses_reach_no_socket() {
        let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        trap.set_nonblocking(true).unwrap();
        let port = trap.local_addr().unwrap().port();
        let outbound =
            Outbound::new(AddressPolicy::of_server(&Url::parse("https://mcp.example.com/mcp").unwrap())).unwrap();
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "localhost",
            "LOCALHOST.",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "user:password@localhost",
        ] {
            for scheme in ["http", "https"] {
                let url = Url::parse(&format!("{scheme}://{host}:{port}/")).unwrap();
                let form = [("refresh_token".to_owned(), "x".to_owned())];
                let answers = [
                    outbound.get_json::<serde_json::Value>(&url).await,
                    outbound.post_json(&url, &serde_json::Value::Null).await,
                    outbound.post_form(&url, &form, Some("Basic x")).await,
                ];
                for answer in answers {
                    assert!(matches!(answer, Err(OutboundError::Refused(..))), "{url}: {answer:?}");
                }
            }
        }
        assert_eq!(trap.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_server_may_name_what_is_where_it_is() {
        check("http://localhost:8000/mcp", "http://127.0.0.1:9000/").unwrap();
        check("http://localhost:8000/mcp", "https://10.0.0.1/").unwrap_err();
        check("https://10.0.0.1/mcp", "https://192.168.0.1/").unwrap();
        check("https://10.0.0.1/mcp", "https://127.0.0.1/").unwrap_err();
        check("http://127.0.0.1/mcp", "https://169.254.169.254/").unwrap_err();
    }

    #[tokio::test]
    async fn names_are_checked_where_they_are_resolved() {
        // `localhost` resolves on every machine.
        let resolver = Resolver(AddressPolicy::default());
        let error = resolver.resolve("localhost".parse().unwrap()).await.err().expect("it is refused");
        assert!(error.to_string().contains("no address that may be reached"), "{error}");
        let resolver = Resolver(AddressPolicy { private: false, loopback: true });
        assert!(resolver.resolve("localhost".parse().unwrap()).await.is_ok_and(|mut found| found.next().is_some()));
    }
}
