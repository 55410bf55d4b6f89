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
    /// Show the server's tools, resources and prompts
    List {
        #[command(flatten)]
        server: Connection,
    },
    /// Call a tool, and show its result
    Call {
        /// The tool's name
        tool: String,
        /// Arguments, as NAME=VALUE. A value that is JSON is passed as JSON, any other as a text
        #[arg(value_name = "NAME=VALUE", value_parser = pair)]
        arguments: Vec<(String, String)>,
        #[command(flatten)]
        server: Connection,
    },
    /// Read a resource, and write its contents to standard output
    Read {
        /// The resource's address
        uri: String,
        #[command(flatten)]
        server: Connection,
    },
    /// Ask for a prompt, and show its messages
    Prompt {
        /// The prompt's name
        name: String,
        /// Arguments, as NAME=VALUE
        #[arg(value_name = "NAME=VALUE", value_parser = pair)]
        arguments: Vec<(String, String)>,
        #[command(flatten)]
        server: Connection,
    },
    /// Forget the tokens that are kept for a server
    Logout {
        /// The server's address
        #[arg(value_name = "URL")]
        url: String,
    },
}

/// The server, and the options of the connection.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    /// Address of a server over streamable HTTP
    #[arg(id = "client_url", long = "url", value_name = "URL", required_unless_present_any = ["client_command", "client_sse"])]
    pub(crate) url: Option<String>,
    /// Address of a server over HTTP+SSE, the transport of 2024-11-05
    #[arg(id = "client_sse", long = "sse", value_name = "URL", conflicts_with = "client_url")]
    pub(crate) sse: Option<String>,
    /// Header of every request, as `NAME: VALUE`; may be given several times
    #[arg(id = "client_header", long = "header", value_name = "HEADER", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) authorization: ClientAuthorization,
    /// Variable of the server's environment, as NAME=VALUE; may be given several times
    #[arg(id = "client_env", long = "env", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) env: Vec<(String, String)>,
    /// Time that a request may take
    #[arg(id = "client_wait", long = "wait", value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) wait: Duration,
    /// Print JSON, as the protocol has it
    #[arg(id = "client_json", long = "json")]
    pub(crate) json: bool,
    /// Command that starts a server over standard input and output
    #[arg(id = "client_command", last = true, value_name = "COMMAND", conflicts_with_all = ["client_url", "client_sse"])]
    pub(crate) command: Vec<String>,
}

/// How to get tokens for a server over HTTP.
#[derive(Debug, Args)]
#[command(next_help_heading = "Authorization")]
pub(crate) struct ClientAuthorization {
    /// File with a bearer token for the server; otherwise OAuth is used when the server asks for it [env: BRUMATE_CLIENT_TOKEN, the token itself]
    #[arg(id = "client_token_file", long = "token-file", value_name = "FILE", conflicts_with_all = ["client_id", "client_scope"])]
    pub(crate) token_file: Option<PathBuf>,
    /// Identifier that the server's authorization server has given the client; otherwise the client registers itself
    #[arg(id = "client_id", long = "client-id", value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// File with the secret that came with the identifier
    #[arg(id = "client_secret_file", long = "client-secret-file", value_name = "FILE", requires = "client_id")]
    pub(crate) client_secret_file: Option<PathBuf>,
    /// Scope to ask for besides those that the server names; may be given several times
    #[arg(id = "client_scope", long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Print the page to open on standard error, and open no browser
    #[arg(id = "client_no_browser", long = "no-browser")]
    pub(crate) no_browser: bool,
}

/// Splits `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it is no NAME=VALUE".to_owned()),
    }
}

/// Splits `NAME: VALUE`.
fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err("it is no `NAME: VALUE`".to_owned()),
    }
}
