//! Options of the HTTP commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration;
use crate::env_vars;

/// Options of the HTTP commands.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "HTTP")]
pub(crate) struct HttpArgs {
    /// Address or host name to listen on [default: 127.0.0.1] [env: BRUMATE_HOST]
    #[arg(long, global = true, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 for any free port [default: 3001] [env: BRUMATE_PORT]
    #[arg(long, global = true, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// URL path of the endpoint [default: /mcp; for sse: /sse]
    #[arg(long, global = true, env = env_vars::HTTP_PATH, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Host name, with or without port, to accept in the `Host` header besides this machine's names; `*` for any; may be repeated
    #[arg(long, global = true, env = env_vars::ALLOW_HOST, value_name = "HOST", value_delimiter = ',')]
    pub(crate) allow_host: Vec<String>,
    /// Web origin that may use the server besides this machine's, such as `https://app.example.com`; may be repeated
    #[arg(long, global = true, hide_short_help = true, env = env_vars::ALLOW_ORIGIN, value_name = "ORIGIN", value_delimiter = ',')]
    pub(crate) allow_origin: Vec<String>,
    /// URL under which clients reach the server through a proxy, such as `https://example.com/tools`; accepts its host name, and is
    /// the base of the URLs that `sse` sends
    #[arg(long, global = true, env = env_vars::PUBLIC_URL, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Address or network (`10.0.0.0/8`) of a proxy whose `X-Forwarded-Prefix` header is trusted; may be repeated
    #[arg(long, global = true, hide_short_help = true, env = env_vars::TRUSTED_PROXY, value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) trusted_proxy: Vec<String>,
    /// File with hashes of bearer tokens (see `brumate token`); clients then need a token
    #[arg(long, global = true, env = env_vars::AUTH_TOKENS, value_name = "FILE")]
    pub(crate) auth_tokens: Option<PathBuf>,
    /// Authorization server (OAuth 2.1) whose access tokens are accepted, in addition to `--auth-tokens`; clients then need a token
    #[arg(long, global = true, env = env_vars::AUTH_ISSUER, value_name = "URL")]
    pub(crate) auth_issuer: Option<String>,
    /// URL of this server that access tokens must be issued for [default: `--public-url` with the endpoint's path]
    #[arg(long, global = true, hide_short_help = true, env = env_vars::AUDIENCE, value_name = "URL")]
    pub(crate) audience: Option<String>,
    /// Scope that access tokens must have; may be repeated
    #[arg(long, global = true, hide_short_help = true, env = env_vars::REQUIRED_SCOPE, value_name = "SCOPE", value_delimiter = ',')]
    pub(crate) required_scope: Vec<String>,
    /// Check access tokens at this introspection endpoint (RFC 7662), instead of by their signatures
    #[arg(long, global = true, hide_short_help = true, env = env_vars::INTROSPECT, value_name = "URL")]
    pub(crate) introspect: Option<String>,
    /// Client identifier for `--introspect`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::INTROSPECT_CLIENT, value_name = "ID", requires = "introspect_secret_file")]
    pub(crate) introspect_client: Option<String>,
    /// File with the client secret for `--introspect`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::INTROSPECT_SECRET_FILE, value_name = "FILE", requires = "introspect_client")]
    pub(crate) introspect_secret_file: Option<PathBuf>,
    /// Allow other machines to connect without tokens; everybody who reaches the server can run code
    #[arg(long, global = true, hide_short_help = true, env = env_vars::ALLOW_UNAUTHENTICATED)]
    pub(crate) allow_unauthenticated: bool,
    /// File with the certificate chain for TLS (PEM); needs `--tls-key`
    #[arg(long, global = true, env = env_vars::TLS_CERT, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// File with the private key for TLS (PEM)
    #[arg(long, global = true, hide_short_help = true, env = env_vars::TLS_KEY, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Also serve kernels to Jupyter's clients, at `/api`; each is a session in the sandbox
    #[arg(long, global = true, env = env_vars::JUPYTER)]
    pub(crate) jupyter: bool,
    /// Send the HTML, scripts and widgets of cells to Jupyter's clients as they are, for code that is trusted as much as the page that
    /// shows it; needs `--jupyter`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::JUPYTER_ACTIVE_OUTPUT)]
    pub(crate) jupyter_active_output: bool,
    /// Directory for MCP sessions and their unread messages, so that they survive a restart; for one server at a time
    /// [default: memory only]
    #[arg(long, global = true, hide_short_help = true, env = env_vars::EVENT_STORE, value_name = "DIR")]
    pub(crate) event_store: Option<PathBuf>,
    /// How long running calls may take to end at shutdown; then they are interrupted
    #[arg(long, global = true, hide_short_help = true, env = env_vars::DRAIN_TIMEOUT, default_value = "10s", value_name = "TIME", value_parser = duration)]
    pub(crate) drain_timeout: Duration,
}
