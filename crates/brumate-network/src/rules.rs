//! Rules: to which hosts and ports a sandbox may connect.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::address::{canonical, special_purpose};
use crate::host::Host;
use crate::refusal::{Reason, Refusal};

/// Most rules of one sandbox.
pub const MAX_RULES: usize = 1024;

/// Stands for the host in [`Rules::new`]'s text.
pub const FIX_HOST: &str = "HOST";

/// Port of a rule that names none.
pub const DEFAULT_PORT: u16 = 443;

/// Hosts that a rule has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    /// One name.
    Name(String),
    /// All names below a domain, written `*.example.com`.
    Below(String),
    /// An address, or a network.
    Network(IpNet),
}

impl Pattern {
    /// Whether the rule has this host.
    fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Pattern::Name(name), Host::Name(host)) => name == host,
            (Pattern::Below(domain), Host::Name(host)) => {
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (Pattern::Network(network), Host::Address(address)) => network.contains(address),
            (Pattern::Name(_) | Pattern::Below(_), Host::Address(_)) | (Pattern::Network(_), Host::Name(_)) => false,
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Pattern, String> {
        if let Some(domain) = text.strip_prefix("*.") {
            return match Host::parse(domain) {
                Ok(Host::Name(domain)) if domain.contains('.') || domain == "localhost" => Ok(Pattern::Below(domain)),
                Ok(Host::Name(_)) => {
                    Err(format!("`{text}` has all names of a top-level domain; name a domain below it"))
                }
                _ => Err(format!("`{text}` is no name below a domain")),
            };
        }
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(network) = bare.parse::<IpNet>() {
            return if network.network() == network.addr() {
                Ok(Pattern::Network(network))
            } else {
                Err(format!("`{text}` has bits behind its prefix; the network is `{}`", network.trunc()))
            };
        }
        match Host::parse(text).map_err(|error| error.to_string())? {
            Host::Name(name) => Ok(Pattern::Name(name)),
            Host::Address(address) => Ok(Pattern::Network(address.into())),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Name(name) => out.write_str(name),
            Pattern::Below(domain) => write!(out, "*.{domain}"),
            Pattern::Network(network) if network.prefix_len() == network.max_prefix_len() => {
                Host::Address(network.addr()).fmt(out)
            }
            Pattern::Network(network) => network.fmt(out),
        }
    }
}

/// A rule: hosts and their ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The hosts.
    pub hosts: Pattern,
    /// The ports.
    pub ports: Vec<u16>,
    /// Networks with a special purpose that names of this rule may lead to.
    pub addresses: Vec<IpNet>,
}

impl FromStr for Rule {
    type Err = String;

    /// Reads a value of `--allow-net`: `HOST` or `HOST:PORT`. An IPv6 address or network with a port is in brackets.
    fn from_str(text: &str) -> Result<Rule, String> {
        let (host, port) = match text.rsplit_once(':') {
            // More colons outside of brackets: an IPv6 address or network without a port.
            Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => match port.parse() {
                Ok(0) | Err(_) => {
                    return Err(format!("`{port}` is no port: write HOST:PORT, for example `{host}:443`"));
                }
                Ok(port) => port,
            },
        };
        Ok(Rule { hosts: host.parse()?, ports: vec![port], addresses: Vec::new() })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        write!(out, "{}:{}", self.hosts, ports.join(","))
    }
}

/// The rules of a sandbox. The first rule that has host and port decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    rules: Vec<Rule>,
    /// How a user allows [`FIX_HOST`].
    fix: String,
}

impl Rules {
    /// Returns these rules, in their order. `fix` is the text that says how a user allows [`FIX_HOST`].
    ///
    /// # Errors
    /// When they are more than [`MAX_RULES`].
    pub fn new(rules: Vec<Rule>, fix: impl Into<String>) -> Result<Rules, String> {
        if rules.len() > MAX_RULES {
            return Err(format!("{} rules are more than {MAX_RULES}", rules.len()));
        }
        Ok(Rules { rules, fix: fix.into() })
    }

    /// Whether nothing is allowed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether the name of a host may be looked up: a rule has it, with any port.
    ///
    /// # Errors
    /// The refusal.
    pub fn name(&self, host: &Host) -> Result<(), Refusal> {
        if self.rules.iter().any(|rule| rule.hosts.matches(host)) { Ok(()) } else { Err(self.no_host(host, None)) }
    }

    /// Returns the number (from 1) and the rule that has host and port.
    ///
    /// # Errors
    /// The refusal.
    pub fn connection(&self, host: &Host, port: u16) -> Result<(usize, &Rule), Refusal> {
        let mut others = (1..).zip(&self.rules).filter(|(_, rule)| rule.hosts.matches(host));
        if let Some(found) = others.clone().find(|(_, rule)| rule.ports.contains(&port)) {
            return Ok(found);
        }
        match others.next() {
            None => Err(self.no_host(host, Some(port))),
            Some((number, rule)) => {
                let ports: Vec<String> = rule.ports.iter().map(u16::to_string).collect();
                let text = format!(
                    "{host}:{port} is not allowed: rule {number} (`{rule}`) allows port {} only. Allow it with {}",
                    ports.join(", "),
                    self.fix(&format!("{host}:{port}"))
                );
                Err(Refusal::new(Reason::Port, text))
            }
        }
    }

