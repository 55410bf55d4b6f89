//! Execution of code, in a machine or in a session: forwards its events and requests, and enforces its deadline.

use std::time::Duration;

use brumate_engine_api::{
    EngineError, Event, Execute, ExitReason, GuestAnswer, GuestRequest, InterruptHandle, Limits, RequestBody,
};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::globals::Globals;
use crate::input::{InputForwarder, deliver_reply, sleep_excluding_waits};
use crate::installs::{InstallProgress, Installer, MissingModules};
use crate::packages::Packages;
use crate::report::OutputChunk;
use crate::request::RunEvent;

/// Machine events that may wait for the receiver; then the guest waits.
const EVENT_QUEUE: usize = 64;
/// Answer to install requests when there is no package service.
const NO_PACKAGES: &str = "this server installs no packages";

/// Makes the channel for the events of a machine.
pub(crate) fn machine_events() -> (mpsc::Sender<Event>, mpsc::Receiver<Event>) {
    mpsc::channel(EVENT_QUEUE)
}

/// Makes the channel for the events of a run or a cell.
pub(crate) fn run_events() -> (mpsc::Sender<RunEvent>, mpsc::Receiver<RunEvent>) {
    mpsc::channel(EVENT_QUEUE)
}

/// Makes the engine's request for `code` with `globals`, which may ask for input if `input` allows it.
pub(crate) fn execute_request(code: String, globals: Globals, input: &InputForwarder, allow_install: bool) -> Execute {
    let globals_json = globals.into();
    Execute { code, globals_json, allow_stdin: input.is_allowed(), allow_install, ..Execute::default() }
}

/// Time limit of an execution, and the tokens that end it early.
#[derive(Clone, Copy)]
pub(crate) struct Deadline<'a> {
    /// Limits of the machine.
    pub(crate) limits: &'a Limits,
    /// Time beyond the limits after which an engine that does not answer has its machine killed.
    pub(crate) margin: Duration,
    /// Interrupts the code.
    pub(crate) cancel: &'a CancellationToken,
    /// Kills the machine; `None` if the caller does.
    pub(crate) revoked: Option<&'a CancellationToken>,
}

impl Deadline<'_> {
    /// Waits until the engine should have answered. Interrupts or kills the code when a token is cancelled before.
    async fn passed(self, interrupt_handle: &dyn InterruptHandle, waiting: watch::Receiver<bool>) -> ExitReason {
        let Self { limits, margin, cancel, revoked } = self;
        let revoked = async {
            match revoked {
                Some(revoked) => revoked.cancelled().await,
                None => std::future::pending().await,
            }
        };
        // Whichever comes first: the time that the engine has in any case, or the time after a cancellation.
        let whole = limits.wall.saturating_add(limits.grace).saturating_add(margin);
        tokio::select! {
            () = cancel.cancelled() => {
                interrupt_handle.interrupt();
                tokio::time::sleep(limits.grace.saturating_add(margin)).await;
                ExitReason::Cancelled
            }
            () = sleep_excluding_waits(whole, waiting) => ExitReason::TimeLimit,
            () = revoked => {
                interrupt_handle.kill();
                tokio::time::sleep(margin).await;
                ExitReason::Cancelled
            }
        }
    }
}

/// End of an [`Execution`].
pub(crate) enum ExecutionEnd<T> {
    /// The engine answered.
    Answered(Result<T, EngineError>),
    /// The engine did not answer before the deadline. The caller has to kill the machine.
    Overdue(ExitReason),
}

impl<T> ExecutionEnd<T> {
    /// Returns the engine's answer, or the error of a machine that is killed at the deadline.
    pub(crate) fn into_result(self) -> Result<T, EngineError> {
        match self {
            Self::Answered(result) => result,
            Self::Overdue(reason) => {
                Err(EngineError::MachineExited { reason, output_dropped: 0, peak_memory_bytes: None })
            }
        }
    }
}

/// Execution of code that is about to start.
pub(crate) struct Execution<'a> {
    events: &'a mpsc::Sender<RunEvent>,
    input: InputForwarder,
    installer: Option<Installer>,
    deadline: Deadline<'a>,
}

