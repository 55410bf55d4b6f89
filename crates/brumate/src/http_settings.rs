//! What the command line means for HTTP.

use std::path::PathBuf;
use std::time::Duration;

use brumate_server::http::{HttpSettings, Transport};
use brumate_session::units::format_duration;

use crate::cli::{HttpArgs, Mode};
use crate::env_vars;
use crate::settings::{Environment, within};

/// Where HTTP modes listen, when nothing else is said.
const DEFAULT_HOST: &str = "127.0.0.1";
pub(crate) const DEFAULT_PORT: u16 = 3001;
/// Longest time for calls when the server ends.
const MAX_DRAIN: Duration = Duration::from_secs(60 * 60);

/// A service, not yet listening.
#[derive(Debug, Clone)]
pub(crate) struct HttpService {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Nobody needs a token, wherever the server listens.
    pub(crate) allow_unauthenticated: bool,
    pub(crate) tokens: Option<PathBuf>,
    /// Certificates and key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) event_store: Option<PathBuf>,
    pub(crate) serving: HttpSettings,
}

/// What the options mean; `None` in modes that are not HTTP.
///
/// # Errors
///
/// A text that says which option is wrong and what is possible.
pub(crate) fn resolve(mode: &Mode, args: &HttpArgs, environment: &Environment) -> Result<Option<HttpService>, String> {
    let transport = match mode {
        Mode::StreamableHttp => Transport::Streamable,
        Mode::StreamableHttpStateless => Transport::Stateless,
        Mode::Sse => Transport::Sse,
        _ if args.port.is_some() || args.host.is_some() => {
            return Err("`--port` and `--host` need an HTTP mode: `streamable-http`, for example".to_owned());
        }
        _ => return Ok(None),
    };
    let port = match (args.port, &environment.port) {
        (Some(port), _) => port,
        (None, Some(text)) => text.parse().map_err(|_| format!("{} is no port: `{text}`", env_vars::PORT))?,
        (None, None) => DEFAULT_PORT,
    };
    let host = args.host.clone().or_else(|| environment.host.clone()).unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificates), Some(key)) => Some((certificates.clone(), key.clone())),
        (None, None) => None,
        _ => return Err("`--tls-cert` and `--tls-key` need each other".to_owned()),
    };
    if args.auth_tokens.is_some() && args.allow_unauthenticated {
        return Err("`--auth-tokens` and `--allow-unauthenticated` exclude each other".to_owned());
    }
    let mut serving = HttpSettings::new(transport);
    if let Some(path) = &args.path {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~');
        let taken = ["/healthz", "/readyz", "/metrics"].contains(&path.as_str());
        if path.len() < 2 || !path.starts_with('/') || path.ends_with('/') || !path.bytes().all(fits) || taken {
            return Err(format!("`--path` must be like `/mcp`: letters, digits, `/-_.~`, and free, not `{path}`"));
        }
        if transport == Transport::Sse && path == "/mcp" {
            return Err("`--path` of `sse` must not be `/mcp`, where streamable HTTP is".to_owned());
        }
        serving.path = Some(path.clone());
    }
    serving.allow_hosts.clone_from(&args.allow_host);
    // Whoever is told to listen at a name is reached under it.
    let own = host.clone();
    if !matches!(own.as_str(), "0.0.0.0" | "::" | "[::]") {
        serving.allow_hosts.push(if own.contains(':') && !own.starts_with('[') { format!("[{own}]") } else { own });
    }
    serving.allow_origins.clone_from(&args.allow_origin);
    serving.public_url.clone_from(&args.public_url);
    serving.trusted_proxies.clone_from(&args.trusted_proxy);
    serving.options().map_err(|error| format!("`--public-url` or `--trusted-proxy`: {error}"))?;
    if args.event_store.is_some() && transport == Transport::Stateless {
        return Err(
            "`--event-store` keeps sessions of the protocol, and `streamable-http-stateless` has none".to_owned()
        );
    }
    serving.drain = within("--drain-timeout", args.drain_timeout, Duration::ZERO..=MAX_DRAIN, format_duration)?;
    let (tokens, allow_unauthenticated) = (args.auth_tokens.clone(), args.allow_unauthenticated);
    let event_store = args.event_store.clone();
    Ok(Some(HttpService { host, port, allow_unauthenticated, tokens, tls, event_store, serving }))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn resolved(line: &[&str], environment: &Environment) -> Result<Option<HttpService>, String> {
        let cli = Cli::try_parse_from(["brumate"].iter().chain(line)).unwrap();
        resolve(&cli.mode, &cli.http, environment)
    }

    #[test]
    fn the_defaults_are_the_documented_ones() {
        let none = Environment::default();
        let http = resolved(&["streamable_http"], &none).unwrap().unwrap();
        assert_eq!((http.host.as_str(), http.port, http.serving.path()), ("127.0.0.1", 3001, "/mcp"));
        assert!(http.tokens.is_none() && !http.allow_unauthenticated && http.tls.is_none());
        assert_eq!(resolved(&["sse"], &none).unwrap().unwrap().serving.path(), "/sse");
        let set = Environment { host: Some("::1".into()), port: Some("0".into()), ..none };
        let http = resolved(&["streamable-http-stateless"], &set).unwrap().unwrap();
        assert_eq!((http.host.as_str(), http.port, http.serving.allow_hosts), ("::1", 0, vec!["[::1]".to_owned()]));
        assert!(resolved(&["stdio"], &set).unwrap().is_none());
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (line, part) in [
            (vec!["stdio", "--host", "::"], "need an HTTP mode"),
            (vec!["streamable-http", "--tls-cert", "a"], "need each other"),
            (vec!["streamable-http", "--path", "mcp"], "`--path` must be like"),
            (vec!["streamable-http", "--path", "/metrics"], "free"),
            (vec!["sse", "--path", "/mcp"], "must not be `/mcp`"),
            (vec!["sse", "--public-url", "example.com"], "no URL like"),
            (vec!["sse", "--public-url", "https://user@example.com/"], "no URL like"),
            (vec!["sse", "--trusted-proxy", "proxy.example"], "no address"),
            (vec!["streamable-http-stateless", "--event-store", "a"], "has none"),
            (vec!["sse", "--auth-tokens", "a", "--allow-unauthenticated"], "exclude each other"),
        ] {
            let error = resolved(&line, &Environment::default()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
