//! Jobs: a job takes a run from its admission to the end of its machine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::{EngineError, Event, Execute, InterruptHandle, Limits, Machine, MachineSpec};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::admission::AdmissionError;
use crate::dependencies::Inference;
use crate::exec::{LocalModules, ScriptStart};
use crate::execution::{Deadline, Execution, machine_events};
use crate::input::InputForwarder;
use crate::new_files::{CopyReport, FileSink, copy_out};
use crate::prepare::{MachinePreparer, Preparation, PreparedMachine};
use crate::report::{RunEnd, output_of};
use crate::request::{Phases, RunError, RunEvent};
use crate::runner::Runner;
use crate::sessions::figures::picture_of;

/// Time beyond its limits after which an engine that does not answer has its machine killed.
const ENGINE_MARGIN: Duration = Duration::from_secs(10);

/// Input of [`Runner::run_job`].
pub(crate) struct Job {
    pub(crate) spec: MachineSpec,
    pub(crate) execute: Execute,
    /// Top-level modules that an image may be built of.
    pub(crate) imports: BTreeSet<String>,
    /// Requirements besides those of every run.
    pub(crate) requirements: Vec<String>,
    pub(crate) inference: Inference,
    pub(crate) input: InputForwarder,
    pub(crate) principal: String,
    pub(crate) phases: Option<Arc<Phases>>,
    pub(crate) sink: Option<Box<dyn FileSink>>,
    pub(crate) local: LocalModules,
    /// Gets the machine's handle and packages.
    pub(crate) start: Option<oneshot::Sender<ScriptStart>>,
}

/// Result of [`Runner::run_job`].
pub(crate) enum JobOutcome {
    /// A package could not be installed.
    InstallError { error: String },
    /// The code ran.
    Ran { dependencies: Vec<String>, end: Box<RunEnd>, copied: CopyReport },
}

impl Runner {
    /// Runs a job from admission to its end. `events` is closed afterwards.
    pub(crate) async fn run_job(
        &self,
        job: Job,
        events: mpsc::Sender<RunEvent>,
        cancel: &CancellationToken,
    ) -> Result<JobOutcome, RunError> {
        let Job { spec, mut execute, imports, requirements, inference, input, principal, phases, sink, local, start } =
            job;
        let dependencies = [&self.settings.dependencies[..], &requirements].concat();
        let phases = phases.as_ref();
        let limits = spec.limits;
        let mut permit = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(RunError::Cancelled),
            admitted = self.admission.enter(&principal) => admitted.map_err(|error| match error {
                AdmissionError::Busy { running, waiting } => RunError::Busy { running, waiting },
                AdmissionError::OverLimit(over) => RunError::OverLimit(over),
                AdmissionError::Revoked => RunError::Revoked,
            })?,
        };
        Phases::admit(phases);
        let revoked = permit.revoked().clone();
        let preparer = MachinePreparer {
            engine: &*self.engine,
            packages: &self.packages,
            dependencies: &dependencies,
            limits: &limits,
            events: &events,
        };
        let preparation = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(RunError::Cancelled),
            () = revoked.cancelled() => return Err(RunError::Revoked),
            preparation = preparer.prepare(spec, &execute.code, &local, inference) => preparation?,
        };
        let PreparedMachine { mut machine, dependencies, installation } = match preparation {
            Preparation::Ready(prepared) => prepared,
            Preparation::InstallError(error) => return Ok(JobOutcome::InstallError { error }),
            Preparation::MachineExited { reason, output_dropped, peak_memory_bytes } => {
                let end = Box::new(RunEnd::MachineExited { reason, output_dropped, peak_memory_bytes });
                return Ok(JobOutcome::Ran { dependencies: Vec::new(), end, copied: CopyReport::default() });
            }
        };
        execute.packages = installation.bundled().map(str::to_owned).collect();
        permit.start(limits.cpu);
        Phases::start(phases);
        let stop = KillOnDrop(machine.interrupt_handle());
        if let Some(start) = start {
            // The receiver may be gone.
            let _ = start.send(ScriptStart { handle: Arc::clone(&stop.0), installation });
        }
        let end = tokio::select! {
            biased;
            // Dropping the machine ends it.
            () = revoked.cancelled() => return Err(RunError::Revoked),
            end = self.execute((&mut *machine, &*stop.0), execute, input, &events, (&limits, cancel)) => end?,
        };
        if let RunEnd::Completed { outcome, .. } = &end {
            permit.record_cpu(outcome.cpu);
            self.learn(imports);
        }
        let copied = match (&end, sink) {
            // Files of an interrupted script count as well, as they do natively.
            (RunEnd::Completed { outcome, .. }, Some(mut sink)) => {
                copy_out(&mut *machine, outcome, &mut *sink, limits.mount_bytes).await
            }
            _ => CopyReport::default(),
        };
        Ok(JobOutcome::Ran { dependencies, end: Box::new(end), copied })
    }

    /// Executes the code and forwards its events.
    async fn execute(
        &self,
        (machine, interrupt_handle): (&mut dyn Machine, &dyn InterruptHandle),
        execute: Execute,
        input: InputForwarder,
        events: &mpsc::Sender<RunEvent>,
        (limits, cancel): (&Limits, &CancellationToken),
    ) -> Result<RunEnd, RunError> {
        let deadline = Deadline { limits, margin: ENGINE_MARGIN, cancel, revoked: None };
        let execution = Execution::new(events, input, Some(self.packages.clone()), deadline);
        let (sender, received) = machine_events();
        let running = machine.execute(execute, sender);
        let (end, missing) = execution.run(interrupt_handle, running, received, run_events_of).await;
        match end.into_result() {
            Ok(outcome) => Ok(RunEnd::Completed { outcome, missing }),
            Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) => {
                Ok(RunEnd::MachineExited { reason, output_dropped, peak_memory_bytes })
            }
            Err(error) => Err(RunError::Engine(error)),
        }
    }
}

/// Returns the picture and the output of an event.
fn run_events_of(event: Event) -> [Option<RunEvent>; 2] {
    let figure = match &event {
        Event::DisplayData { data } => picture_of(data).map(|bytes| RunEvent::Figure { bytes }),
        _ => None,
    };
    [figure, output_of(event).map(|(name, text)| RunEvent::Output { name, text })]
}

/// Kills the machine when its run is over or its future is dropped.
struct KillOnDrop(Arc<dyn InterruptHandle>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}
