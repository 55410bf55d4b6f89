//! Arguments of `client`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::duration;

/// Arguments of `client`.
#[derive(Debug, Args)]
pub(crate) struct ClientArgs {
    #[command(subcommand)]
    pub(crate) action: ClientAction,
}

/// The actions of `client`.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientAction {
    /// List the server's tools, resources and prompts
    List {
        #[command(flatten)]
        server: ServerOptions,
    },
    /// Call a tool and print its result
    Call {
        /// Name of the tool
        tool: String,
        /// Arguments of the tool; a value that is valid JSON is passed as JSON, any other as a string
        #[arg(value_name = "NAME=VALUE", value_parser = pair)]
        arguments: Vec<(String, String)>,
        #[command(flatten)]
        server: ServerOptions,
    },
    /// Read a resource and write its content to standard output
    Read {
        /// URI of the resource
        uri: String,
        #[command(flatten)]
        server: ServerOptions,
    },
    /// Get a prompt and print its messages
    Prompt {
        /// Name of the prompt
        name: String,
        /// Arguments of the prompt
        #[arg(value_name = "NAME=VALUE", value_parser = pair)]
        arguments: Vec<(String, String)>,
        #[command(flatten)]
        server: ServerOptions,
    },
    /// Delete the stored tokens for a server
    Logout {
        /// URL of the server
        #[arg(value_name = "URL")]
        url: String,
    },
}

/// The server, and options of the connection.
#[derive(Debug, Args)]
pub(crate) struct ServerOptions {
    /// URL of a server with streamable HTTP
    #[arg(id = "client_url", long = "url", value_name = "URL", required_unless_present_any = ["client_command", "client_sse"])]
    pub(crate) url: Option<String>,
    /// URL of a server with HTTP+SSE, the transport of protocol 2024-11-05
    #[arg(id = "client_sse", long = "sse", value_name = "URL", conflicts_with = "client_url")]
    pub(crate) sse: Option<String>,
    /// HTTP header to send with every request, as `NAME: VALUE`; may be repeated
    #[arg(id = "client_header", long = "header", value_name = "HEADER", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) authorization: ClientAuthorization,
    /// Environment variable for the server process; may be repeated
    #[arg(id = "client_env", long = "env", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) env: Vec<(String, String)>,
    /// Time limit of a request
    #[arg(id = "client_wait", long = "wait", value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) wait: Duration,
    /// Print the protocol's JSON
    #[arg(id = "client_json", long = "json")]
    pub(crate) json: bool,
    /// Command that starts a server over standard input and output
    #[arg(id = "client_command", last = true, value_name = "COMMAND", conflicts_with_all = ["client_url", "client_sse"])]
    pub(crate) command: Vec<String>,
}

/// Options for tokens of a server over HTTP.
#[derive(Debug, Args)]
#[command(next_help_heading = "Authorization")]
pub(crate) struct ClientAuthorization {
    /// File with a bearer token for the server [default: OAuth, if the server requires it] [env: BRUMATE_CLIENT_TOKEN=<token>]
    #[arg(id = "client_token_file", long = "token-file", value_name = "FILE", conflicts_with_all = ["client_id", "client_scope"])]
    pub(crate) token_file: Option<PathBuf>,
    /// OAuth client identifier from the authorization server [default: the client registers itself]
    #[arg(id = "client_id", long = "client-id", value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// File with the secret of `--client-id`; it needs `--client-issuer`
    #[arg(id = "client_secret_file", long = "client-secret-file", value_name = "FILE", requires = "client_id")]
    pub(crate) client_secret_file: Option<PathBuf>,
    /// Authorization server that issued `--client-id`; its secret is sent to no other [default: without a secret, the first that the server names]
    #[arg(id = "client_issuer", long = "client-issuer", value_name = "URL", requires = "client_id")]
    pub(crate) client_issuer: Option<String>,
    /// OAuth scope to request, in addition to those that the server names; may be repeated
    #[arg(id = "client_scope", long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Print the URL of the authorization page to standard error instead of opening a browser
    #[arg(id = "client_no_browser", long = "no-browser")]
    pub(crate) no_browser: bool,
}

/// Parses `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Parses `NAME: VALUE`.
fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err("expected `NAME: VALUE`".to_owned()),
    }
}
