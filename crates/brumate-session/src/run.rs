//! Runs in fresh machines, from admission to the report.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::{
    Analysis, COMMAND_NAME, Engine, EngineError, Execute, ExecuteMode, ExitReason, Image, InterruptHandle, Layer,
    Limits, Machine, MachineSpec, MessagePipes, StreamName,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::admission::AdmissionError;
use crate::choice::imports_of;
use crate::dependencies::{self, Inference};
use crate::execution::{Deadline, Execution, execute_request, machine_events, run_events};
use crate::explain::{self, CodeContext};
use crate::globals::Globals;
use crate::input::InputForwarder;
use crate::new_files::{CopyReport, FileSink, NewFiles, copy_out};
use crate::packages::{Installation, ModuleIndex, PackageError, PackageRequest, Packages};
use crate::report::{OutputCollector, Report, RunEnd, output_of};
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
        let network = self.settings.grants.network_of(&request.principal);
        let spec = MachineSpec { principal, image, limits, mounts, network, ..MachineSpec::default() };
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
        let network = self.settings.grants.network_of("");
        let limits = *self.limits();
        let spec = MachineSpec { image, limits, mounts, stdin, messages, network, ..MachineSpec::default() };
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
        let (end, missing) = execution.run(interrupt_handle, running, received, (|_| {}, collect)).await;
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

/// Prepares the machine of a run.
pub(crate) struct MachinePreparer<'a> {
    pub(crate) engine: &'a dyn Engine,
    pub(crate) packages: &'a Packages,
    /// Requirements of every run.
    pub(crate) dependencies: &'a [String],
    pub(crate) limits: &'a Limits,
    /// Receives progress.
    pub(crate) events: &'a mpsc::Sender<RunEvent>,
}

impl MachinePreparer<'_> {
    /// Resolves the packages that `code` needs and makes a machine with them.
    pub(crate) async fn prepare(
        &self,
        spec: MachineSpec,
        code: &str,
        local: &LocalModules,
        inference: Inference,
    ) -> Result<Preparation, RunError> {
        // Before a machine is made: most mistakes in metadata cost nothing then.
        let stated = match dependencies::read_stated(self.dependencies, code) {
            Ok(stated) => stated,
            Err(error) => return Ok(Preparation::InstallError(error)),
        };
        let found = match stated.infer {
            true => self.machine_and_imports(spec, &stated, code, local, inference).await?,
            false => {
                let requests = stated.requests();
                match self.install(requests.clone()).await {
                    Err(error) => PackagedMachine::Unavailable(Preparation::InstallError(error.to_string())),
                    Ok(installation) => {
                        let layers = installation.layers.clone();
                        let image = if self.suits(&spec.image, &layers) { spec.image } else { Image::plain() };
                        let spec = MachineSpec { image, layers, ..spec };
                        PackagedMachine::pair(self.engine.machine(spec).await, requests, installation)?
                    }
                }
            }
        };
        let (machine, requests, installation) = match found {
            PackagedMachine::Unavailable(preparation) => return Ok(preparation),
            PackagedMachine::Machine(machine, requests, installation) => (machine, requests, installation),
        };
        let wheels = &installation.wheels;
        if !wheels.is_empty() {
            // The receiver may be gone; the same below.
            let _ = self.events.send(RunEvent::Loading { wheels: wheels.clone() }).await;
            self.engine.compile_wheels(wheels).await.map_err(RunError::Engine)?;
            let _ = self.events.send(RunEvent::Loaded { wheels: wheels.clone() }).await;
        }
        let dependencies = requests.iter().map(|request| request.requirement.to_string()).collect();
        Ok(Preparation::Ready(PreparedMachine { machine, dependencies, installation }))
    }

    /// Makes a machine with the stated packages and those that `code` imports. The machine parses the code, and gets
    /// the packages as well, unless its image conflicts with them.
    async fn machine_and_imports(
        &self,
        spec: MachineSpec,
        stated: &dependencies::StatedRequirements,
        code: &str,
        local: &LocalModules,
        inference: Inference,
    ) -> Result<PackagedMachine, RunError> {
        let mut machine = self.engine.machine(copy(&spec)?).await.map_err(RunError::Engine)?;
        let mut analysis = Analysis::default();
        for source in std::iter::once(code).chain(local.sources.iter().map(String::as_str)) {
            match self.analyze(&mut *machine, source).await? {
                Ok(found) => merge(&mut analysis, found),
                Err(exited) => return Ok(PackagedMachine::Unavailable(exited)),
            }
        }
        let is_local = |module: &String| local.names.contains(module);
        analysis.imports.retain(|module| !is_local(module));
        analysis.optional_imports.retain(|module| !is_local(module));
        let (requests, installation) = match self.inferred(stated, &analysis, inference).await {
            Ok(found) => found,
            Err(error) => return Ok(PackagedMachine::Unavailable(Preparation::InstallError(error))),
        };
        let layers = installation.layers.clone();
        let made = if !self.suits(&spec.image, &layers) {
            drop(machine);
            self.engine.machine(MachineSpec { image: Image::plain(), layers, ..spec }).await
        } else if !layers.is_empty() {
            machine.mount(&layers).await.map(|()| machine)
        } else {
            Ok(machine)
        };
        PackagedMachine::pair(made, requests, installation)
    }

    /// Returns whether machines of an image may get these layers. A package that the image has imported must not be another version, and
    /// code must not find a package of the image that it does not need.
    fn suits(&self, image: &Image, layers: &[Layer]) -> bool {
        self.engine.replaced_packages(image, layers).is_empty()
            && image.layers().iter().all(|layer| layers.contains(layer))
    }

    /// Returns the imports of `code`, or the end of the machine that parsed it.
    async fn analyze(&self, machine: &mut dyn Machine, code: &str) -> Result<Result<Analysis, Preparation>, RunError> {
        // Parsing may take as long as running.
        let analyzed = timeout(self.limits.wall, machine.analyze(code)).await;
        let silent =
            EngineError::MachineExited { reason: ExitReason::TimeLimit, output_dropped: 0, peak_memory_bytes: None };
        match analyzed.unwrap_or(Err(silent)) {
            Ok(analysis) => Ok(Ok(analysis)),
            Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) => {
                Ok(Err(Preparation::MachineExited { reason, output_dropped, peak_memory_bytes }))
            }
            Err(error) => Err(RunError::Engine(error)),
        }
    }

    /// Resolves the stated requirements and the imports. With [`Inference::Lenient`], imports whose packages cannot be
    /// installed are left to Python; the log has the reason.
    async fn inferred(
        &self,
        stated: &dependencies::StatedRequirements,
        analysis: &Analysis,
        inference: Inference,
    ) -> Result<(Vec<PackageRequest>, Arc<Installation>), String> {
        // Modules of stated packages need no package of their own.
        let first = match stated.requirements.is_empty() {
            true => Arc::default(),
            false => self.install(stated.requests()).await.map_err(|error| error.to_string())?,
        };
        let provided = first.packages.iter().flat_map(|package| &package.import_names).map(String::as_str).collect();
        let bundle = self.packages.bundle();
        let mut imports = analysis.imports.iter().chain(&analysis.optional_imports);
        let modules = match imports.all(|module| bundle.distribution_of(module).is_some()) {
            true => ModuleIndex::default(),
            false => self.packages.modules().await,
        };
        let requests = stated.with_imports(bundle, &modules, analysis, inference, &provided)?;
        let error = match self.install(requests.clone()).await {
            Ok(installation) => return Ok((requests, installation)),
            Err(error) => error,
        };
        let is_stated = requests.iter().all(|request| request.module.is_none());
        if inference == Inference::Strict || is_stated {
            return Err(error.to_string());
        }
        // Python's import error tells the user the same.
        tracing::debug!(%error, "packages of imported modules cannot be had");
        let left: Vec<PackageRequest> = requests
            .into_iter()
            .filter(|request| request.module.is_none() || bundle.version(&request.requirement.name).is_some())
            .collect();
        let installation = self.install(left.clone()).await.map_err(|error| error.to_string())?;
        Ok((left, installation))
    }

    async fn install(&self, requests: Vec<PackageRequest>) -> Result<Arc<Installation>, PackageError> {
        let report = |event| {
            // A full queue drops progress.
            let _ = self.events.try_send(RunEvent::Packages(event));
        };
        self.packages.install(requests, &report).await
    }
}

