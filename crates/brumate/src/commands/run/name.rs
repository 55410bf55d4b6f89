//! The name of a server, from the server's answer to `initialize`.

use std::ffi::OsStr;

use anyhow::{Context as _, bail};
use brumate_python_server::stdio::{StdioOptions, serve_stdio};
use brumate_python_server::{Announcement, StartedMachine};
use brumate_session::CancellationToken;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use super::launcher::ProgramLauncher;
use super::program::ServerProgram;
use super::sandbox_of;
use crate::cli::PythonServerOptions;
use crate::settings::Settings;

/// Longest answer to `initialize`, in bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// The first request of a client.
const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"brumate","version":"1"}}}"#,
    "\n"
);

/// Starts the server in the sandbox, and asks it for its name.
///
/// # Errors
///
/// The server does not start, serves HTTP, ends early, or refuses `initialize`.
pub(crate) async fn server_name(
    settings: &Settings,
    options: &PythonServerOptions,
    server: &OsStr,
) -> anyhow::Result<String> {
    let program = ServerProgram::new(&settings.mounts, options, server, &[])?;
    let sandbox = sandbox_of(settings, options)?;
    let launcher = ProgramLauncher::new(sandbox.runner.clone(), program, None, options.isolate);
    let first = StartedMachine::start(&launcher).await?;
    if !matches!(first.announcement, Announcement::Stdio { .. }) {
        first.control.kill();
        bail!("it serves HTTP");
    }
    let (near, far) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(near);
    let serving =
        serve_stdio(&launcher, first, tokio::io::split(far), StdioOptions::default(), CancellationToken::new());
    let (served, name) = tokio::join!(serving, ask(input, output));
    served?;
    name
}

/// Sends `initialize`, and returns the name in its answer.
async fn ask(
    input: impl tokio::io::AsyncRead + Unpin,
    mut output: impl tokio::io::AsyncWrite + Unpin,
) -> anyhow::Result<String> {
    output.write_all(INITIALIZE.as_bytes()).await?;
    let mut lines = BufReader::new(input).take(MAX_ANSWER);
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).await? == 0 {
            bail!("it has ended");
        }
        let message: serde_json::Value = serde_json::from_slice(&line)?;
        if message["id"] == 1 {
            output.shutdown().await?;
            let name = message["result"]["serverInfo"]["name"].as_str();
            return name.map(str::to_owned).context("it refuses `initialize`");
        }
    }
}
