//! Runs in fresh machines, from admission to the report.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::{
    COMMAND_NAME, EngineError, Execute, ExecuteMode, InterruptHandle, Limits, Machine, MachineSpec, StreamName,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::admission::AdmissionError;
use crate::choice::imports_of;
use crate::dependencies::Inference;
use crate::execution::{Deadline, Execution, execute_request, machine_events, run_events};
use crate::explain::{self, CodeContext};
use crate::globals::Globals;
use crate::input::InputForwarder;
use crate::new_files::{CopyReport, FileSink, NewFiles, copy_out};
use crate::output::{OutputCollector, output_of};
use crate::prepare::{MachinePreparer, Preparation, PreparedMachine};
use crate::report::{Report, RunEnd};
use crate::request::{LocalModules, Phases, Request, RunError, RunEvent, ScriptStart};
use crate::runner::Runner;
use crate::script::{ScriptEnd, ScriptReport, script_end};

/// Time beyond its limits after which an engine that does not answer has its machine killed.
const ENGINE_MARGIN: Duration = Duration::from_secs(10);

/// Most files that a report names.
const MAX_NAMED_FILES: usize = 10;

impl Runner {
    /// Runs code and reports the result. `event_sink` receives events at once and must not block.
    ///
    /// When `cancel` is cancelled, waiting ends at once; running code is interrupted, and killed if it does not react.
    /// Interrupted code still has a report.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the code could not be run at all. A failure of the code itself is part of the report.
    pub async fn run(
        &self,
        request: Request,
        cancel: &CancellationToken,
        event_sink: &mut (dyn FnMut(RunEvent) + Send),
    ) -> Result<Report, RunError> {
        let file_name = if request.file_name.is_empty() { "main.py".to_owned() } else { request.file_name };
        let imports = imports_of(&request.code);
        let image = self.image_for(&imports);
        let input = InputForwarder::new(request.input_requests);
        let execute = Execute {
            file_name,
            mode: request.mode,
            ends_program: true,
            ..execute_request(request.code, request.globals, &input, true)
        };
        let mounts = self.settings.grants.of(&request.principal).map_err(RunError::Engine)?;
        let principal = request.principal.as_str().into();
        let mut limits = *self.limits();
        limits.wall = request.time_limit.unwrap_or(limits.wall);
        let spec = MachineSpec { principal, image, limits, mounts, ..MachineSpec::default() };
        // Code that uses micropip may install the modules that it imports.
        let inference = if execute.code.contains("micropip") { Inference::Lenient } else { Inference::Strict };
        let context = CodeContext::of_script(&execute.code);
        let principal = request.principal;
        let phases = request.phases;
        let (sink, local, start) = (None, LocalModules::default(), None);
        let requirements = Vec::new();
        let job = Job { spec, execute, imports, requirements, inference, input, principal, phases, sink, local, start };

        let (events, mut received) = run_events();
        let mut collector = OutputCollector::of_run(&limits);
        let listen = async {
            while let Some(event) = received.recv().await {
                event_sink(event);
            }
        };
        let (outcome, ()) = tokio::join!(self.run_job(job, events, Some(&mut collector), cancel), listen);
        Ok(match outcome? {
            JobOutcome::InstallError { error } => Report::install_error(self.settings.dependencies.clone(), error),
            JobOutcome::Ran { dependencies, end, .. } => {
                Report::of_run(collector, dependencies, *end, (context, &limits))
            }
        })
    }

