//! Networks that files and redirects of package sources may lead to.
//!
//! A page can name any URL, also one that only this machine reaches (server-side request forgery). The hosts of the sources themselves are
//! the operator's choice.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::index::names::SharedResolver;
use crate::settings::{FindLinks, Settings};

/// Variables with the proxies of a client whose settings have none.
const PROXY_VARIABLES: &[&str] = &["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// Private networks (RFC 1918, RFC 6598, RFC 4193).
const PRIVATE: &[&str] = &["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];
/// Other networks that are not the internet: this machine, link-local addresses with the metadata of clouds, multicast, and the rest of
/// IANA's special-purpose registries.
const FORBIDDEN: &[&str] = &[
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
    "2001::/32",
    "2001:db8::/32",
    "2002::/16",
];
/// IPv6 addresses that the internet uses.
const GLOBAL_V6: &str = "2000::/3";
/// IPv6 addresses with an IPv4 address at the end (RFC 6052).
const NAT64: &str = "64:ff9b::/96";

/// Rules for the URLs that pages and redirects name.
#[derive(Debug)]
pub(crate) struct LinkRules {
    sources: HashSet<String>,
    proxies: HashSet<String>,
    /// Whether a source is in a private network, as far as its name was resolved. Its files may be there too.
    has_private_source: AtomicBool,
}

/// Host that a page or a redirect names, and that may not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is in another network than the sources of packages, and none of them has this host")]
pub(crate) struct ForbiddenHost(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network {
    Internet,
    Private,
    Forbidden,
}

/// Resolver that leaves out the addresses that the rules forbid.
#[derive(Debug)]
pub(crate) struct CheckedResolver {
    names: SharedResolver,
    rules: Arc<LinkRules>,
}

impl LinkRules {
    pub(crate) fn new(settings: &Settings) -> Self {
        let pages = settings.find_links.iter().filter_map(|place| match place {
            FindLinks::Page(url) => Some(url),
            FindLinks::Directory(_) => None,
        });
        let urls: Vec<&Url> =
            settings.indexes.iter().map(|index| &index.url).chain(pages).chain(&settings.pyodide).collect();
        let has_private = urls.iter().any(|url| literal(url).is_some_and(|ip| network(ip) == Network::Private));
        let proxies: Vec<String> = match &settings.proxy {
            Some(proxy) => vec![proxy.clone()],
            None => PROXY_VARIABLES.iter().filter_map(|name| std::env::var(name).ok()).collect(),
        };
        let proxy_host = |text: &String| {
            let with_scheme = if text.contains("://") { text.clone() } else { format!("http://{text}") };
            Some(Url::parse(&with_scheme).ok()?.host_str()?.to_owned())
        };
        Self {
            sources: urls.into_iter().filter_map(|url| url.host_str().map(str::to_owned)).collect(),
            proxies: proxies.iter().filter_map(proxy_host).collect(),
            has_private_source: AtomicBool::new(has_private),
        }
    }

    /// Checks a URL as far as possible before its name is resolved.
    ///
    /// # Errors
    ///
    /// Its host may not be reached.
    pub(crate) fn check(&self, url: &Url) -> Result<(), ForbiddenHost> {
        let is_source = url.host_str().is_some_and(|host| self.sources.contains(host));
        match literal(url) {
            Some(address) if !is_source && !self.admits(address) => {
                Err(ForbiddenHost(url.host_str().unwrap_or_default().to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn admits(&self, address: IpAddr) -> bool {
        match network(address) {
            Network::Internet => true,
            Network::Private => self.has_private_source.load(Ordering::Relaxed),
            Network::Forbidden => false,
        }
    }

    /// Returns the addresses of a host that may be reached.
    fn filter(&self, host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, ForbiddenHost> {
        if self.sources.contains(host) {
            if found.iter().any(|address| network(address.ip()) == Network::Private) {
                self.has_private_source.store(true, Ordering::Relaxed);
            }
            return Ok(found);
        }
        if self.proxies.contains(host) {
            return Ok(found);
        }
        let admitted: Vec<_> = found.into_iter().filter(|address| self.admits(address.ip())).collect();
        if admitted.is_empty() { Err(ForbiddenHost(host.to_owned())) } else { Ok(admitted) }
    }
}

impl CheckedResolver {
    pub(crate) fn new(rules: Arc<LinkRules>) -> Self {
        Self { names: SharedResolver::default(), rules }
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let (rules, found) = (Arc::clone(&self.rules), self.names.resolve(name));
        Box::pin(async move {
            let admitted = rules.filter(&host, found.await?.collect())?;
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

/// Returns the address of a URL whose host is one.
fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

fn network(address: IpAddr) -> Network {
    let is_in = |network: &str, address| IpNet::from_str(network).is_ok_and(|network| network.contains(&address));
    let address = match address {
        IpAddr::V6(inner) if is_in(NAT64, address) => {
            let [.., a, b, c, d] = inner.octets();
            IpAddr::from([a, b, c, d])
        }
        address => address.to_canonical(),
    };
    let is_any = |networks: &[&str]| networks.iter().any(|network| is_in(network, address));
    if is_any(PRIVATE) {
        Network::Private
    } else if is_any(FORBIDDEN) || address.is_ipv6() && !is_in(GLOBAL_V6, address) {
        Network::Forbidden
    } else {
        Network::Internet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Credentials, Index};

    fn rules(index: &str) -> LinkRules {
        let index = Index::new(index, &mut Credentials::default()).expect("an index");
        let proxy = Some("proxy.example:3128".to_owned());
        LinkRules::new(&Settings { indexes: vec![index], proxy, ..Settings::default() })
    }

    fn check(index: &str, url: &str) -> Result<(), ForbiddenHost> {
        rules(index).check(&Url::parse(url).expect("a URL"))
    }

    fn addresses(addresses: &[&str]) -> Vec<SocketAddr> {
        addresses.iter().map(|address| SocketAddr::new(address.parse().expect("an address"), 0)).collect()
    }

    #[test]
    fn all_networks_are_written_correctly() {
        for network in PRIVATE.iter().chain(FORBIDDEN).chain([&GLOBAL_V6, &NAT64]) {
            let parsed: IpNet = network.parse().expect(network);
            assert_eq!(parsed, parsed.trunc(), "{network}");
        }
    }

    #[test]
    fn an_index_of_the_internet_leads_into_no_other_network() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.0.1",
            "100.64.0.1",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[fe80::1]",
            "[fd00::1]",
            "[ff02::1]",
            "[2002:7f00:1::]",
        ] {
            check("https://index.example/simple/", &format!("http://{host}/x.whl")).expect_err(host);
        }
        for host in ["files.example", "93.184.216.34", "[2606:4700::1]", "[64:ff9b::5db8:d822]"] {
            check("https://index.example/simple/", &format!("https://{host}/x.whl")).expect(host);
        }
    }

    #[test]
    fn files_are_where_their_index_is() {
        check("http://127.0.0.1:8080/simple/", "http://127.0.0.1:8080/x.whl").expect("the host of the index");
        check("http://127.0.0.1:8080/simple/", "http://127.0.0.2/x.whl").expect_err("another one");
        check("http://10.0.0.1/simple/", "http://10.0.0.2/x.whl").expect("the network of the index");
        check("http://10.0.0.1/simple/", "http://169.254.169.254/").expect_err("another one");
    }

    #[test]
    fn names_are_checked_by_their_addresses() {
        let rules = rules("https://index.example/simple/");
        let public = addresses(&["93.184.216.34"]);
        let both = addresses(&["127.0.0.1", "93.184.216.34"]);
        assert_eq!(rules.filter("files.example", both), Ok(public));
        assert!(rules.filter("files.example", addresses(&["127.0.0.1"])).is_err());
        let private = addresses(&["10.0.0.1"]);
        assert!(rules.filter("files.example", private.clone()).is_err());
        assert_eq!(rules.filter("proxy.example", private.clone()), Ok(private.clone()));
        assert!(rules.filter("files.example", private.clone()).is_err(), "a proxy is no source");
        // The index itself turns out to be in a private network.
        assert_eq!(rules.filter("index.example", private.clone()), Ok(private.clone()));
        assert_eq!(rules.filter("files.example", private.clone()), Ok(private));
        assert!(rules.filter("files.example", addresses(&["169.254.169.254"])).is_err());
    }
}