/// Result of [`MachinePreparer::prepare`].
pub(crate) enum Preparation {
    Ready(PreparedMachine),
    InstallError(String),
    MachineExited { reason: ExitReason, output_dropped: u64, peak_memory_bytes: Option<u64> },
}

/// Machine with layers, before the bundle's wheels are prepared.
enum PackagedMachine {
    Machine(Box<dyn Machine>, Vec<PackageRequest>, Arc<Installation>),
    Unavailable(Preparation),
}

impl PackagedMachine {
    /// Pairs `machine` with its packages, unless its layers could not be mounted.
    fn pair(
        machine: Result<Box<dyn Machine>, EngineError>,
        requests: Vec<PackageRequest>,
        installation: Arc<Installation>,
    ) -> Result<PackagedMachine, RunError> {
        match machine {
            Ok(machine) => Ok(PackagedMachine::Machine(machine, requests, installation)),
            Err(error @ EngineError::Layer { .. }) => {
                Ok(PackagedMachine::Unavailable(Preparation::InstallError(error.to_string())))
            }
            Err(error) => Err(RunError::Engine(error)),
        }
    }
}

/// Machine with its packages.
pub(crate) struct PreparedMachine {
    pub(crate) machine: Box<dyn Machine>,
    /// Requirements as the caller would write them.
    pub(crate) dependencies: Vec<String>,
    pub(crate) installation: Arc<Installation>,
}

/// Adds what was found in another source text.
fn merge(analysis: &mut Analysis, found: Analysis) {
    let Analysis { imports, optional_imports, requirements, syntax_error } = found;
    analysis.imports.extend(imports);
    analysis.optional_imports.extend(optional_imports);
    for requirement in requirements {
        if !analysis.requirements.contains(&requirement) {
            analysis.requirements.push(requirement);
        }
    }
    analysis.syntax_error |= syntax_error;
}

/// Clones a specification, for a second machine if the first one does not suit.
fn copy(spec: &MachineSpec) -> Result<MachineSpec, RunError> {
    let stdin = spec.stdin.as_ref().map(|stdin| stdin.try_clone()).transpose();
    let stdin = stdin.map_err(|error| RunError::Engine(error.into()))?;
    let messages = spec.messages.as_ref().map(MessagePipes::try_clone).transpose();
    let messages = messages.map_err(|error| RunError::Engine(error.into()))?;
    let (image, mounts, layers) = (spec.image.clone(), spec.mounts.clone(), spec.layers.clone());
    Ok(MachineSpec {
        principal: spec.principal.clone(),
        image,
        limits: spec.limits,
        mounts,
        stdin,
        messages,
        layers,
        network: spec.network.clone(),
        private_image: None,
    })
}
