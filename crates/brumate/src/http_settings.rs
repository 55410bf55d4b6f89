//! Makes the settings of the HTTP commands from the command line.

use std::path::PathBuf;
use std::time::Duration;

use brumate::ranges::check_range;
use brumate_jupyter::OutputPolicy;
use brumate_server::http::{HttpSettings, IntrospectionSettings, KERNEL_API, OAuthSettings, Secret, Transport};
use brumate_session::units::format_duration;

use crate::cli::{HttpArgs, Mode};
use crate::env_vars;
use crate::environment::Environment;
use crate::secret_file::read_secret;

/// Default address of HTTP servers.
const DEFAULT_HOST: &str = "127.0.0.1";
/// Default port of HTTP servers.
pub(crate) const DEFAULT_PORT: u16 = 3001;
/// Largest value of `--drain-timeout`.
const MAX_DRAIN: Duration = Duration::from_secs(60 * 60);

/// Settings of an HTTP server. Files are not opened yet.
#[derive(Debug, Clone)]
pub(crate) struct HttpServerSettings {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Whether the user has named the host, and the port. A server in the sandbox names its own otherwise.
    pub(crate) given: (bool, bool),
    /// Whether other machines may connect without tokens.
    pub(crate) allow_unauthenticated: bool,
    pub(crate) tokens: Option<PathBuf>,
    /// Files with the certificate chain and the private key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) event_store: Option<PathBuf>,
    /// Treatment of outputs of Jupyter kernels. `None`: kernels are not served.
    pub(crate) kernels: Option<OutputPolicy>,
    pub(crate) serving: HttpSettings,
}

impl HttpServerSettings {
    /// Returns whether clients have tokens, so that they are different principals.
    pub(crate) fn has_principals(&self) -> bool {
        self.tokens.is_some() || self.serving.oauth.is_some()
    }
}

/// Makes the settings. Returns `None` for commands without HTTP.
///
/// # Errors
///
/// A text with the wrong option, and what is possible.
pub(crate) fn resolve(
    mode: &Mode,
    args: &HttpArgs,
    environment: &Environment,
) -> Result<Option<HttpServerSettings>, String> {
    let transport = match mode {
        Mode::StreamableHttp => Transport::Streamable,
        Mode::StreamableHttpStateless => Transport::Stateless,
        Mode::Sse => Transport::Sse,
        // The server in the sandbox knows its transport and its paths.
        Mode::Run(_) => Transport::Streamable,
        _ if args.port.is_some() || args.host.is_some() => {
            return Err("`--port` and `--host` need an HTTP command, such as `streamable-http`".to_owned());
        }
        _ => return Ok(None),
    };
    let given = (args.host.is_some() || environment.host.is_some(), args.port.is_some() || environment.port.is_some());
    let port = match (args.port, &environment.port) {
        (Some(port), _) => port,
        (None, Some(text)) => text
            .parse()
            .map_err(|_| format!("{}: `{text}` is not a port; use a number from 0 to 65535", env_vars::PORT))?,
        (None, None) => DEFAULT_PORT,
    };
    let host = args.host.clone().or_else(|| environment.host.clone()).unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificates), Some(key)) => Some((certificates.clone(), key.clone())),
        (None, None) => None,
        _ => return Err("`--tls-cert` and `--tls-key` must be used together".to_owned()),
    };
    for (given, flag) in [(args.auth_tokens.is_some(), "--auth-tokens"), (args.auth_issuer.is_some(), "--auth-issuer")]
    {
        if given && args.allow_unauthenticated {
            return Err(format!("`{flag}` and `--allow-unauthenticated` exclude each other; remove one of them"));
        }
    }
    let mut serving = HttpSettings::new(transport);
    if let Some(path) = &args.path {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~');
        let taken = ["/healthz", "/readyz", "/metrics"].contains(&path.as_str());
        if path.len() < 2 || !path.starts_with('/') || path.ends_with('/') || !path.bytes().all(fits) || taken {
            return Err(format!(
                "`--path` must be a path such as `/mcp`, of letters, digits and `/-_.~`, and not a reserved one; `{path}` is not allowed"
            ));
        }
        if transport == Transport::Sse && path == "/mcp" {
            return Err("`--path` of `sse` must not be `/mcp`: streamable HTTP uses that path".to_owned());
        }
        let is_of_kernels = path.strip_prefix(KERNEL_API).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if args.jupyter && is_of_kernels {
            return Err(format!("`--path` must not be below `{KERNEL_API}` with `--jupyter`: kernels have that path"));
        }
        serving.path = Some(path.clone());
    }
    serving.allow_hosts.clone_from(&args.allow_host);
    // Clients use the name of `--host` in the `Host` header.
    serving.allow_hosts.extend(host_header(&host));
    serving.allow_origins.clone_from(&args.allow_origin);
    serving.public_url.clone_from(&args.public_url);
    serving.trusted_proxies.clone_from(&args.trusted_proxy);
    serving.options().map_err(|error| format!("`--public-url` or `--trusted-proxy`: {error}"))?;
    serving.oauth = oauth(args, &serving)?;
    serving.options().map_err(|error| format!("`--auth-issuer`: {error}"))?;
    if args.event_store.is_some() && transport == Transport::Stateless {
        return Err(
            "`--event-store` stores MCP sessions, but `streamable-http-stateless` has none; remove it".to_owned()
        );
    }
    serving.drain = check_range("--drain-timeout", args.drain_timeout, Duration::ZERO..=MAX_DRAIN, format_duration)?;
    let (tokens, allow_unauthenticated) = (args.auth_tokens.clone(), args.allow_unauthenticated);
    let event_store = args.event_store.clone();
    let kernels = match (args.jupyter, args.jupyter_active_output) {
        // Only these commands have the options; a variable may be set for all.
        _ if matches!(mode, Mode::Run(_)) => None,
        (false, true) => {
            return Err(
                "`--jupyter-active-output` needs `--jupyter`, which serves kernels to Jupyter's clients".to_owned()
            );
        }
        (false, false) => None,
        (true, true) => Some(OutputPolicy::Active),
        (true, false) => Some(OutputPolicy::Passive),
    };
    Ok(Some(HttpServerSettings {
        host,
        port,
        given,
        allow_unauthenticated,
        tokens,
        tls,
        event_store,
        kernels,
        serving,
    }))
}

