//! Arguments of `client`.

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
