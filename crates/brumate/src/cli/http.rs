//! Options of the HTTP modes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration;
use crate::env_vars;

/// How HTTP modes serve.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "HTTP")]
pub(crate) struct HttpArgs {
    /// Address to listen at [default: 127.0.0.1] [env: BRUMATE_HOST]
    #[arg(long, global = true, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Port to listen at; 0 is any free one [default: 3001] [env: BRUMATE_PORT]
    #[arg(long, global = true, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Path of the endpoint [default: /mcp; of sse: /sse]
    #[arg(long, global = true, env = env_vars::HTTP_PATH, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Host name, or name and port, under which clients reach the server, beside this machine's own; `*`: any; may be given
    /// several times
    #[arg(long, global = true, env = env_vars::ALLOW_HOST, value_name = "HOST", value_delimiter = ',')]
    pub(crate) allow_host: Vec<String>,
    /// Web pages that may use the server, such as `https://app.example.com`, beside those of this machine; may be given several
    /// times
    #[arg(long, global = true, hide_short_help = true, env = env_vars::ALLOW_ORIGIN, value_name = "ORIGIN", value_delimiter = ',')]
    pub(crate) allow_origin: Vec<String>,
    /// URL under which clients reach the server through a proxy, such as `https://example.com/tools`: its host is let in, and `sse`
    /// names its addresses below its path
    #[arg(long, global = true, env = env_vars::PUBLIC_URL, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Address or network (`10.0.0.0/8`) of a proxy whose `X-Forwarded-Prefix` is believed; may be given several times
    #[arg(long, global = true, hide_short_help = true, env = env_vars::TRUSTED_PROXY, value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) trusted_proxy: Vec<String>,
    /// File with the hashes of tokens (`brumate token`); clients then need one
    #[arg(long, global = true, env = env_vars::AUTH_TOKENS, value_name = "FILE")]
    pub(crate) auth_tokens: Option<PathBuf>,
    /// Authorization server (OAuth 2.1) whose access tokens are accepted, beside those of `--auth-tokens`; clients then need a token
    #[arg(long, global = true, env = env_vars::AUTH_ISSUER, value_name = "URL")]
    pub(crate) auth_issuer: Option<String>,
    /// URL of this server, which access tokens must be issued for [default: the `--public-url` with the path of the endpoint]
    #[arg(long, global = true, hide_short_help = true, env = env_vars::AUDIENCE, value_name = "URL")]
    pub(crate) audience: Option<String>,
    /// Scope that access tokens must have; may be given several times
    #[arg(long, global = true, hide_short_help = true, env = env_vars::REQUIRED_SCOPE, value_name = "SCOPE", value_delimiter = ',')]
    pub(crate) required_scope: Vec<String>,
    /// Ask at this URL about access tokens (RFC 7662), in place of checking their signatures
    #[arg(long, global = true, hide_short_help = true, env = env_vars::INTROSPECT, value_name = "URL")]
    pub(crate) introspect: Option<String>,
    /// Client identifier for `--introspect`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::INTROSPECT_CLIENT, value_name = "ID", requires = "introspect_secret_file")]
    pub(crate) introspect_client: Option<String>,
    /// File with the client secret for `--introspect`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::INTROSPECT_SECRET_FILE, value_name = "FILE", requires = "introspect_client")]
    pub(crate) introspect_secret_file: Option<PathBuf>,
    /// Listen beyond this machine without tokens: everybody who reaches the server may use it
    #[arg(long, global = true, hide_short_help = true, env = env_vars::ALLOW_UNAUTHENTICATED)]
    pub(crate) allow_unauthenticated: bool,
    /// Chain of certificates for TLS (PEM)
    #[arg(long, global = true, env = env_vars::TLS_CERT, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key for TLS (PEM)
    #[arg(long, global = true, hide_short_help = true, env = env_vars::TLS_KEY, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Directory for sessions of the protocol and what their clients have not read, so that clients lose neither when the server
    /// ends; used by one server at a time
    #[arg(long, global = true, hide_short_help = true, env = env_vars::EVENT_STORE, value_name = "DIR")]
    pub(crate) event_store: Option<PathBuf>,
    /// How long calls may go on when the server is asked to end; then they are interrupted
    #[arg(long, global = true, hide_short_help = true, env = env_vars::DRAIN_TIMEOUT, default_value = "10s", value_name = "TIME", value_parser = duration)]
    pub(crate) drain_timeout: Duration,
}
