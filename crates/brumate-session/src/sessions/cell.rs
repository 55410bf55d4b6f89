//! Execution of one cell. The steps are lock, admission, run within limits, report, and storage.

use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::{
    CellAndFiles, EngineError, Event, Execute, ExecuteMode, GuestAnswer, InterruptHandle, Layer, Limits, Outcome,
    Session, StopReason,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::entry::{MachineState, SessionEntry, SessionLock};
use super::error::SessionError;
use super::history::CellRecorder;
use super::id::SessionId;
use super::limits::WORKSPACE;
use super::ownership::owned_elsewhere_error;
use super::record::SessionState;
use super::registry::{CommitSync, RecordParts};
use super::report::CellReport;
use super::store::{RolledBackChange, Savepoint};
use super::waiting::Waiting;
use crate::admission::{AdmissionError, RunPermit};
use crate::execution::{Deadline, Execution, ExecutionEnd, execute_request, machine_events, run_events};
use crate::input::InputForwarder;
use crate::installs::MissingModules;
use crate::report::OutputCollector;
use crate::request::{Phases, Place, Request, RunEvent};

/// Extra time after the limits of a cell. If the engine has not answered by then, the machine is killed. The time is
/// long because the first import of a package compiles it. This does not count as the cell's time.
const ENGINE_MARGIN: Duration = Duration::from_secs(10 * 60);

/// Receivers of a cell's output and input requests.
struct CellReceivers<'a> {
    collector: &'a mut OutputCollector,
    events: mpsc::Sender<RunEvent>,
    input: InputForwarder,
    recorder: Option<&'a mut CellRecorder>,
}

impl Sessions {
    /// Runs a cell and reports the result, also when the code failed. `event_sink` receives output at once and must
    /// not block. A request for a fresh interpreter makes a new session.
    ///
    /// When `cancel` is cancelled, waiting ends at once and running code is interrupted. A report is still returned,
    /// and the session keeps the changes that the code made. Dropping the future has the same effect.
    ///
    /// # Errors
    ///
    /// [`SessionError`] when the code was not run.
    pub async fn execute(
        &self,
        request: Request,
        cancel: &CancellationToken,
        event_sink: &mut (dyn FnMut(RunEvent) + Send),
    ) -> Result<CellReport, SessionError> {
        let (events, mut event_receiver) = run_events();
        let listen = async {
            while let Some(event) = event_receiver.recv().await {
                event_sink(event);
            }
        };
        tokio::join!(self.execute_to(request, cancel, events), listen).0
    }

    /// Runs a cell as [`Sessions::execute`] does. Code that writes waits while the channel is full.
    ///
    /// # Errors
    ///
    /// As [`Sessions::execute`].
    pub async fn execute_to(
        &self,
        request: Request,
        cancel: &CancellationToken,
        events: mpsc::Sender<RunEvent>,
    ) -> Result<CellReport, SessionError> {
        let call = cancel.child_token();
        let _lost_interest = call.clone().drop_guard();
        // An interrupt cancels this token until the cell begins to run, even while the registry is being read.
        let interrupt = call.child_token();
        let principal = request.principal.clone();
        let session = match &request.place {
            Place::Session(id) => Some(id.clone()),
            Place::Fresh | Place::NewSession => None,
        };
        let known = session.as_deref().and_then(SessionId::parse).and_then(|id| self.entries().get(&id).cloned());
        let known = known.filter(|entry| entry.principal() == principal);
        let waiting = known.map(|entry| entry.upcoming().add(interrupt.clone()));
        let (entry, created) = match &session {
            Some(id) => (self.find(&principal, id).await?, false),
            None => (self.create(&principal).await?, true),
        };
        let upcoming = waiting.unwrap_or_else(|| entry.upcoming().add(interrupt.clone()));
        self.detached(&call, |sessions, cancel| async move {
            let ran = sessions.cell(&entry, request, (interrupt, upcoming), &cancel, events).await;
            match ran {
                Ok(mut report) => {
                    report.created = created;
                    Ok(report)
                }
                Err(error) => {
                    // The caller gets only the error, and not the id of the new session, so the session is removed.
                    if created && let Some(guard) = entry.try_lock() {
                        sessions.remove(&entry, guard).await?;
                    }
                    Err(error)
                }
            }
        })
        .await
    }

