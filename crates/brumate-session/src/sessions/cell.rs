//! Execution of one cell: lock, admission, limits, report, storage.

use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::{CellAndFiles, EngineError, Event, Execute, ExitReason, Outcome, Session, StopReason};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::error::SessionError;
use super::record::SessionState;
use super::registry::{Parts, Sync};
use super::report::{CellReport, Gatherer};
use super::settings::WORKSPACE;
use super::slot::{Body, Slot};
use super::store::{Before, Undone};
use crate::admission::Refused;
use crate::installs::{Installer, MissingModules, Step};
use crate::question::{Asker, Questions, pass_on, passed};
use crate::request::{Phases, RunEvent};

/// Machine events that may wait for the receiver; then the guest waits.
const EVENT_QUEUE: usize = 64;
/// Time beyond its limits after which an engine that does not answer has its machine killed. The first import of a
/// package compiles it, which does not count as the cell's time.
const ENGINE_MARGIN: Duration = Duration::from_secs(10 * 60);

/// Answer to install requests when there is no package service.
const NO_PACKAGES: &str = "this server installs no packages";

/// Code to run in a session, with its options.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CellRequest {
    /// Session id; `None` makes a new session.
    pub session: Option<String>,
    /// Source text.
    pub code: String,
    /// Globals to set before the code runs.
    pub globals: serde_json::Map<String, serde_json::Value>,
    /// Sender for the code's input requests; `None` raises an error in code that asks.
    pub questions: Option<Questions>,
    /// Records when the cell is admitted and when its code starts; `None` records nothing.
    pub phases: Option<Arc<Phases>>,
    /// Whether the code runs as plain Python rather than through IPython's shell: without magics and shell lines, and
    /// with the value of the last expression in the report.
    pub plain: bool,
}

impl CellRequest {
    /// Makes a request for code in a session, or in a new one.
    pub fn new(session: Option<&str>, code: impl Into<String>) -> Self {
        Self { session: session.map(str::to_owned), code: code.into(), ..Self::default() }
    }

    /// Sets the sender for the code's input requests.
    #[must_use]
    pub fn with_questions(mut self, questions: Option<Questions>) -> Self {
        self.questions = questions;
        self
    }

    /// Records the times of admission and start in `phases`.
    #[must_use]
    pub fn with_phases(mut self, phases: Option<Arc<Phases>>) -> Self {
        self.phases = phases;
        self
    }

    /// Sets the globals to set before the code runs.
    #[must_use]
    pub fn with_globals(mut self, globals: serde_json::Map<String, serde_json::Value>) -> Self {
        self.globals = globals;
        self
    }

    /// Runs the code as plain Python, without IPython's shell.
    #[must_use]
    pub fn without_shell(mut self) -> Self {
        self.plain = true;
        self
    }
}

/// Receivers of a cell's output and input requests.
struct Listener<'a> {
    gatherer: &'a mut Gatherer,
    said: mpsc::Sender<RunEvent>,
    asker: Asker,
}

impl Sessions {
    /// Runs a cell and reports the result, also when the code failed. `event_sink` receives output at once and must
    /// not block.
    ///
    /// When `cancel` is cancelled, waiting ends at once and running code is interrupted. The report still comes, and
    /// the session keeps what was done. Dropping the future has the same effect.
    ///
    /// # Errors
    ///
    /// [`SessionError`] when the code was not run.
    pub async fn execute(
        &self,
        principal: &str,
        request: CellRequest,
        cancel: &CancellationToken,
        onlooker: &mut (dyn FnMut(RunEvent) + Send),
    ) -> Result<CellReport, SessionError> {
        let (slot, created) = match &request.session {
            Some(id) => (self.find(principal, id).await?, false),
            None => (self.create(principal).await?, true),
        };
        let (said, mut heard) = mpsc::channel::<RunEvent>(EVENT_QUEUE);
        let work = self.detached(cancel, |sessions, cancel| async move {
            let ran = sessions.cell(&slot, request, &cancel, said).await;
            match ran {
                Ok(mut report) => {
                    report.created = created;
                    Ok(report)
                }
                Err(error) => {
                    // The caller never learns the id of the new session.
                    if created && let Some(turn) = slot.try_lock() {
                        sessions.forget(&slot, turn).await?;
                    }
                    Err(error)
                }
            }
        });
        let listen = async {
            while let Some(event) = heard.recv().await {
                onlooker(event);
            }
        };
        tokio::join!(work, listen).0
    }