    /// Runs a script and sends its output to `events`. A slow receiver slows the script down.
    ///
    /// Imports that no known package provides are left to Python, which may find them in a mount.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the script could not be run at all.
    pub async fn exec(
        &self,
        request: Request,
        events: mpsc::Sender<RunEvent>,
        cancel: &CancellationToken,
    ) -> Result<ScriptReport, RunError> {
        let input = InputForwarder::new(None);
        let mode = request.mode;
        let temporary = temporary_directories(&request.env);
        let execute = Execute {
            file_name: request.file_name,
            argv: request.argv,
            directory: request.directory,
            mode,
            server: request.server,
            env: request.env,
            ends_program: true,
            source_bytes: request.source_bytes,
            states_requirements: request.states_requirements,
            ..execute_request(request.code, Globals::default(), &input, true)
        };
        let imports = match mode {
            ExecuteMode::Module => request.local.sources.iter().flat_map(|source| imports_of(source)).collect(),
            _ => imports_of(&execute.code),
        };
        // Who names an image builds it.
        let learned = if request.image.is_some() { BTreeSet::new() } else { imports.clone() };
        let built = request.image.filter(|image| self.engine.has_image(image));
        let image = built.unwrap_or_else(|| self.image_for(&imports));
        let granted: Vec<String> = request.mounts.iter().map(|mount| mount.guest.clone()).collect();
        let absent = request.absent_modules;
        let module = (mode == ExecuteMode::Module).then(|| execute.code.clone());
        let context = if mode == ExecuteMode::Module || execute.file_name == COMMAND_NAME {
            CodeContext::CommandLine
        } else {
            CodeContext::of_script(&execute.code)
        };
        let (mounts, stdin, messages) = (request.mounts, request.stdin, request.messages);
        let spec = MachineSpec { image, limits: *self.limits(), mounts, stdin, messages, ..MachineSpec::default() };
        let job = Job {
            spec,
            execute,
            imports: learned,
            requirements: request.requirements,
            inference: Inference::Lenient,
            input,
            principal: String::new(),
            phases: None,
            sink: request.sink,
            local: request.local,
            start: request.start,
        };
        let outcome = self.run_job(job, events.clone(), None, cancel).await?;
        if let JobOutcome::Ran { end, .. } = &outcome {
            let dropped = match &**end {
                RunEnd::Completed { outcome, .. } => outcome.output_dropped,
                RunEnd::MachineExited { output_dropped, .. } => *output_dropped,
            };
            if dropped > 0 {
                let text = format!("{}\n", explain::output_dropped(dropped, self.limits()));
                // The receiver may be gone.
                let _ = events.send(RunEvent::Output { name: StreamName::Stderr, text }).await;
            }
        }
        let (end, copied) = match outcome {
            JobOutcome::InstallError { error } => {
                let end = ScriptEnd::InstallError { text: error };
                return Ok(ScriptReport { end, new_files: NewFiles::default(), copied: CopyReport::default() });
            }
            JobOutcome::Ran { end, copied, .. } => (*end, copied),
        };
        let new_files = match &end {
            RunEnd::Completed { outcome, .. } => NewFiles::beyond(outcome, &temporary, MAX_NAMED_FILES),
            RunEnd::MachineExited { .. } => NewFiles::default(),
        };
        let end = script_end(end, module.as_deref(), context, &absent, &granted, self.limits());
        Ok(ScriptReport { end, new_files, copied })
    }

    /// Runs a job from admission to its end. Output goes to `events` and, if there is one, to `collector`, which bounds it.
    /// `events` is closed afterwards.
    pub(crate) async fn run_job(
        &self,
        job: Job,
        events: mpsc::Sender<RunEvent>,
        collector: Option<&mut OutputCollector>,
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
            end = self.execute((&mut *machine, &*stop.0), execute, input, (&events, collector), (&limits, cancel)) => end?,
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
        (events, mut collector): (&mpsc::Sender<RunEvent>, Option<&mut OutputCollector>),
        (limits, cancel): (&Limits, &CancellationToken),
    ) -> Result<RunEnd, RunError> {
        let deadline = Deadline { limits, margin: ENGINE_MARGIN, cancel, revoked: None };
        let execution = Execution::new(events, input, Some(self.packages.clone()), deadline);
        let (sender, received) = machine_events();
        let running = machine.execute(execute, sender);
        let collect = |event| match &mut collector {
            Some(collector) => collector.take(event),
            None => output_of(event),
        };
        let (end, missing) = execution.run(interrupt_handle, running, received, collect).await;
        match end.into_result() {
            Ok(outcome) => Ok(RunEnd::Completed { outcome, missing }),
            Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) => {
                Ok(RunEnd::MachineExited { reason, output_dropped, peak_memory_bytes })
            }
            Err(error) => Err(RunError::Engine(error)),
        }
    }
}

/// Input of [`Runner::run_job`].
pub(crate) struct Job {
    pub(crate) spec: MachineSpec,
    pub(crate) execute: Execute,
    /// Top-level modules that an image may be built of.
    pub(crate) imports: BTreeSet<String>,
    /// Requirements that are added to the requirements of every run.
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

/// Returns the directories of temporary files of a program with these variables.
fn temporary_directories(env: &[(String, String)]) -> Vec<String> {
    let named = env.iter().filter(|(name, _)| ["TMPDIR", "TEMP", "TMP"].contains(&name.as_str()));
    let named = named.map(|(_, directory)| directory.trim_end_matches('/')).filter(|directory| directory.len() > 1);
    ["/tmp", "/var/tmp", "/usr/tmp"].into_iter().chain(named).map(|directory| format!("{directory}/")).collect()
}

/// Kills the machine when its run is over or its future is dropped.
struct KillOnDrop(Arc<dyn InterruptHandle>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}