    /// Interrupts the running cell of a session. If none runs, interrupts the first waiting cell, which then never
    /// runs. Returns false if there is no such cell.
    ///
    /// # Errors
    ///
    /// [`SessionError::NotFound`]. [`SessionError::OwnedElsewhere`] if another server owns the session, and does not
    /// answer or refuses.
    pub async fn interrupt(&self, principal: &str, id: &str) -> Result<bool, SessionError> {
        let entry = self.find(principal, id).await?;
        if entry.has_lease() {
            return Ok(entry.interrupt());
        }
        let id = entry.record().id.clone();
        let elsewhere = self.inner.leases().interrupt(&id).await;
        // A cell may wait in this server until the other server releases the session.
        if matches!(elsewhere, Ok(true)) || entry.interrupt() {
            return Ok(true);
        }
        elsewhere.map_err(|error| owned_elsewhere_error(id, error))
    }

    async fn cell(
        &self,
        entry: &Arc<SessionEntry>,
        request: Request,
        (interrupt, upcoming): (CancellationToken, Waiting<CancellationToken>),
        cancel: &CancellationToken,
        events: mpsc::Sender<RunEvent>,
    ) -> Result<CellReport, SessionError> {
        let stopped = |error| match error {
            SessionError::Cancelled if !cancel.is_cancelled() => SessionError::Interrupted,
            error => error,
        };
        let (mut guard, mut permit) = self.turn(entry, &interrupt).await.map_err(stopped)?;
        Phases::admit(request.phases.as_ref());
        // If the code panics after this line, the machine is dropped, because the state of its protocol is unknown.
        let MachineState::Live(live) = std::mem::replace(&mut *guard, MachineState::Absent) else {
            return Err(self.not_found(entry));
        };

        let (id, number) = {
            let record = entry.record();
            (record.id.clone(), record.executions.saturating_add(1))
        };
        let before = Savepoint::of(entry);
        let mut collector = match request.mode {
            ExecuteMode::Frontend => OutputCollector::of_frontend(self.limits()),
            _ => OutputCollector::of_cell(self.limits()),
        };
        let mut recorder = CellRecorder::of(&request, number).filter(|_| self.inner.settings.history);
        let begun = entry.cell_started(live.session.interrupt_handle(), &interrupt);
        drop(upcoming);
        if !begun {
            *guard = MachineState::Live(live);
            return Err(stopped(SessionError::Cancelled));
        }
        let mut request = request;
        let mut limits = *self.limits();
        limits.wall = request.time_limit.unwrap_or(limits.wall);
        let input = InputForwarder::new(request.input_requests.take());
        let phases = request.phases.take();
        let allow_install = self.inner.settings.packages.is_some();
        let execute = cell_execute(request, number, &input, allow_install);
        let receivers = CellReceivers { collector: &mut collector, events, input, recorder: recorder.as_mut() };
        permit.start(limits.cpu);
        Phases::start(phases.as_ref());
        let running = self.run((&**entry, &*live.session), execute, (&limits, cancel, permit.revoked()), receivers);
        let (ended, missing) = running.await;
        let (ended, listed) = match ended {
            Ok((outcome, listed)) => {
                permit.record_cpu(outcome.cpu);
                (Ok(outcome), listed)
            }
            Err(error) => (Err(error), Ok(Vec::new())),
        };
        let stopped = matches!(&ended, Ok(outcome) if outcome.stopped == Some(StopReason::Cancelled));
        entry.cell_ended(stopped);
        let mut report = CellReport::new(id.clone());
        let kept = self.apply_outcome(entry, ended, (&limits, &missing), &mut report);
        report.run.output = collector.chunks;
        report.run.output_dropped = report.run.output_dropped.saturating_add(collector.dropped);
        report.run.result = collector.result;
        match kept {
            Ok(MachineAfterCell::Changed) => {
                {
                    let mut record = entry.record();
                    record.packages = self.known_layers(&*live.session, &record.packages);
                }
                let parts =
                    self.after_cell(entry, &*live.session, listed, collector.pictures.into_kept(), &mut report).await;
                let concluded = self.commit_change(entry, &*live.session, before, parts).await;
                if let Err(undone) = &concluded {
                    report.set_rolled_back(&undone.error, undone.lost.as_deref().filter(|_| entry.is_lost()));
                }
                if !matches!(concluded, Err(RolledBackChange { lost: Some(_), .. })) {
                    *guard = MachineState::Live(live);
                }
            }
            Ok(MachineAfterCell::Unchanged) => {
                // This only closes the transaction. The engine has restored the earlier state already, when the machine
                // ended.
                drop(live.session.roll_back().await);
                self.record_unchanged(entry).await;
                *guard = MachineState::Live(live);
            }
            // The machine is lost. The record already has the state of the session after the loss.
            Ok(MachineAfterCell::Lost) => self.record_unchanged(entry).await,
            Err(error) => {
                if self.roll_back_change(entry, &*live.session, before).await.lost.is_none() {
                    *guard = MachineState::Live(live);
                }
                return Err(error);
            }
        }
        if report.rolled_back && permit.revoked().is_cancelled() {
            report.set_revoked();
        }
        // A reset or a removal has ended the cell: it belongs to what is gone.
        if let Some(recorder) = recorder.filter(|_| !entry.was_discarded()) {
            self.record_cell(entry, recorder.finish(&report)).await;
        }
        self.touch(entry);
        drop(guard);
        self.free_place_for_waiting();
        Ok(report)
    }

