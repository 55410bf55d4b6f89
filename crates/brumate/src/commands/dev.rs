//! `brumate dev`: runs an MCP server under the Inspector of the protocol, which is an npm package.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use brumate_session::CancellationToken;
use clap::ArgMatches;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::print_error;
use super::run::environment;
use super::variables_file::{VariablesFile, WITH_VARIABLES};
use crate::cli::{DevArgs, TransportArg, forwarded};
use crate::exit_status;
use crate::signals::Signals;

/// The Inspector.
const PACKAGE: &str = "@modelcontextprotocol/inspector";
/// Oldest Node that runs it: major and minor version.
const OLDEST_NODE: (u32, u32) = (22, 19);
/// Time from SIGINT to SIGKILL when the Inspector is to end.
const GRACE: Duration = Duration::from_secs(5);
/// Time between two checks whether its processes have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(crate) async fn run(arguments: &DevArgs, matches: &ArgMatches) -> anyhow::Result<u8> {
    // The file lives as long as the Inspector, which may start the server again.
    let (command, _variables) = match inspector(arguments, matches).await {
        Ok(prepared) => prepared,
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            return Ok(exit_status::FAILURE);
        }
    };
    let cancel = CancellationToken::new();
    let work = supervise(command, cancel.clone());
    let (status, signalled) = Signals::listen()?.guard(&cancel, work).await;
    let status = status.unwrap_or_else(|error| {
        print_error(&format!("brumate: {error:#}"));
        exit_status::FAILURE
    });
    Ok(signalled.unwrap_or(status))
}

/// Runs the Inspector to its end, in a process group of its own: a signal to npm alone may leave what npm has started.
async fn supervise(mut command: Command, cancel: CancellationToken) -> anyhow::Result<u8> {
    let mut hangup = signal(SignalKind::hangup())?;
    let child = command.process_group(0).kill_on_drop(true).spawn();
    let mut child = child.context("cannot start `npx`, which belongs to Node.js")?;
    let status = tokio::select! {
        status = child.wait() => status?,
        () = cancel.cancelled() => end(&mut child).await?,
        // The terminal tells its own process groups only.
        _ = hangup.recv() => end(&mut child).await?,
    };
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit_status::FAILURE))
}

/// Ends a child process and its process group.
async fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    let Some(group) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) else { return child.wait().await };
    // At SIGTERM npm leaves what it has started. A group that has ended is not there any more, here and below.
    let _ = kill_process_group(group, Signal::INT);
    let ended = async {
        let status = child.wait().await;
        while test_kill_process_group(group).is_ok() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        status
    };
    if let Ok(status) = tokio::time::timeout(GRACE, ended).await {
        return status;
    }
    let _ = kill_process_group(group, Signal::KILL);
    child.wait().await
}

/// Returns the command that starts the Inspector with the server, and the file with the server's variables.
async fn inspector(arguments: &DevArgs, matches: &ArgMatches) -> anyhow::Result<(Command, VariablesFile)> {
    if arguments.options.transport.is_some_and(|transport| transport != TransportArg::Stdio) {
        bail!(
            "`--transport`: the Inspector starts the server over standard input and output; use `brumate run` for HTTP"
        );
    }
    check_node().await?;
    let variables = VariablesFile::new(&environment::variables(&arguments.options)?)?;
    let mut command = Command::new("npx");
    command.arg("-y").arg(format!("{PACKAGE}@{}", arguments.inspector)).arg("--web");
    command.arg("--cwd").arg(std::env::current_dir().context("there is no working directory")?);
    command.args(server_command(arguments, matches, variables.path())?);
    command.stdin(Stdio::null());
    Ok((command, variables))
}

/// Returns the command of the server, which reads its variables from a file: every user of the machine sees command lines. The Inspector
/// takes its own options before it; target options stand after `--`.
fn server_command(
    arguments: &DevArgs,
    matches: &ArgMatches,
    variables: Option<&Path>,
) -> anyhow::Result<Vec<OsString>> {
    let Some(server) = &arguments.server else {
        let mut words = arguments.command.iter().cloned();
        let program = words.next().context("`--` is followed by no command")?;
        let Some(variables) = variables else { return Ok([program, "--".into()].into_iter().chain(words).collect()) };
        let this = std::env::current_exe().context("the path of this program is unknown")?;
        let line = [this.into(), "--".into(), WITH_VARIABLES.into(), variables.into(), program];
        return Ok(line.into_iter().chain(words).collect());
    };
    let file = forwarded::absolute(Path::new(server));
    if !super::run::names_file(&file) {
        bail!("cannot read {}", file.display());
    }
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let mut line: Vec<OsString> = vec![program.into(), "--".into(), "run".into(), "--watch".into()];
    line.extend(forwarded::shared_options(matches, "run"));
    line.extend(forwarded::server_options(&arguments.options, &[]));
    if let Some(variables) = variables {
        line.extend(["--env-file".into(), variables.into()]);
    }
    line.push(file.into());
    if !arguments.command.is_empty() {
        line.push("--".into());
        line.extend(arguments.command.iter().cloned());
    }
    Ok(line)
}

/// Checks that there is a Node that runs the Inspector.
async fn check_node() -> anyhow::Result<()> {
    let (major, minor) = OLDEST_NODE;
    let fix = format!("`brumate dev` needs Node.js {major}.{minor} or newer with npm: https://nodejs.org");
    let output = Command::new("node").arg("--version").stdin(Stdio::null()).output().await;
    let output = output.with_context(|| format!("cannot start `node`; {fix}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match version(&text) {
        Some(found) if found >= OLDEST_NODE => Ok(()),
        _ => bail!("`node --version` says {:?}; {fix}", text.trim()),
    }
}

/// Parses `v22.19.0`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_node_are_compared() {
        assert!(version("v22.19.0\n") >= Some(OLDEST_NODE));
        assert!(version("v24.0.1") >= Some(OLDEST_NODE));
        for old in ["v22.18.9", "v20.20.2", "", "22.19.0", "vx"] {
            assert!(version(old) < Some(OLDEST_NODE), "{old}");
        }
    }
}