/// Returns the value of the `Host` header with which clients name an address to listen on. `None` for all addresses.
pub(crate) fn host_header(host: &str) -> Option<String> {
    match host {
        "0.0.0.0" | "::" | "[::]" => None,
        _ if host.contains(':') && !host.starts_with('[') => Some(format!("[{host}]")),
        _ => Some(host.to_owned()),
    }
}

/// Returns the settings of OAuth. `None` without `--auth-issuer`.
fn oauth(args: &HttpArgs, serving: &HttpSettings) -> Result<Option<OAuthSettings>, String> {
    let Some(issuer) = &args.auth_issuer else {
        let alone = [
            (args.audience.is_some(), "--audience"),
            (!args.required_scope.is_empty(), "--required-scope"),
            (args.introspect.is_some(), "--introspect"),
        ];
        return match alone.into_iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(format!("`{flag}` needs `--auth-issuer`: the URL of the authorization server")),
            None => Ok(None),
        };
    };
    let audience = match (&args.audience, &args.public_url) {
        (Some(audience), _) => audience.clone(),
        (None, Some(url)) => format!("{}{}", url.trim_end_matches('/'), serving.path()),
        (None, None) => {
            return Err(
                "`--auth-issuer` needs `--audience`: the URL of this server for which tokens are issued, such as \
                        https://mcp.example.com/mcp"
                    .to_owned(),
            );
        }
    };
    let mut oauth = OAuthSettings::new(issuer, audience);
    oauth.scopes.clone_from(&args.required_scope);
    if let Some(url) = &args.introspect {
        let client = match (&args.introspect_client, &args.introspect_secret_file) {
            (Some(id), Some(file)) => Some((id.clone(), Secret::new(read_secret(file, "--introspect-secret-file")?))),
            _ => None,
        };
        oauth.introspection = Some(IntrospectionSettings { url: url.clone(), client });
    }
    Ok(Some(oauth))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn resolved(line: &[&str], environment: &Environment) -> Result<Option<HttpServerSettings>, String> {
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
    fn tokens_are_for_the_public_url_unless_an_audience_is_named() {
        let oauth = |line: &[&str]| {
            let line = [&["streamable-http", "--auth-issuer", "https://auth.example"], line].concat();
            resolved(&line, &Environment::default()).unwrap().unwrap().serving.oauth.unwrap()
        };
        assert_eq!(oauth(&["--public-url", "https://example.com/tools/"]).audience, "https://example.com/tools/mcp");
        let oauth = oauth(&[
            "--audience",
            "https://a.example/x",
            "--required-scope",
            "mcp,run",
            "--public-url",
            "https://b.example",
        ]);
        assert_eq!(
            (oauth.audience.as_str(), oauth.scopes),
            ("https://a.example/x", vec!["mcp".to_owned(), "run".to_owned()])
        );
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (line, part) in [
            (vec!["stdio", "--host", "::"], "need an HTTP command"),
            (vec!["streamable-http", "--tls-cert", "a"], "must be used together"),
            (vec!["streamable-http", "--path", "mcp"], "`--path` must be a path such as"),
            (vec!["streamable-http", "--path", "/metrics"], "reserved"),
            (vec!["sse", "--path", "/mcp"], "must not be `/mcp`"),
            (vec!["sse", "--path", "/api/mcp", "--jupyter"], "must not be below `/api`"),
            (vec!["sse", "--jupyter-active-output"], "needs `--jupyter`"),
            (vec!["sse", "--public-url", "example.com"], "no URL like"),
            (vec!["sse", "--public-url", "https://user@example.com/"], "no URL like"),
            (vec!["sse", "--trusted-proxy", "proxy.example"], "no address"),
            (vec!["streamable-http-stateless", "--event-store", "a"], "has none"),
            (vec!["sse", "--auth-tokens", "a", "--allow-unauthenticated"], "exclude each other"),
            (vec!["sse", "--auth-issuer", "https://a.example", "--allow-unauthenticated"], "exclude each other"),
            (vec!["sse", "--auth-issuer", "https://a.example"], "needs `--audience`"),
            (vec!["sse", "--audience", "https://a.example"], "needs `--auth-issuer`"),
            (vec!["sse", "--auth-issuer", "https://a.example", "--audience", "mcp"], "relative URL"),
        ] {
            let error = resolved(&line, &Environment::default()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
