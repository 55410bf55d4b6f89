//! A kernel of the gateway: its runs, one after the other, and its clients.

use std::sync::Arc;
use std::time::Duration;

use brumate_session::CancellationToken;
use brumate_session::sessions::{SessionError, Sessions};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::channels::{LAST_MESSAGES, MAX_MESSAGE};
use super::clients::Clients;
use crate::kernel::{Kernel, KernelSession, Peer, Shutdown};
use crate::requests::{self, Request};
use brumate_jupyter_protocol::Message;
use brumate_notebook::OutputPolicy;

/// Most requests on the control channel that wait. Then clients wait.
const MAX_WAITING_CONTROL: usize = 16;
/// Longest time that the start of a kernel is waited for. Then it goes on in the background.
const START_WAIT: Duration = Duration::from_secs(30);
/// Longest time that the end of a kernel is waited for. Then it goes on in the background.
const END_WAIT: Duration = Duration::from_secs(10);

/// Settings of kernels.
#[derive(Clone)]
pub(super) struct KernelSettings {
    pub(super) sessions: Sessions,
    pub(super) policy: OutputPolicy,
}

/// State of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Starting,
    Started,
    Failed(Box<SessionError>),
}

/// One run of a kernel: an interpreter from its start to its end.
struct Run {
    kernel: Kernel,
    shell: mpsc::Sender<Request>,
    control: mpsc::Sender<Request>,
    phase: watch::Receiver<Phase>,
    stop: CancellationToken,
    /// The work of the run. `None` once somebody waits for its end.
    task: Option<JoinHandle<()>>,
}

/// Takes the wish of a client that the kernel ends.
pub(super) type OnShutdown = Arc<dyn Fn(Shutdown) + Send + Sync>;

/// A kernel of the gateway.
pub(super) struct ServedKernel {
    /// Id in the API.
    pub(super) id: String,
    /// Name of its kernelspec, as the client wrote it.
    pub(super) name: String,
    pub(super) principal: String,
    settings: KernelSettings,
    clients: Arc<Clients>,
    /// Room of the requests that wait for the principal's kernels, in bytes.
    room: Arc<Semaphore>,
    on_shutdown: OnShutdown,
    run: Mutex<Run>,
    /// Held while the kernel restarts or ends. Whether it has ended.
    changing: tokio::sync::Mutex<bool>,
}

impl ServedKernel {
    /// Makes a kernel, which begins to start.
    pub(super) fn start(
        id: String,
        name: String,
        principal: String,
        settings: KernelSettings,
        room: Arc<Semaphore>,
        on_shutdown: OnShutdown,
    ) -> Self {
        let clients = Arc::new(Clients::default());
        clients.touch();
        let run = Mutex::new(begin(&settings, &principal, &clients, &on_shutdown));
        Self { id, name, principal, settings, clients, room, on_shutdown, run, changing: Default::default() }
    }

    /// Returns the clients.
    pub(super) fn clients(&self) -> &Arc<Clients> {
        &self.clients
    }