impl<'a> Execution<'a> {
    /// Makes an execution that sends its events to `events` and its input requests to `input`. Packages are installed
    /// by `packages`; `None` refuses install requests.
    pub(crate) fn new(
        events: &'a mpsc::Sender<RunEvent>,
        input: InputForwarder,
        packages: Option<Packages>,
        deadline: Deadline<'a>,
    ) -> Self {
        let installer = packages.map(|packages| Installer::new(packages, input.waiting_sender()));
        Self { events, input, installer, deadline }
    }

    /// Waits for `running`, which sends the machine's events to `received`. `note` sees each event; `collect` returns the
    /// output to forward. Answers requests, interrupts and kills through `interrupt_handle`. Returns the end, and the modules that
    /// the code imported and that could not be installed.
    pub(crate) async fn run<T>(
        mut self,
        interrupt_handle: &dyn InterruptHandle,
        running: impl Future<Output = Result<T, EngineError>>,
        received: mpsc::Receiver<Event>,
        (note, collect): (impl FnMut(&Event), impl FnMut(Event) -> Option<OutputChunk>),
    ) -> (ExecutionEnd<T>, MissingModules) {
        let (deadline, waiting) = (self.deadline, self.input.waiting());
        let answered = async { tokio::join!(running, self.forward(interrupt_handle, received, (note, collect))).0 };
        let end = tokio::select! {
            result = answered => ExecutionEnd::Answered(result),
            reason = deadline.passed(interrupt_handle, waiting) => {
                tracing::error!("the engine did not keep its limits; the machine is killed");
                ExecutionEnd::Overdue(reason)
            }
        };
        (end, self.installer.as_mut().map(Installer::take_missing).unwrap_or_default())
    }

    /// Forwards events, input requests and install requests until the machine has sent its last event.
    async fn forward(
        &mut self,
        interrupt_handle: &dyn InterruptHandle,
        mut received: mpsc::Receiver<Event>,
        (mut note, mut collect): (impl FnMut(&Event), impl FnMut(Event) -> Option<OutputChunk>),
    ) {
        loop {
            let event = tokio::select! {
                event = received.recv() => match event.inspect(&mut note) {
                    None => return,
                    Some(Event::Request(request)) => {
                        self.take_request(request, interrupt_handle);
                        continue;
                    }
                    Some(Event::Frontend(message)) => {
                        // The receiver may be gone.
                        let _ = self.events.send(RunEvent::Frontend(message)).await;
                        continue;
                    }
                    Some(event) => event,
                },
                progress = next_progress(&mut self.installer) => {
                    match progress {
                        // A full queue drops progress.
                        InstallProgress::Event(event) => drop(self.events.try_send(RunEvent::Packages(event))),
                        // Too late if the code has ended.
                        InstallProgress::Done(id, answer) => {
                            let _ = interrupt_handle.answer(id, GuestAnswer::Install(answer));
                        }
                    }
                    continue;
                }
                (id, reply) = self.input.reply() => {
                    let Some(event) = deliver_reply(id, reply, interrupt_handle) else { continue };
                    interrupt_handle.interrupt();
                    event
                }
            };
            if let Some(OutputChunk { name, text }) = collect(event) {
                // The receiver may be gone.
                let _ = self.events.send(RunEvent::Output { name, text }).await;
            }
        }
    }

    /// Passes a request of the code to what answers it.
    fn take_request(&mut self, request: GuestRequest, interrupt_handle: &dyn InterruptHandle) {
        let id = request.id;
        match request.body {
            RequestBody::Input { prompt, password } => self.input.request(id, prompt, password, interrupt_handle),
            RequestBody::Install(request) => match &mut self.installer {
                Some(installer) => installer.start(id, request, interrupt_handle.layers()),
                None => drop(interrupt_handle.answer(id, GuestAnswer::Install(Err(NO_PACKAGES.to_owned())))),
            },
        }
    }
}

/// Returns the next progress of an installer; never ready without one.
async fn next_progress(installer: &mut Option<Installer>) -> InstallProgress {
    match installer {
        Some(installer) => installer.next_progress().await,
        None => std::future::pending().await,
    }
}
