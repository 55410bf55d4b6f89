//! One cell: its turn, its machine, its limits, its record.

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
use super::settings::{Durability, WORKSPACE};
use super::slot::{Body, Slot};
use crate::admission::Refused;
use crate::installs::{Installer, Step};
use crate::question::{Asker, Questions, pass_on, passed};
use crate::request::{Phases, RunEvent};

/// Machine events that may wait for their consumer; beyond that the guest waits.
const EVENT_QUEUE: usize = 64;
/// How much later than its limits allow an engine may answer before the machine is killed over its head. Importing a package
/// for the first time compiles it, which does not count as the cell's time.
const ENGINE_MARGIN: Duration = Duration::from_secs(10 * 60);

/// Answered to whoever asks for packages where there is no service.
const NO_PACKAGES: &str = "this server installs no packages";

/// Code for a session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CellRequest {
    /// Which session; `None` makes a new one.
    pub session: Option<String>,
    /// Source text.
    pub code: String,
    /// Globals to set before.
    pub globals: serde_json::Map<String, serde_json::Value>,
    /// Who takes the code's questions; nobody: asking fails.
    pub questions: Option<Questions>,
    /// Where it is noted when the cell was let in and when its code began; nowhere.
    pub phases: Option<Arc<Phases>>,
}

impl CellRequest {
    /// Code for a session, or for a new one.
    pub fn new(session: Option<&str>, code: impl Into<String>) -> Self {
        Self { session: session.map(str::to_owned), code: code.into(), ..Self::default() }
    }

    /// Code whose questions somebody takes.
    #[must_use]
    pub fn with_questions(mut self, questions: Option<Questions>) -> Self {
        self.questions = questions;
        self
    }

    /// Notes in `phases` when the cell is let in and when its code begins.
    #[must_use]
    pub fn with_phases(mut self, phases: Option<Arc<Phases>>) -> Self {
        self.phases = phases;
        self
    }

    /// Sets globals.
    #[must_use]
    pub fn with_globals(mut self, globals: serde_json::Map<String, serde_json::Value>) -> Self {
        self.globals = globals;
        self
    }
}

/// Who hears what a cell says and asks.
struct Listener<'a> {
    gatherer: &'a mut Gatherer,
    said: mpsc::Sender<RunEvent>,
    asker: Asker,
}

