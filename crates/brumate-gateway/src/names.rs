//! Looks names up.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use brumate_network::message::{Failure, MAX_ADDRESSES};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;

/// Name of the host that Brumate runs on, for sandboxes. Their `localhost` is their own.
pub const HOST_MACHINE: &str = "host.brumate.internal";

/// Time for one look-up.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Attempts of one look-up beside the first.
const ATTEMPTS: usize = 2;
/// Names whose answers are kept.
const CACHE_ENTRIES: u64 = 4096;
/// Longest time for which an answer is kept.
const MAX_TTL: Duration = Duration::from_secs(60);

/// Looks names up in a hosts file, and at name servers.
pub(crate) struct Names {
    hosts: HashMap<String, Vec<IpAddr>>,
    resolver: Option<TokioResolver>,
}

impl Names {
    /// Returns one for these servers and names.
    pub(crate) fn new(servers: &[SocketAddr], hosts: Vec<(String, IpAddr)>) -> Result<Names, String> {
        let mut named: HashMap<String, Vec<IpAddr>> = HashMap::new();
        for (name, address) in hosts {
            named.entry(name.to_ascii_lowercase()).or_default().push(address);
        }
        named.insert(HOST_MACHINE.to_owned(), vec![Ipv4Addr::LOCALHOST.into()]);
        let resolver = if servers.is_empty() { None } else { Some(resolver(servers)?) };
        Ok(Names { hosts: named, resolver })
    }

    /// Returns the addresses of a name, at most [`MAX_ADDRESSES`].
    pub(crate) async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, Failure> {
        if let Some(found) = self.hosts.get(name) {
            return Ok(found.iter().copied().take(MAX_ADDRESSES).collect());
        }
        let Some(resolver) = &self.resolver else { return Err(Failure::TryAgain) };
        // A dot at the end: no domain is searched.
        match resolver.lookup_ip(format!("{name}.")).await {
            Ok(found) => {
                let addresses: Vec<IpAddr> = found.iter().take(MAX_ADDRESSES).collect();
                if addresses.is_empty() { Err(Failure::NoName) } else { Ok(addresses) }
            }
            Err(error) if error.is_no_records_found() => Err(Failure::NoName),
            Err(_) => Err(Failure::TryAgain),
        }
    }
}

fn resolver(servers: &[SocketAddr]) -> Result<TokioResolver, String> {
    let servers = servers.iter().map(|server| {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
            connection.port = server.port();
            connection
        });
        NameServerConfig::new(server.ip(), true, connections.to_vec())
    });
    let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
    let mut options = ResolverOpts::default();
    options.timeout = TIMEOUT;
    options.attempts = ATTEMPTS;
    options.cache_size = CACHE_ENTRIES;
    options.positive_max_ttl = Some(MAX_TTL);
    options.negative_max_ttl = Some(MAX_TTL);
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.use_hosts_file = hickory_resolver::config::ResolveHosts::Never;
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options)
        .build()
        .map_err(|error| error.to_string())
}
