//! Servers as child processes, over their standard input and output.

use super::error::ClientError;
use super::lines::LineTransport;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// The environment variables of this process that a child process gets. Others may be secrets.
pub const INHERITED_VARIABLES: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// How long a child has to end after the end of its input, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// A command that starts a server.
#[derive(Clone, Debug)]
pub(super) struct ServerCommand {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) inherit_environment: bool,
    pub(super) directory: Option<PathBuf>,
    pub(super) is_quiet: bool,
}

impl ServerCommand {
    pub(super) fn new(program: OsString, arguments: Vec<OsString>) -> Self {
        let environment = Vec::new();
        Self { program, arguments, environment, inherit_environment: false, directory: None, is_quiet: false }
    }

    /// Returns the command for people, without its arguments, which may be secrets.
    pub(super) fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// Starts it, in a process group of its own.
    ///
    /// # Errors
    ///
    /// Returns the system's error, for instance if there is no such program.
    pub(super) fn start(&self) -> Result<ServerProcess, ClientError> {
        let failed = |error: std::io::Error| {
            let reason = format!("the program cannot be started: {error}");
            ClientError::Connect { server: self.name(), reason }
        };
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        if !self.inherit_environment {
            command.env_clear();
            // A value that begins with `()` is a function of an old shell.
            let given = INHERITED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
            command.envs(given.filter(|(_, value)| !value.as_encoded_bytes().starts_with(b"()")));
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
        command.stderr(if self.is_quiet { Stdio::null() } else { Stdio::inherit() });
        let mut child = command.spawn().map_err(failed)?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        match (child.stdin.take(), child.stdout.take(), group) {
            (Some(input), Some(output), Some(group)) => {
                Ok(ServerProcess { child, group: Some(group), transport: LineTransport::new(output, input) })
            }
            _ => Err(failed(std::io::Error::other("it has no pipes"))),
        }
    }
}

/// A server that runs as a child process. Dropping it kills its process group.
pub(super) struct ServerProcess {
    child: Child,
    /// The process group, until it has ended.
    group: Option<Pid>,
    transport: LineTransport<ChildStdout, ChildStdin>,
}

impl ServerProcess {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // It may have ended already.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Transport<RoleClient> for ServerProcess {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.transport.receive().await
    }

    /// Closes the input, and kills the process if it does not end by itself (MCP, lifecycle: shutdown over stdio).
    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await?;
        if tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
        }
        // Its own child processes may still run.
        self.signal(Signal::KILL);
        self.group = None;
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
