//! The one parser of authorities (`host[:port]`, RFC 3986 section 3.2), for `Host`, `Origin` and settings.

use std::fmt;

/// A host with its port, if one is given. Hosts are lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    host: String,
    port: Option<u16>,
}

impl Authority {
    /// Reads `host`, `host:port`, `[IPv6]` or `[IPv6]:port`. Returns `None` for everything else: user information
    /// (`user@host`), an empty host, or characters that no host name has. A port must be a number up to 65535.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (inside, after) = rest.split_once(']')?;
                inside.parse::<std::net::Ipv6Addr>().ok()?;
                (format!("[{inside}]"), after)
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                (text[..end].to_owned(), &text[end..])
            }
        };
        let port = match port.strip_prefix(':') {
            Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            None if port.is_empty() => None,
            _ => return None,
        };
        let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        if host.is_empty() || !(host.starts_with('[') || host.bytes().all(named)) {
            return None;
        }
        Some(Self { host: host.to_ascii_lowercase(), port })
    }

    /// Returns the host, IPv6 addresses in brackets, and the port.
    pub(crate) fn parts(&self) -> (&str, Option<u16>) {
        (&self.host, self.port)
    }

    /// Returns whether a request for `other` is let in here: it has the same host, and the same port if `self` has one.
    pub(crate) fn admits(&self, other: &Self) -> bool {
        self.host == other.host && (self.port.is_none() || self.port == other.port)
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

/// The origin of a web page (RFC 6454): scheme, host, and port (or the scheme's default).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// Reads `scheme://host[:port]` with nothing after it. `None` for everything else, `null` included.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let first = scheme.bytes().next()?;
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if !first.is_ascii_alphabetic() || !scheme.bytes().all(known) {
            return None;
        }
        let authority = Authority::parse(authority)?;
        let port = authority.port.unwrap_or(if scheme == "https" { 443 } else { 80 });
        Some(Self { scheme, host: authority.host, port })
    }
}

/// Origins that are let in: one, or one host with any port (`http://localhost:*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OriginPattern {
    origin: Origin,
    any_port: bool,
}

impl OriginPattern {
    /// Reads a pattern as it is set. `None` for one that matches nothing.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bare = text.strip_suffix(":*");
        // A slash at the end, as people copy it from a browser, is ignored.
        let origin = Origin::parse(bare.unwrap_or(text).trim_end_matches('/'))?;
        Some(Self { origin, any_port: bare.is_some() })
    }

    pub(crate) fn admits(&self, other: &Origin) -> bool {
        let same_host = self.origin.scheme == other.scheme && self.origin.host == other.host;
        same_host && (self.any_port || self.origin.port == other.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_read_strictly() {
        for (text, expected) in [
            ("localhost", Some(("localhost", None))),
            ("LOCALHOST:8000", Some(("localhost", Some(8000)))),
            ("127.0.0.1:1", Some(("127.0.0.1", Some(1)))),
            ("[::1]", Some(("[::1]", None))),
            ("[::1]:65535", Some(("[::1]", Some(65535)))),
            ("a_b.example", Some(("a_b.example", None))),
            ("evil.com@127.0.0.1", None),
            ("localhost:evil.com", None),
            ("localhost:", None),
            ("localhost:65536", None),
            ("localhost:+1", None),
            ("localhost:1:2", None),
            ("::1", None),
            ("[::1", None),
            ("[::1]x", None),
            ("[evil]", None),
            ("", None),
            (":80", None),
            ("local host", None),
            ("localhost/", None),
            ("localhost?", None),
            ("lo%63alhost", None),
            ("localhost\0", None),
            ("ｌocalhost", None),
        ] {
            let parsed = Authority::parse(text);
            let parts = parsed.as_ref().map(|authority| (authority.host.as_str(), authority.port));
            assert_eq!(parts, expected, "{text:?}");
            if let Some(authority) = parsed {
                assert_eq!(Authority::parse(&authority.to_string()), Some(authority));
            }
        }
    }

    #[test]
    fn origins_are_scheme_host_and_port() {
        let admits = |pattern: &str, origin: &str| {
            let pattern = OriginPattern::parse(pattern).expect("a pattern");
            Origin::parse(origin).is_some_and(|origin| pattern.admits(&origin))
        };
        for (pattern, origin, expected) in [
            ("http://localhost:*", "http://localhost:6274", true),
            ("http://localhost:*", "http://LOCALHOST", true),
            ("http://localhost:*", "http://localhost:evil.com", false),
            ("http://localhost:*", "http://localhost:80@evil.com", false),
            ("http://localhost:*", "http://localhost.evil.com", false),
            ("http://localhost:*", "https://localhost", false),
            ("http://localhost:*", "http://localhost/evil", false),
            ("https://app.example/", "https://app.example:443", true),
            ("https://app.example", "https://app.example:8443", false),
            ("https://app.example:8443", "https://app.example", false),
        ] {
            assert_eq!(admits(pattern, origin), expected, "{pattern} {origin}");
        }
        for text in ["null", "", "://a", "file://", "http://", "http:/localhost", "1http://a", "http://a\tb"] {
            assert_eq!(Origin::parse(text), None, "{text:?}");
        }
        assert_eq!(OriginPattern::parse("*"), None);
    }
}