    /// Checks the address that a host has: an address with a special purpose must be named by a rule. A network names the addresses of a
    /// purpose if it has no others: `10.0.0.0/8` does, `0.0.0.0/0` does not.
    ///
    /// # Errors
    /// The refusal.
    pub fn address(&self, host: &Host, port: u16, address: IpAddr) -> Result<(), Refusal> {
        let address = canonical(address);
        let Some(purpose) = special_purpose(address) else { return Ok(()) };
        let named = self.rules.iter().any(|rule| {
            let names = |network: &IpNet| network.contains(&address) && network.prefix_len() >= purpose.prefix;
            let has = match &rule.hosts {
                Pattern::Network(network) => names(network),
                pattern => pattern.matches(host) && rule.addresses.iter().any(names),
            };
            has && rule.ports.contains(&port)
        });
        if named {
            return Ok(());
        }
        let shown = Host::Address(address);
        let text = format!(
            "{host}:{port} has the address {shown} ({}), which no rule names. Allow it with {}",
            purpose.name,
            self.fix(&format!("{shown}:{port}"))
        );
        Err(Refusal::new(Reason::Address, text))
    }

    fn fix(&self, host: &str) -> String {
        self.fix.replace(FIX_HOST, host)
    }

    fn no_host(&self, host: &Host, port: Option<u16>) -> Refusal {
        let shown = port.map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
        let flag = match port {
            None | Some(DEFAULT_PORT) => host.to_string(),
            Some(port) => format!("{host}:{port}"),
        };
        if self.rules.is_empty() {
            let text = format!(
                "{shown} cannot be reached: this sandbox has no network. Allow the host with {}",
                self.fix(&flag)
            );
            return Refusal::new(Reason::NoNetwork, text);
        }
        Refusal::new(Reason::Host, format!("{shown} is in no rule. Allow it with {}", self.fix(&flag)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Rules {
        Rules::new(texts.iter().map(|text| text.parse().unwrap()).collect(), "`--allow-net HOST`").unwrap()
    }

    fn reason(rules: &Rules, host: &str, port: u16) -> Option<Reason> {
        rules.connection(&Host::parse(host).unwrap(), port).err().map(|refusal| refusal.reason)
    }

    #[test]
    fn hosts_and_ports_are_those_of_a_rule() {
        let rules = rules(&[
            "api.github.com",
            "*.internal.example:8443",
            "10.1.2.3:5432",
            "192.168.0.0/16:80",
            "[2001:db8::1]:443",
        ]);
        for (host, port, expected) in [
            ("api.github.com", 443, None),
            ("API.github.com.", 443, None),
            ("api.github.com", 80, Some(Reason::Port)),
            ("github.com", 443, Some(Reason::Host)),
            ("xapi.github.com", 443, Some(Reason::Host)),
            ("api.github.com.evil.example", 443, Some(Reason::Host)),
            ("a.internal.example", 8443, None),
            ("a.b.internal.example", 8443, None),
            ("internal.example", 8443, Some(Reason::Host)),
            ("xinternal.example", 8443, Some(Reason::Host)),
            ("10.1.2.3", 5432, None),
            ("0x0a.1.515", 5432, None),
            ("10.1.2.4", 5432, Some(Reason::Host)),
            ("192.168.255.1", 80, None),
            ("::ffff:192.168.0.1", 80, None),
            ("2001:db8::1", 443, None),
            ("127.0.0.1", 443, Some(Reason::Host)),
        ] {
            assert_eq!(reason(&rules, host, port), expected, "{host}:{port}");
        }
        assert_eq!(reason(&Rules::default(), "example.com", 443), Some(Reason::NoNetwork));
    }

    #[test]
    fn special_addresses_must_be_named() {
        let rules = rules(&["db.example:5432", "10.1.2.3:5432"]);
        let host = Host::parse("db.example").unwrap();
        let reason = |port, address: &str| {
            rules.address(&host, port, address.parse().unwrap()).err().map(|refusal| refusal.reason)
        };
        assert_eq!(reason(5432, "93.184.216.34"), None);
        assert_eq!(reason(5432, "10.1.2.3"), None);
        assert_eq!(reason(5432, "::ffff:10.1.2.3"), None);
        for address in ["10.1.2.4", "127.0.0.1", "169.254.169.254", "::1", "64:ff9b::10.1.2.3", "2002:a01:203::"] {
            assert_eq!(reason(5432, address), Some(Reason::Address), "{address}");
        }
        assert_eq!(reason(443, "10.1.2.3"), Some(Reason::Address));
        // All addresses are no name for those with a special purpose.
        let all = self::rules(&["0.0.0.0/0:80", "[::/0]:80", "172.16.0.0/12:80"]);
        for (address, expected) in [
            ("93.184.216.34", None),
            ("2606:4700::1", None),
            ("172.31.0.1", None),
            ("127.0.0.1", Some(Reason::Address)),
            ("169.254.169.254", Some(Reason::Address)),
            ("::1", Some(Reason::Address)),
            ("fd00:ec2::254", Some(Reason::Address)),
        ] {
            let host = Host::parse(address).unwrap();
            assert!(all.connection(&host, 80).is_ok(), "{address}");
            let found = all.address(&host, 80, address.parse().unwrap()).err().map(|refusal| refusal.reason);
            assert_eq!(found, expected, "{address}");
        }
    }

    #[test]
    fn wrong_rules_are_refused() {
        for text in [
            "",
            "*",
            "*.com",
            "a:b",
            "a:0",
            "a:65536",
            "http://a",
            "10.0.0.1/8:80",
            "a/b",
            "*.*.example",
            "%41",
            "a..b:80",
        ] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
        for text in
            ["a", "localhost:8080", "*.localhost:1", "::1", "[::1]:80", "fd00::/8", "[fd00::/8]:80", "10.0.0.0/8:5432"]
        {
            assert!(text.parse::<Rule>().is_ok(), "{text}");
        }
    }
}
