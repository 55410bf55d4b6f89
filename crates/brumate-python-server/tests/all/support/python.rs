//! A launcher that starts CPython of this machine with the guest's own package.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;
use brumate_python_server::{LaunchError, Launcher, Machine, MachineControl, MachineEnd, MachinePipes};
use futures::FutureExt as _;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// Most bytes of a server's log that are kept.
const MAX_LOG: u64 = 1 << 20;

/// Starts CPython with a server.
pub(crate) struct PythonLauncher {
    python: PathBuf,
    directory: tempfile::TempDir,
    transport: Option<&'static str>,
    /// The number of machines that were started.
    pub(crate) started: AtomicUsize,
    /// The revision of the program.
    pub(crate) revision: AtomicU64,
}

impl PythonLauncher {
    /// Writes a server's source text where `python3` can run it.
    pub(crate) fn new(source: &str) -> Self {
        Self::with_python(Path::new("python3"), source, None)
    }

    pub(crate) fn with_python(python: &Path, source: &str, transport: Option<&'static str>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("server.py"), source).unwrap();
        std::fs::write(directory.path().join("runner.py"), include_str!("runner.py")).unwrap();
        Self {
            python: python.to_owned(),
            directory,
            transport,
            started: AtomicUsize::default(),
            revision: AtomicU64::default(),
        }
    }

    /// Returns a path beside the server, for files that it writes.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn start(&self) -> std::io::Result<Machine> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let (MachinePipes { input, output }, to_server, from_server) = MachinePipes::new()?;
        let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest");
        let mut child = Command::new(&self.python)
            .arg(self.path("runner.py"))
            .arg(guest)
            .arg(self.path("server.py"))
            .args(self.transport)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(self.directory.path())
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let kill = CancellationToken::new();
        let control =
            Arc::new(PythonControl { pid: child.id().and_then(|id| Pid::from_raw(id as i32)), kill: kill.clone() });
        let stderr = child.stderr.take();
        let end = tokio::spawn(async move {
            let mut log = String::new();
            let status = {
                let reading = async {
                    if let Some(stderr) = stderr {
                        #[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
                        let _ = stderr.take(MAX_LOG).read_to_string(&mut log).await;
                    }
                };
                let (status, ()) = futures::join!(wait(&mut child, &kill), reading);
                status
            };
            if std::env::var_os("BRUMATE_TEST_LOG").is_some() {
                eprintln!("{log}");
            }
            MachineEnd { status, text: log.lines().last().unwrap_or_default().to_owned() }
        });
        let end = end.map(|end| end.unwrap_or(MachineEnd { status: 255, text: "the test failed".to_owned() })).boxed();
        Ok(Machine { input: to_server, output: from_server, control, end })
    }
}

async fn wait(child: &mut Child, kill: &CancellationToken) -> u8 {
    let status = tokio::select! {
        status = child.wait() => status,
        () = kill.cancelled() => {
            child.start_kill().unwrap();
            child.wait().await
        }
    };
    status.unwrap().code().map_or(137, |code| code as u8)
}

#[async_trait]
impl Launcher for PythonLauncher {
    async fn launch(&self) -> Result<Machine, LaunchError> {
        self.start().map_err(|error| LaunchError { reason: error.to_string() })
    }

    fn revision(&self) -> u64 {
        self.revision.load(Ordering::SeqCst)
    }
}

struct PythonControl {
    pid: Option<Pid>,
    kill: CancellationToken,
}

impl MachineControl for PythonControl {
    fn interrupt_busy_task(&self) {
        // It may have ended.
        let _ = self.pid.map(|pid| kill_process(pid, Signal::USR1));
    }

    fn kill(&self) {
        self.kill.cancel();
    }
}