    /// Returns the state, as Jupyter names it.
    pub(super) fn state(&self) -> &'static str {
        let run = self.run.lock();
        let phase = run.phase.borrow();
        match *phase {
            Phase::Starting => "starting",
            // A later request may have made the session after all.
            Phase::Failed(_) if run.kernel.session_id().is_none() => "dead",
            _ if run.kernel.is_busy() => "busy",
            _ => "idle",
        }
    }

    /// Returns the id of the session of the current run; `None` before it is made.
    pub(super) fn session_id(&self) -> Option<String> {
        self.run.lock().kernel.session_id().map(|id| id.to_string())
    }

    /// Waits until the kernel has started, or for some time.
    ///
    /// # Errors
    ///
    /// It did not start.
    pub(super) async fn started(&self) -> Result<(), SessionError> {
        let mut phase = self.run.lock().phase.clone();
        let is_decided = |phase: &Phase| *phase != Phase::Starting;
        let decided = timeout(START_WAIT, phase.wait_for(is_decided)).await;
        match decided.as_ref().map(|phase| phase.as_deref()) {
            Ok(Ok(Phase::Failed(error))) => Err((**error).clone()),
            _ => Ok(()),
        }
    }

    /// Brings a request to the kernel. Waits while many wait.
    pub(super) async fn request(&self, is_control: bool, peer: Peer, message: Message, size: usize) {
        let permits = u32::try_from(size).unwrap_or(u32::MAX).min(MAX_MESSAGE as u32);
        let Ok(room) = Arc::clone(&self.room).acquire_many_owned(permits).await else { return };
        let queue = {
            // During a restart requests wait for the new run.
            let _stays = self.changing.lock().await;
            let run = self.run.lock();
            if is_control { run.control.clone() } else { run.shell.clone() }
        };
        // A run that has just ended answers nothing.
        let _ = queue.send(Request::with_room(peer, message, room)).await;
    }

    /// Brings the answer to the question of a cell.
    pub(super) fn answer(&self, message: &Message) {
        let kernel = self.run.lock().kernel.clone();
        kernel.stdin(message);
    }

    /// Interrupts the running cell.
    pub(super) async fn interrupt(&self) {
        let kernel = self.run.lock().kernel.clone();
        kernel.interrupt().await;
    }

    /// Ends the interpreter and starts another. Clients stay, and learn that it is `starting`. With `is_announced` they learn first that it is
    /// `restarting`: of a restart that nobody has asked the API for. JupyterLab shows a warning then.
    ///
    /// # Errors
    ///
    /// The new one did not start.
    pub(super) async fn restart(&self, is_announced: bool) -> Result<(), SessionError> {
        let has_ended = self.changing.lock().await;
        if *has_ended {
            return Ok(());
        }
        let ending = self.stop_run();
        let kernel = self.run.lock().kernel.clone();
        if is_announced {
            kernel.announce("restarting").await;
        }
        wait_for(ending).await;
        *self.run.lock() = begin(&self.settings, &self.principal, &self.clients, &self.on_shutdown);
        self.started().await
    }

    /// Ends the kernel. Its clients are disconnected with `reason`.
    pub(super) async fn end(&self, reason: &str) {
        let mut has_ended = self.changing.lock().await;
        if std::mem::replace(&mut *has_ended, true) {
            return;
        }
        let ending = self.stop_run();
        let kernel = self.run.lock().kernel.clone();
        // A client that does not read does not keep the others waiting.
        let _ = timeout(LAST_MESSAGES, kernel.announce("dead")).await;
        self.clients.close(reason);
        wait_for(ending).await;
    }

    /// Begins to end the current run. Returns its task.
    fn stop_run(&self) -> Option<JoinHandle<()>> {
        let mut run = self.run.lock();
        run.stop.cancel();
        run.task.take()
    }
}

impl Drop for ServedKernel {
    fn drop(&mut self) {
        self.run.get_mut().stop.cancel();
    }
}

async fn wait_for(ending: Option<JoinHandle<()>>) {
    let Some(ending) = ending else { return };
    if timeout(END_WAIT, ending).await.is_err() {
        tracing::info!("a kernel has not ended yet; its session is removed when it has");
    }
}

/// Begins a run.
fn begin(settings: &KernelSettings, principal: &str, clients: &Arc<Clients>, on_shutdown: &OnShutdown) -> Run {
    let frontends = Arc::<Clients>::clone(clients);
    let kernel = Kernel::new(settings.sessions.clone(), principal, KernelSession::New, settings.policy, frontends);
    let (shell, waiting_shell) = mpsc::channel(requests::MAX_WAITING);
    let (control, waiting_control) = mpsc::channel(MAX_WAITING_CONTROL);
    let (decided, phase) = watch::channel(Phase::Starting);
    let stop = CancellationToken::new();
    let (stopped, clients, on_shutdown) = (stop.clone(), Arc::clone(clients), Arc::clone(on_shutdown));
    let running = kernel.clone();
    let task = tokio::spawn(async move {
        // In a task of its own: a session that is being made is made, and then removed.
        let starting = running.clone();
        let starting = tokio::spawn(async move {
            decided.send_replace(match starting.start().await {
                Ok(()) => Phase::Started,
                Err(error) => {
                    tracing::warn!(%error, "the session of a kernel did not start");
                    Phase::Failed(Box::new(error))
                }
            });
        });
        let serving = async {
            running.starting().await;
            requests::serve_shell(&running, waiting_shell).await;
        };
        let shutdown = tokio::select! {
            () = stopped.cancelled() => None,
            () = serving => None,
            shutdown = requests::serve_control(&running, waiting_control) => shutdown,
            () = end_questions(&running, &clients) => None,
        };
        if let Some(shutdown) = shutdown {
            on_shutdown(shutdown);
        }
        // It does not panic.
        let _ = starting.await;
        running.end().await;
    });
    Run { kernel, shell, control, phase, stop, task: Some(task) }
}

/// Answers the questions of cells that nobody can answer any more: with the end of the input.
async fn end_questions(kernel: &Kernel, clients: &Clients) {
    loop {
        clients.unanswerable().await;
        kernel.end_question();
    }
}