    /// Waits for a cell's turn: locks the session, makes it live, and waits for a run slot.
    async fn turn(
        &self,
        entry: &Arc<SessionEntry>,
        cancel: &CancellationToken,
    ) -> Result<(SessionLock, RunPermit), SessionError> {
        let mut guard = self.lock_session(entry, cancel).await?;
        if self.inner.closing.is_cancelled() {
            return Err(SessionError::ShuttingDown);
        }
        self.ensure_live(entry, &mut guard, cancel).await?;
        let principal = entry.record().principal.clone();
        let admitted = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(SessionError::Cancelled),
            admitted = self.inner.admission.enter(&principal) => admitted,
        };
        let permit = admitted.map_err(|refused| match refused {
            AdmissionError::Busy { running, waiting } => SessionError::TooManyRuns { running, waiting },
            AdmissionError::OverLimit(over) => SessionError::OverLimit(over),
            AdmissionError::Revoked => SessionError::Revoked,
        })?;
        Ok((guard, permit))
    }

    /// Runs the code within its limits and lists the files afterwards. Output goes to the collector and to the event
    /// sink. Also returns the modules that could not be installed.
    async fn run(
        &self,
        (entry, session): (&SessionEntry, &dyn Session),
        request: Execute,
        (limits, cancel, revoked): (&Limits, &CancellationToken, &CancellationToken),
        receivers: CellReceivers<'_>,
    ) -> (Result<CellAndFiles, EngineError>, MissingModules) {
        let CellReceivers { collector, events, input, mut recorder } = receivers;
        let deadline = Deadline { limits, margin: ENGINE_MARGIN, cancel, revoked: Some(revoked) };
        let execution = Execution::new(&events, input, self.inner.settings.packages.clone(), deadline);
        let interrupt_handle = EntryInterrupter { entry, session, machine: session.interrupt_handle() };
        let (sender, received) = machine_events();
        let running = async {
            // The transaction is committed after the changes of the cell are stored.
            session.begin().await?;
            session.execute_and_list(request, sender, WORKSPACE).await
        };
        let note = |event: &Event| {
            if let Some(recorder) = &mut recorder {
                recorder.note(event);
            }
        };
        let collect = |event| collector.take(event);
        let (end, missing) = execution.run(&interrupt_handle, running, received, (note, collect)).await;
        if let ExecutionEnd::Overdue(_) = end {
            entry.discard_cell();
        }
        (end.into_result(), missing)
    }

    /// Applies the end of a cell to the report and to the session's record.
    fn apply_outcome(
        &self,
        entry: &SessionEntry,
        ended: Result<Outcome, EngineError>,
        (limits, missing): (&Limits, &MissingModules),
        report: &mut CellReport,
    ) -> Result<MachineAfterCell, SessionError> {
        let taken_away = ended.is_err() && entry.was_discarded();
        let kept = match ended {
            Ok(outcome) => {
                report.set_outcome(outcome, missing, limits);
                let mut record = entry.record();
                record.generation = record.generation.saturating_add(1);
                record.executions = record.executions.saturating_add(1);
                record.state = SessionState::Live;
                Ok(MachineAfterCell::Changed)
            }
            Err(EngineError::RolledBack { reason, output_dropped, peak_memory_bytes }) => {
                report.set_machine_exit(&reason, output_dropped, peak_memory_bytes, limits, false);
                Ok(MachineAfterCell::Unchanged)
            }
            Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) => {
                let kept = self.note_machine_loss(entry, &reason.to_string());
                report.set_machine_exit(&reason, output_dropped, peak_memory_bytes, limits, !kept);
                Ok(MachineAfterCell::Lost)
            }
            Err(error) => Err(error.into()),
        };
        if taken_away {
            report.set_discarded();
        }
        kept
    }

    /// Stores the record after a call that has not changed the state: the time of the last use. Stores also that the
    /// session is lost, if its machine ended with the only copy of the state. A failure is only logged: the stored
    /// state is still right, or the next server that uses the session finds out that it is lost.
    pub(super) async fn record_unchanged(&self, entry: &SessionEntry) {
        let record = entry.record().clone();
        if let Err(error) = self.inner.registry.put(record, RecordParts::WithoutFiles, CommitSync::Process).await {
            tracing::warn!(session = ?entry.record().id, %error, "the registry could not be written");
        }
    }
}

