//! Starts machines that run the server's program.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use brumate_engine_api::{Image, InterruptHandle, MessagePipes};
use brumate_python_server::{LaunchError, Launcher, Machine, MachineControl, MachineEnd, MachinePipes};
use brumate_session::packages::Installation;
use brumate_session::{CancellationToken, Runner, ScriptEnd, ScriptStart};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use super::log::ServerLog;
use super::program::ServerProgram;
use crate::cli::IsolateArg;
use crate::exit_status;

/// Most messages of the log that wait to be written. If there are more, the server waits.
const EVENT_QUEUE: usize = 16;

/// Starts machines of one program.
pub(super) struct ProgramLauncher {
    pub(super) runner: Runner,
    pub(super) program: ServerProgram,
    pub(super) log: Arc<ServerLog>,
    /// Image that has the server's own packages, if there is one.
    pub(super) own_image: Mutex<Option<Image>>,
    /// Packages of the last machine.
    pub(super) installation: watch::Sender<Option<Arc<Installation>>>,
}

impl ProgramLauncher {
    /// Makes a launcher of a program. `own_image` is the image that has the server's own packages.
    pub(super) fn new(runner: Runner, program: ServerProgram, own_image: Option<Image>, isolate: IsolateArg) -> Self {
        let log = Arc::new(ServerLog::new(isolate == IsolateArg::Session));
        let own_image = Mutex::new(own_image);
        Self { runner, program, log, own_image, installation: watch::Sender::new(None) }
    }

    /// Sets the server's own image. Later machines start in it.
    pub(super) fn set_own_image(&self, image: Image) {
        *self.own_image.lock() = Some(image);
    }
}

#[async_trait]
impl Launcher for ProgramLauncher {
    async fn launch(&self) -> Result<Machine, LaunchError> {
        let (pipes, input, output) = MachinePipes::new()
            .map_err(|error| LaunchError { reason: format!("the server's pipes cannot be made: {error}") })?;
        let pipes = MessagePipes { input: pipes.input, output: pipes.output };
        let (mut request, local_files) =
            self.program.request(pipes).map_err(|error| LaunchError { reason: format!("{error:#}") })?;
        let control = Arc::new(RunControl { cancel: CancellationToken::new(), handle: OnceLock::new() });
        let own_image = self.own_image.lock().clone();
        request.image = own_image.or(request.image);
        let (sender, start) = oneshot::channel();
        request.start = Some(sender);
        tokio::spawn({
            let (control, installation) = (Arc::clone(&control), self.installation.clone());
            async move {
                if let Ok(ScriptStart { handle, installation: installed, .. }) = start.await {
                    control.set(handle);
                    installation.send_replace(Some(installed));
                }
            }
        });
        let (events, received) = mpsc::channel(EVENT_QUEUE);
        let logging = tokio::task::spawn_blocking({
            let log = Arc::clone(&self.log);
            move || log.write(received)
        });
        let (runner, cancel) = (self.runner.clone(), control.cancel.clone());
        let running = tokio::spawn(async move {
            let report = runner.exec(request, events, &cancel).await;
            // The machine had these files mounted until now.
            drop(local_files);
            // The output of the server is written before the message about its end.
            let _ = logging.await;
            match report {
                Ok(report) => machine_end(&report.end),
                Err(error) => MachineEnd { status: exit_status::SANDBOX, text: error.to_string() },
            }
        });
        let end = async move {
            running.await.unwrap_or_else(|error| MachineEnd { status: exit_status::SANDBOX, text: error.to_string() })
        };
        Ok(Machine { input, output, control, end: Box::pin(end) })
    }

    fn revision(&self) -> u64 {
        self.program.revision()
    }
}

fn machine_end(end: &ScriptEnd) -> MachineEnd {
    let text = match end {
        ScriptEnd::Exited { message: text, .. }
        | ScriptEnd::Raised { text }
        | ScriptEnd::Stopped { text, .. }
        | ScriptEnd::Killed { text }
        | ScriptEnd::InstallError { text } => text,
        other => &format!("unknown end of the server: {other:?}"),
    };
    MachineEnd::new(exit_status::of_script(end), text)
}

/// Stops the run of a machine.
struct RunControl {
    cancel: CancellationToken,
    /// Set once the program is about to run.
    handle: OnceLock<Arc<dyn InterruptHandle>>,
}

impl RunControl {
    fn set(&self, handle: Arc<dyn InterruptHandle>) {
        // The handle is set once. A kill at the same time finds the handle, or the check below finds the kill.
        let _ = self.handle.set(Arc::clone(&handle));
        if self.cancel.is_cancelled() {
            handle.kill();
        }
    }
}

impl MachineControl for RunControl {
    fn interrupt_busy_task(&self) {
        if let Some(handle) = self.handle.get() {
            handle.interrupt_busy_task();
        }
    }

    fn kill(&self) {
        self.cancel.cancel();
        if let Some(handle) = self.handle.get() {
            handle.kill();
        }
    }
}
