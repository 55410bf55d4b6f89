//! Who is let in: hosts against DNS rebinding, origins against other people's web pages.

use super::HttpOptions;
use super::refused::Refused;
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderValue, Uri};
use std::sync::Arc;

/// Hosts and origins that are let in.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
    hints: [&'static str; 2],
    refused: Arc<Refused>,
}

impl Guard {
    pub(crate) fn new(options: &HttpOptions) -> Self {
        let (hosts, origins) = (options.hosts.clone(), options.origins.clone());
        Self { hosts, origins, hints: options.hints, refused: Arc::default() }
    }

    /// Lets a request in, or says in the log that it does not.
    ///
    /// # Errors
    ///
    /// Why it is not let in, for whoever runs the server to read.
    pub(crate) fn admit(&self, request: &Parts) -> Result<(), String> {
        self.check(request).inspect_err(|reason| self.refused.tell(reason))
    }

    /// Checks the head of a request.
    fn check(&self, request: &Parts) -> Result<(), String> {
        if let Some(hosts) = &self.hosts {
            let named = request.headers.get(HOST).map(|host| host.to_str().unwrap_or_default());
            let named = named.or_else(|| request.uri.authority().map(Authority::as_str)).unwrap_or_default();
            let authority = named.parse::<Authority>().ok();
            let allowed = authority.is_some_and(|authority| {
                hosts.iter().any(|host| {
                    host.eq_ignore_ascii_case(authority.as_str()) || host.eq_ignore_ascii_case(authority.host())
                })
            });
            if !allowed {
                return Err(format!("host `{}` is not allowed; {}", named.escape_debug(), self.hints[0]));
            }
        }
        match request.headers.get(ORIGIN) {
            Some(origin) if !self.allows_origin(origin) => {
                let origin = String::from_utf8_lossy(origin.as_bytes());
                Err(format!("origin `{}` is not allowed; {}", origin.escape_debug(), self.hints[1]))
            }
            _ => Ok(()),
        }
    }

    /// Whether web pages of this origin are let in.
    pub(crate) fn allows_origin(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let Some((scheme, host, port)) = parts(origin) else { return false };
        self.origins.iter().any(|allowed| {
            if allowed.eq_ignore_ascii_case(origin) {
                return true;
            }
            if let Some(any_port) = allowed.strip_suffix(":*") {
                return any_port.eq_ignore_ascii_case(&format!("{scheme}://{host}"));
            }
            parts(allowed)
                .is_some_and(|(s, h, p)| s.eq_ignore_ascii_case(&scheme) && h.eq_ignore_ascii_case(&host) && p == port)
        })
    }
}

/// Scheme, host and port, which is the scheme's own if it is not given.
fn parts(origin: &str) -> Option<(String, String, u16)> {
    let uri: Uri = origin.parse().ok()?;
    let scheme = uri.scheme_str()?.to_owned();
    let host = uri.host()?.to_owned();
    let default = match scheme.as_str() {
        "https" => 443,
        _ => 80,
    };
    Some((scheme, host, uri.port_u16().unwrap_or(default)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn allowed(options: HttpOptions, host: &str, origin: Option<&str>) -> bool {
        let mut request = Request::builder().uri("/mcp").header(HOST, host);
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        Guard::new(&options).check(&parts).is_ok()
    }

    #[test]
    fn by_default_only_this_machine_is_let_in() {
        let cases = [
            ("localhost", None, true),
            ("127.0.0.1:8000", None, true),
            ("[::1]:8000", None, true),
            ("LOCALHOST:1", None, true),
            ("evil.example", None, false),
            ("localhost.evil.example", None, false),
            ("", None, false),
            ("localhost:1", Some("http://localhost:6274"), true),
            ("localhost:1", Some("https://127.0.0.1"), true),
            ("localhost:1", Some("http://evil.example"), false),
            ("localhost:1", Some("http://localhost.evil.example"), false),
            ("localhost:1", Some("http://localhost@evil.example"), false),
            ("localhost:1", Some("null"), false),
            ("localhost:1", Some("file://"), false),
        ];
        for (host, origin, expected) in cases {
            assert_eq!(allowed(HttpOptions::new(), host, origin), expected, "{host} {origin:?}");
        }
    }

    #[test]
    fn what_is_added_is_let_in_and_no_more() {
        let options = || {
            HttpOptions::new().allow_host("mcp.example:443").allow_host("b.example").allow_origin("https://app.example")
        };
        for (host, expected) in [("mcp.example:443", true), ("mcp.example", false), ("b.example:9", true)] {
            assert_eq!(allowed(options(), host, None), expected, "{host}");
        }
        let origins = [
            ("https://app.example", true),
            ("https://app.example:443", true),
            ("https://app.example:8443", false),
            ("http://app.example", false),
        ];
        for (origin, expected) in origins {
            assert_eq!(allowed(options(), "localhost", Some(origin)), expected, "{origin}");
        }
        assert!(allowed(HttpOptions::new().allow_any_host(), "evil.example", None));
    }
}