/// Returns the engine's request for the cell with this number.
fn cell_execute(request: Request, number: u64, input: &InputForwarder, allow_install: bool) -> Execute {
    Execute {
        // A file name for each cell: functions of earlier cells keep their lines in tracebacks.
        file_name: format!("cell_{number}.py"),
        env: vec![("OUTPUT_DIR".to_owned(), WORKSPACE.to_owned())],
        mode: request.mode,
        rich: true,
        figures: true,
        wall: request.time_limit,
        ..execute_request(request.code, request.globals, input, allow_install)
    }
}

/// Interrupt handle of a cell. Interrupts and kills go through the session's entry, because the entry remembers
/// interrupts.
struct EntryInterrupter<'a> {
    entry: &'a SessionEntry,
    session: &'a dyn Session,
    machine: Arc<dyn InterruptHandle>,
}

impl InterruptHandle for EntryInterrupter<'_> {
    fn interrupt(&self) {
        self.entry.interrupt_running();
    }

    fn kill(&self) {
        self.entry.kill_cell();
    }

    fn answer(&self, request: u64, answer: GuestAnswer) -> bool {
        self.machine.answer(request, answer)
    }

    fn layers(&self) -> Vec<Layer> {
        self.session.layers()
    }

    fn clear(&self) {
        self.machine.clear();
    }
}

/// State of a session's machine after a cell.
enum MachineAfterCell {
    /// The machine is in a new state.
    Changed,
    /// The machine is in its state before the cell.
    Unchanged,
    /// The machine ended.
    Lost,
}