impl Sessions {
    /// Runs a cell and reports what became of it, also when the code failed. `onlooker` sees output as it comes and must not
    /// block.
    ///
    /// When `cancel` is cancelled, waiting ends at once and running code is interrupted; the report still comes, and the
    /// session keeps what was done. The same happens when the future is dropped.
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
            None => (self.create(principal)?, true),
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
                    // Nobody has learnt its name.
                    if created && let Some(turn) = slot.try_turn() {
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
        let mut turn = slot.turn(cancel).await?;
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
        })?;
        Phases::admit(request.phases.as_ref());
        // Should this panic, the machine ends with it: half a conversation cannot be gone on with.
        let Body::Live(live) = std::mem::replace(&mut *turn, Body::Away) else { return Err(self.gone(slot)) };

        let (id, number) = {
            let record = slot.record();
            (record.id.clone(), record.executions.saturating_add(1))
        };
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
        let ended = self.run(&*live.session, execute, cancel, listener, slot).await;
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
        let kept = self.judge(slot, ended, &mut report);
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
                self.record_cell(slot, &*live.session, parts, &mut report).await;
                *turn = Body::Live(live);
            }
            Ok(Kept::Unchanged) => {
                self.record_unchanged(slot).await?;
                *turn = Body::Live(live);
            }
            // The machine is gone; the record says what is left.
            Ok(Kept::MachineLost) => self.record_unchanged(slot).await?,
            Err(error) => {
                *turn = Body::Live(live);
                return Err(error);
            }
        }
        slot.record().last_used = self.now();
        drop(turn);
        self.make_room();
        Ok(report)
    }

    /// Runs the code within its limits, and lists the files afterwards; output goes to the gatherer, and to whoever listens.
    async fn run(
        &self,
        session: &dyn Session,
        request: Execute,
        cancel: &CancellationToken,
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
                    // A listener that is gone is no reason to stop.
                    let _ = said.send(RunEvent::Output { name, text }).await;
                }
            }
        };
        let running = async { tokio::join!(session.execute_and_list(request, sender, WORKSPACE), gather).0 };
        let overdue = async {
            let whole = limits.wall.saturating_add(limits.grace).saturating_add(ENGINE_MARGIN);
            let reason = tokio::select! {
                () = cancel.cancelled() => {
                    slot.interrupt();
                    tokio::time::sleep(limits.grace.saturating_add(ENGINE_MARGIN)).await;
                    ExitReason::Cancelled
                }
                () = passed(whole, waiting) => ExitReason::TimeLimit,
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

    /// What the end of a cell means for the report and for the session.
    fn judge(
        &self,
        slot: &Slot,
        ended: Result<Outcome, EngineError>,
        report: &mut CellReport,
    ) -> Result<Kept, SessionError> {
        let limits = self.limits();
        let taken_away = ended.is_err() && slot.was_killed();
        let kept = match ended {
            Ok(outcome) => {
                report.end(outcome, limits);
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
                let mut record = slot.record();
                // What is in a file, or was empty, is not lost with the machine.
                let lost = record.state != SessionState::Fresh && record.current_image().is_none();
                report.die(&reason, output_dropped, peak_memory_bytes, limits, lost);
                if lost {
                    record.lose(&format!("its interpreter ended: {reason:?}"));
                } else if record.state == SessionState::Live {
                    record.state = SessionState::Asleep;
                }
                Ok(Kept::MachineLost)
            }
            Err(error) => Err(error.into()),
        };
        if taken_away {
            report.take_away();
        }
        kept
    }

    /// Enters a cell that changed the session into the registry. That it could not be kept is told, not hidden: the cell has
    /// run all the same.
    async fn record_cell(&self, slot: &Slot, session: &dyn Session, parts: Parts, report: &mut CellReport) {
        if let Err(error) = self.record_change(slot, session, parts).await {
            tracing::error!(session = ?slot.record().id, %error, "a cell could not be recorded");
            report.not_kept = Some(error.to_string());
        }
    }

    /// Enters a change of the session's state into the registry; with [`Durability::Cell`] its file as well.
    pub(super) async fn record_change(
        &self,
        slot: &Slot,
        session: &dyn Session,
        parts: Parts,
    ) -> Result<(), SessionError> {
        let mut result = Ok(());
        if self.inner.settings.durability == Durability::Cell {
            match self.write_image(slot, session).await {
                Ok(image) => return self.adopt_image(slot, image, SessionState::Live).await,
                Err(error) => result = Err(error),
            }
        }
        // A file of an earlier state must never be taken for this one, not even after a loss of power.
        let (record, outdated) = {
            let mut record = slot.record();
            let outdated = record.image.take();
            (record.clone(), outdated)
        };
        let sync = if outdated.is_some() { Sync::Disk } else { Sync::Process };
        let written = self.inner.registry.put(record, parts, sync).await;
        if let Some(outdated) = outdated {
            self.inner.directory.remove_image(&outdated.name);
        }
        result.and(written)
    }

    async fn record_unchanged(&self, slot: &Slot) -> Result<(), SessionError> {
        let record = slot.record().clone();
        self.inner.registry.put(record, Parts::WithoutFiles, Sync::Process).await
    }
}

/// What is left of a session after a cell.
enum Kept {
    /// Its machine, in a new state.
    Changed,
    /// Its machine, as before the cell.
    Unchanged,
    /// Not its machine.
    MachineLost,
}

/// The next step of an installer, if there is one.
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
        // Each cell its own: functions of earlier cells keep their lines in tracebacks.
        file_name: format!("cell_{number}.py"),
        globals_json,
        env: vec![("OUTPUT_DIR".to_owned(), WORKSPACE.to_owned())],
        session: true,
        shell: true,
        rich: true,
        figures: true,
        ..Execute::default()
    }
}