    async fn cell(
        &self,
        slot: &Arc<Slot>,
        request: CellRequest,
        cancel: &CancellationToken,
        said: mpsc::Sender<RunEvent>,
    ) -> Result<CellReport, SessionError> {
        let mut turn = self.turn(slot, cancel).await?;
        if self.inner.closing.is_cancelled() {
            return Err(SessionError::ShuttingDown);
        }
        self.awake(slot, &mut turn, cancel).await?;
        let principal = slot.record().principal.clone();
        let admitted = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(SessionError::Cancelled),
            admitted = self.inner.admission.enter(&principal) => admitted,
        };
        let mut permit = admitted.map_err(|refused| match refused {
            Refused::Busy { running, waiting } => SessionError::TooManyRuns { running, waiting },
            Refused::OverLimit(over) => SessionError::OverLimit(over),
            Refused::Revoked => SessionError::Revoked,
        })?;
        Phases::admit(request.phases.as_ref());
        // A panic from here on drops the machine: its protocol state would be unknown.
        let Body::Live(live) = std::mem::replace(&mut *turn, Body::Away) else { return Err(self.gone(slot)) };

        let (id, number) = {
            let record = slot.record();
            (record.id.clone(), record.executions.saturating_add(1))
        };
        let before = Before::of(slot);
        let mut gatherer = Gatherer::new(self.limits());
        slot.begun(live.session.interrupter());
        let mut request = request;
        let asker = Asker::new(request.questions.take());
        let phases = request.phases.take();
        let allow_install = self.inner.settings.packages.is_some();
        let execute = Execute { allow_stdin: asker.allows(), allow_install, ..execute(request, number) };
        let listener = Listener { gatherer: &mut gatherer, said, asker };
        permit.begins(self.limits().cpu);
        Phases::start(phases.as_ref());
        let ended = self.run(&*live.session, execute, (cancel, permit.revoked()), listener, slot).await;
        let (ended, listed) = match ended {
            Ok((outcome, listed)) => {
                permit.took(outcome.cpu);
                (Ok(outcome), listed)
            }
            Err(error) => (Err(error), Ok(Vec::new())),
        };
        let stopped = matches!(&ended, Ok(outcome) if outcome.stopped == Some(StopReason::Cancelled));
        slot.ended(stopped);
        let mut report = CellReport::new(id.clone());
        let kept = self.judge(slot, ended, &gatherer.missing, &mut report);
        report.output = std::mem::take(&mut gatherer.output);
        report.output_dropped = report.output_dropped.saturating_add(gatherer.dropped);
        report.result = gatherer.result.take();
        match kept {
            Ok(Kept::Changed) => {
                {
                    let mut record = slot.record();
                    record.packages = self.known_layers(&*live.session, &record.packages);
                }
                let parts = self.after_cell(slot, &*live.session, listed, gatherer, &mut report).await;
                let concluded = self.conclude(slot, &*live.session, before, parts).await;
                if let Err(undone) = &concluded {
                    report.undo(&undone.error, undone.lost.as_deref().filter(|_| slot.is_lost()));
                }
                if !matches!(concluded, Err(Undone { lost: Some(_), .. })) {
                    *turn = Body::Live(live);
                }
            }
            Ok(Kept::Unchanged) => {
                // Ends the transaction only: the machine ended in it.
                drop(live.session.roll_back().await);
                self.record_unchanged(slot).await;
                *turn = Body::Live(live);
            }
            // The machine is lost; the record has the session's state.
            Ok(Kept::MachineLost) => self.record_unchanged(slot).await,
            Err(error) => {
                let lost = self.undo(slot, &*live.session, before).await;
                if lost.is_none() {
                    *turn = Body::Live(live);
                }
                return Err(error);
            }
        }
        if report.rolled_back && permit.revoked().is_cancelled() {
            report.revoke();
        }
        self.touch(slot);
        drop(turn);
        self.make_room();
        Ok(report)
    }

    /// Runs the code within its limits and lists the files afterwards. Output goes to the collector and to the event
    /// sink.
    async fn run(
        &self,
        session: &dyn Session,
        request: Execute,
        (cancel, revoked): (&CancellationToken, &CancellationToken),
        listener: Listener<'_>,
        slot: &Slot,
    ) -> Result<CellAndFiles, EngineError> {
        let limits = self.limits();
        let Listener { gatherer, said, mut asker } = listener;
        let waiting = asker.waiting();
        let packages = self.inner.settings.packages.clone();
        let mut installer = packages.map(|packages| Installer::new(packages, asker.waiting_sender()));
        let interrupter = session.interrupter();
        let (sender, mut events) = mpsc::channel(EVENT_QUEUE);
        let gather = async {
            loop {
                let event = tokio::select! {
                    event = events.recv() => match event {
                        None => break,
                        Some(Event::InputRequest { prompt, password }) => {
                            asker.ask(prompt, password, &*interrupter);
                            continue;
                        }
                        Some(Event::Install(wanted)) => {
                            match &mut installer {
                                Some(installer) => installer.begin(wanted, session.layers()),
                                None => drop(interrupter.install(Err(NO_PACKAGES.to_owned()))),
                            }
                            continue;
                        }
                        Some(event) => event,
                    },
                    step = step(&mut installer) => {
                        match step {
                            Step::Event(event) => drop(said.try_send(RunEvent::Packages(event))),
                            Step::Done(answer) => drop(interrupter.install(answer)),
                        }
                        continue;
                    }
                    reply = asker.replied() => {
                        let Some(event) = pass_on(reply, &*interrupter) else { continue };
                        slot.interrupt();
                        event
                    }
                };
                if let Some((name, text)) = gatherer.take(event) {
                    // The receiver may be gone.
                    let _ = said.send(RunEvent::Output { name, text }).await;
                }
            }
            gatherer.missing = installer.as_mut().map(Installer::take_missing).unwrap_or_default();
        };
        let execute = async {
            // The cell's changes count when they are stored.
            session.begin().await?;
            session.execute_and_list(request, sender, WORKSPACE).await
        };
        let running = async { tokio::join!(execute, gather).0 };
        let overdue = async {
            let whole = limits.wall.saturating_add(limits.grace).saturating_add(ENGINE_MARGIN);
            let reason = tokio::select! {
                () = cancel.cancelled() => {
                    slot.interrupt();
                    tokio::time::sleep(limits.grace.saturating_add(ENGINE_MARGIN)).await;
                    ExitReason::Cancelled
                }
                () = passed(whole, waiting) => ExitReason::TimeLimit,
                () = revoked.cancelled() => {
                    slot.end();
                    tokio::time::sleep(ENGINE_MARGIN).await;
                    ExitReason::Cancelled
                }
            };
            slot.kill();
            reason
        };
        tokio::select! {
            result = running => result,
            reason = overdue => {
                tracing::error!("the engine did not keep its limits; the machine is killed");
                Err(EngineError::MachineExited { reason, output_dropped: 0, peak_memory_bytes: None })
            }
        }
    }

    /// Applies the end of a cell to the report and to the session's record.
    fn judge(
        &self,
        slot: &Slot,
        ended: Result<Outcome, EngineError>,
        missing: &MissingModules,
        report: &mut CellReport,
    ) -> Result<Kept, SessionError> {
        let limits = self.limits();
        let taken_away = ended.is_err() && slot.was_killed();
        let kept = match ended {
            Ok(outcome) => {
                report.end(outcome, missing, limits);
                let mut record = slot.record();
                record.generation = record.generation.saturating_add(1);
                record.executions = record.executions.saturating_add(1);
                record.state = SessionState::Live;
                Ok(Kept::Changed)
            }
            Err(EngineError::RolledBack { reason, output_dropped, peak_memory_bytes }) => {
                report.die(&reason, output_dropped, peak_memory_bytes, limits, false);
                Ok(Kept::Unchanged)
            }
            Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) => {
                let kept = self.lose_machine(slot, &format!("{reason:?}"));
                report.die(&reason, output_dropped, peak_memory_bytes, limits, !kept);
                Ok(Kept::MachineLost)
            }
            Err(error) => Err(error.into()),
        };
        if taken_away {
            report.take_away();
        }
        kept
    }

    /// Stores the time of the last use, and whether the session is lost. A failure is only logged: the stored state is
    /// still right.
    pub(super) async fn record_unchanged(&self, slot: &Slot) {
        let record = slot.record().clone();
        if let Err(error) = self.inner.registry.put(record, Parts::WithoutFiles, Sync::Process).await {
            tracing::warn!(session = ?slot.record().id, %error, "the registry could not be written");
        }
    }
}

/// State of a session's machine after a cell.
enum Kept {
    /// The machine is in a new state.
    Changed,
    /// The machine is in its state before the cell.
    Unchanged,
    /// The machine ended.
    MachineLost,
}

/// Returns the next progress of an installer; never ready without one.
async fn step(installer: &mut Option<Installer>) -> Step {
    match installer {
        Some(installer) => installer.step().await,
        None => std::future::pending().await,
    }
}

fn execute(request: CellRequest, number: u64) -> Execute {
    let globals_json = match request.globals.is_empty() {
        true => String::new(),
        false => serde_json::Value::Object(request.globals).to_string(),
    };
    Execute {
        code: request.code,
        // A file name for each cell: functions of earlier cells keep their lines in tracebacks.
        file_name: format!("cell_{number}.py"),
        globals_json,
        env: vec![("OUTPUT_DIR".to_owned(), WORKSPACE.to_owned())],
        session: true,
        shell: !request.plain,
        rich: true,
        figures: true,
        ..Execute::default()
    }
}
