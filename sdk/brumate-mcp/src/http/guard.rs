//! Checks hosts against DNS rebinding, and origins against foreign web pages.

use super::authority::{Authority, Origin, OriginPattern};
use super::options::HttpOptions;
use super::refusal_log::RefusalLog;
use http::header::{HOST, HeaderName, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use std::sync::Arc;

/// Hosts and origins that are let in.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// `None` lets in every host.
    hosts: Option<Vec<Authority>>,
    origins: Vec<OriginPattern>,
    /// Whether the origin of the host that a request names is let in.
    same_origin: bool,
    refusal_hints: [&'static str; 2],
    refusals: Arc<RefusalLog>,
}

/// The refusal of a request: its status, and a text for the operator of the server.
type HeadRefusal = (StatusCode, String);

impl Guard {
    /// Reads the hosts and origins of `options`. One that does not parse lets nothing in and is logged.
    pub(crate) fn new(options: &HttpOptions) -> Self {
        let unreadable = |what: &str, text: &str| {
            tracing::warn!(setting = text, "this {what} cannot be read and lets nobody in");
        };
        let host = |text: &String| {
            Authority::parse(text).or_else(|| {
                unreadable("host", text);
                None
            })
        };
        let origin = |text: &String| {
            OriginPattern::parse(text).or_else(|| {
                unreadable("origin", text);
                None
            })
        };
        Self {
            hosts: options.hosts.as_ref().map(|hosts| hosts.iter().filter_map(host).collect()),
            origins: options.origins.iter().filter_map(origin).collect(),
            // A host that nobody checks may be a page's own (DNS rebinding).
            same_origin: options.same_origin && options.hosts.is_some(),
            refusal_hints: options.refusal_hints,
            refusals: Arc::default(),
        }
    }

    /// Lets a request in, or logs that it does not.
    ///
    /// # Errors
    ///
    /// Returns 400 for an ambiguous head, and 403 for a host or an origin that is not allowed.
    pub(crate) fn admit(&self, request: &Parts) -> Result<(), HeadRefusal> {
        self.check(request).inspect_err(|(_, reason)| self.refusals.log(reason))
    }

    /// Lets in a request for something that every web page may read: only its host is checked.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Guard::admit`].
    pub(crate) fn admit_host(&self, request: &Parts) -> Result<(), HeadRefusal> {
        self.check_host(request).inspect_err(|(_, reason)| self.refusals.log(reason))
    }

    fn check_host(&self, request: &Parts) -> Result<(), HeadRefusal> {
        let named = named_host(request)?;
        if let Some(hosts) = &self.hosts {
            let authority = Authority::parse(&named);
            let allowed = authority.is_some_and(|authority| hosts.iter().any(|host| host.admits(&authority)));
            if !allowed {
                let reason = format!("host `{}` is not allowed; {}", named.escape_debug(), self.refusal_hints[0]);
                return Err((StatusCode::FORBIDDEN, reason));
            }
        }
        Ok(())
    }

    /// Checks the head of a request.
    fn check(&self, request: &Parts) -> Result<(), HeadRefusal> {
        self.check_host(request)?;
        match single(&request.headers, &ORIGIN)? {
            Some(origin) if !self.allows_origin(origin) && !self.is_same_origin(origin, request) => {
                let origin = String::from_utf8_lossy(origin.as_bytes());
                let reason = format!("origin `{}` is not allowed; {}", origin.escape_debug(), self.refusal_hints[1]);
                Err((StatusCode::FORBIDDEN, reason))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the origin is the host that the request names, and is let in as such. Its scheme does not matter:
    /// a proxy may add TLS.
    fn is_same_origin(&self, origin: &HeaderValue, request: &Parts) -> bool {
        let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, rest)| rest);
        let authority = authority.filter(|_| self.same_origin).and_then(Authority::parse);
        authority.is_some_and(|origin| named_host(request).is_ok_and(|host| Authority::parse(&host) == Some(origin)))
    }

    /// Returns whether web pages of this origin are let in.
    pub(crate) fn allows_origin(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().ok().and_then(Origin::parse);
        origin.is_some_and(|origin| self.origins.iter().any(|allowed| allowed.admits(&origin)))
    }
}

/// Returns the value of a header that a request has at most once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, HeadRefusal> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err((StatusCode::BAD_REQUEST, format!("the request has more than one `{name}` header")));
    }
    Ok(first)
}

/// Returns the host that a request names: in its `Host` header, its target (`:authority` of HTTP/2), or both alike.
/// Empty if it names none.
///
/// # Errors
///
/// Returns 400 if it names two.
pub(crate) fn named_host(request: &Parts) -> Result<String, HeadRefusal> {
    let header = single(&request.headers, &HOST)?.map(|host| host.to_str().unwrap_or_default());
    let target = request.uri.authority().map(http::uri::Authority::as_str);
    match (header, target) {
        (Some(header), Some(target)) if !header.eq_ignore_ascii_case(target) => {
            Err((StatusCode::BAD_REQUEST, "the request's `Host` header and its target name different hosts".to_owned()))
        }
        (header, target) => Ok(header.or(target).unwrap_or_default().to_owned()),
    }
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
            ("localhost:1", Some("http://localhost:evil.com"), false),
            ("localhost:1", Some("null"), false),
            ("localhost:1", Some("file://"), false),
        ];
        for (host, origin, expected) in cases {
            assert_eq!(allowed(HttpOptions::new(), host, origin), expected, "{host} {origin:?}");
        }
    }

    #[test]
    fn a_head_that_names_two_hosts_or_origins_is_refused() {
        let status = |headers: &[(HeaderName, &str)], target: &str| {
            let mut request = Request::builder().uri(target);
            for (name, value) in headers {
                request = request.header(name, *value);
            }
            let (parts, ()) = request.body(()).expect("a request").into_parts();
            Guard::new(&HttpOptions::new()).check(&parts).err().map(|(status, _)| status.as_u16())
        };
        for (headers, target, expected) in [
            (&[(HOST, "localhost"), (HOST, "localhost")][..], "/mcp", Some(400)),
            (&[(HOST, "localhost"), (HOST, "evil.example")], "/mcp", Some(400)),
            (&[(HOST, "localhost"), (ORIGIN, "http://localhost"), (ORIGIN, "http://evil.example")], "/mcp", Some(400)),
            (&[(HOST, "localhost")], "http://evil.example/mcp", Some(400)),
            (&[(HOST, "localhost")], "http://localhost/mcp", None),
            (&[], "http://localhost/mcp", None),
            (&[], "http://evil.example/mcp", Some(403)),
            (&[(HOST, "evil.com@127.0.0.1")], "/mcp", Some(403)),
        ] {
            assert_eq!(status(headers, target), expected, "{headers:?} {target}");
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
        let own =
            |options: HttpOptions, host: &str, origin: &str| allowed(options.allow_same_origin(), host, Some(origin));
        for (host, origin, expected) in [
            ("b.example", "https://b.example", true),
            ("b.example:9", "http://b.example:9", true),
            ("b.example:9", "https://b.example", false),
            ("b.example", "https://localhost.b.example", false),
            ("b.example", "https://b.example@evil.example", false),
            ("evil.example", "https://evil.example", false),
        ] {
            assert_eq!(own(options(), host, origin), expected, "{host} {origin}");
        }
        assert!(!allowed(options(), "b.example", Some("https://b.example")), "unless it is set");
        // A page that reaches the server through a name of its own (DNS rebinding) is of that origin.
        assert!(!own(options().allow_any_host(), "evil.example", "https://evil.example"));
    }
}
