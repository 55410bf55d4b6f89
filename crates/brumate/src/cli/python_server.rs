//! Arguments of the commands for MCP servers that are written in Python.

use std::ffi::OsString;
use std::path::PathBuf;

use brumate_mcp_clients::Client;
use clap::{Args, ValueEnum};

/// A transport of `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportArg {
    /// Standard input and output
    Stdio,
    /// The HTTP+SSE transport of 2024-11-05
    Sse,
    /// Streamable HTTP
    #[value(alias = "http")]
    StreamableHttp,
    /// Streamable HTTP without sessions
    StreamableHttpStateless,
}

impl TransportArg {
    /// Returns its name on the command line and in the guest.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Sse => "sse",
            Self::StreamableHttp => "streamable-http",
            Self::StreamableHttpStateless => "streamable-http-stateless",
        }
    }
}

/// The clients that share one interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum IsolateArg {
    /// All clients of the server
    #[default]
    Server,
    /// One session of one client, over HTTP
    Session,
}

/// Options of the server in the sandbox.
#[derive(Debug, Args)]
pub(crate) struct PythonServerOptions {
    /// Transport to serve, in place of the one that the program names
    #[arg(short, long, value_enum, value_name = "TRANSPORT")]
    pub(crate) transport: Option<TransportArg>,
    /// Package that the server needs, besides those that it imports or states; may be repeated
    #[arg(long, value_name = "REQUIREMENT")]
    pub(crate) with: Vec<String>,
    /// Directory of a Python project whose modules the server imports; its requirements are installed; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) with_editable: Vec<PathBuf>,
    /// Environment variable of the server; without `=VALUE` it has the value that it has here; may be repeated
    #[arg(short = 'v', long = "env-var", value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// File with environment variables of the server (`.env`); those of `--env-var` take precedence; may be repeated
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
    /// Clients that share one interpreter: all of the server, or those of one session over HTTP
    #[arg(long, value_enum, default_value_t, value_name = "UNIT")]
    pub(crate) isolate: IsolateArg,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) options: PythonServerOptions,
    /// Start the server again when its file changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// File of the server, and the global name of the server in it; without a name the file serves by itself, or the server is called
    /// `mcp`, `server` or `app`
    #[arg(value_name = "FILE[:OBJECT]")]
    pub(crate) server: OsString,
    /// Arguments of the program, after `--`
    #[arg(value_name = "ARGUMENTS", last = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// Arguments of `dev`.
#[derive(Debug, Args)]
pub(crate) struct DevArgs {
    #[command(flatten)]
    pub(crate) options: PythonServerOptions,
    /// Version of the Inspector, as npm understands it
    #[arg(long, default_value = "2", value_name = "VERSION")]
    pub(crate) inspector: String,
    /// File of the server, and the global name of the server in it, as for `run`
    #[arg(value_name = "FILE[:OBJECT]", required_unless_present = "command")]
    pub(crate) server: Option<OsString>,
    /// Arguments of the program; without a file, the command of another server
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
}

/// Arguments of `install`.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) options: PythonServerOptions,
    /// Client to install the server in
    #[arg(long, default_value = "claude-desktop", value_name = "CLIENT", value_parser = client)]
    pub(crate) client: Client,
    /// Name of the server in the client [default: the server's own name, or its file's]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Show the change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove the server from the client
    #[arg(long)]
    pub(crate) remove: bool,
    /// File of the server, and the global name of the server in it, as for `run`
    #[arg(value_name = "FILE[:OBJECT]", required_unless_present_any = ["command", "remove"])]
    pub(crate) server: Option<OsString>,
    /// Arguments of the program; without a file, the command of another server
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
}

/// Parses the name of a client.
fn client(text: &str) -> Result<Client, String> {
    text.parse().map_err(|error: brumate_mcp_clients::UnknownClient| error.to_string())
}
