//! Runs: each takes a fresh machine, prepares its packages and executes its code.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use brumate_engine_api::{
    Engine, EngineError, Event, Execute, ExitReason, Image, Interrupter, Limits, Machine, MachineSpec, Preparing,
};
use brumate_packages::Bundle;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::admission::{Admission, Refused};
use crate::allowance::Allowances;
use crate::choice::{image_for, imports_of};
use crate::dependencies::{self, Inference};
use crate::installs::{Installer, Step};
use crate::learned::{Builder, LearnedImages};
use crate::new_files::{Copied, FileSink, copy_out};
use crate::packages::{Installation, PackageEvent, Packages};
use crate::prepare::{Prepared, Ready};
use crate::question::{Asker, pass_on, passed};
use crate::report::{Collector, RunEnd, RunReport, output_of};
use crate::request::{Failure, Phases, RunEvent, RunRequest, RunnerSettings};
use crate::sessions::figures::picture_of;

/// Machine events that may wait for the receiver; then the guest waits.
const EVENT_QUEUE: usize = 64;
/// Time beyond its limits after which an engine that does not answer has its machine killed.
const ENGINE_MARGIN: Duration = Duration::from_secs(10);

/// Runs code, each time in a fresh machine. Clones share the limit on simultaneous runs.
#[derive(Clone)]
pub struct Runner {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) packages: Packages,
    pub(crate) settings: Arc<RunnerSettings>,
    admission: Admission,
    /// Image with the layers of `dependencies`, once it is built.
    own_image: Arc<OnceLock<Image>>,
    learned: Arc<LearnedImages>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Input of [`Runner::run_job`].
pub(crate) struct Job {
    pub(crate) spec: MachineSpec,
    pub(crate) execute: Execute,
    /// Top-level modules that the code imports.
    pub(crate) imports: BTreeSet<String>,
    pub(crate) inference: Inference,
    pub(crate) asker: Asker,
    pub(crate) principal: String,
    pub(crate) phases: Option<Arc<Phases>>,
    pub(crate) sink: Option<Box<dyn FileSink>>,
}

/// Result of [`Runner::run_job`].
pub(crate) enum JobOutcome {
    /// A package could not be installed.
    InstallError { error: String },
    /// The code ran.
    Ran { dependencies: Vec<String>, end: Box<RunEnd>, copied: Copied },
}

impl Runner {
    /// Makes a runner over `engine` whose machines can use the wheels of `bundle` only.
    pub fn new(engine: Arc<dyn Engine>, bundle: Arc<Bundle>, settings: RunnerSettings) -> Self {
        let packages = Packages::bundle_only(Arc::clone(&engine), bundle);
        let admission = Admission::new(settings.max_concurrent, Allowances::default());
        let learned = Arc::new(LearnedImages::open(settings.builder, settings.imports_file.clone()));
        Self { engine, packages, settings: Arc::new(settings), admission, own_image: Arc::default(), learned }
    }

    /// Sets the package service.
    #[must_use]
    pub fn with_packages(mut self, packages: Packages) -> Self {
        self.packages = packages;
        self
    }

    /// Sets an admission that is shared with others.
    #[must_use]
    pub fn with_admission(mut self, admission: Admission) -> Self {
        self.admission = admission;
        self
    }

    /// Returns the admission that runs wait for.
    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Revokes a principal's access: see [`Admission::revoke`].
    pub fn revoke(&self, principal: &str) {
        self.admission.revoke(principal);
    }

    /// Returns the package service.
    pub fn packages(&self) -> &Packages {
        &self.packages
    }

    /// Returns a receiver of the work that runs wait for at present; see [`Engine::preparing`].
    pub fn preparing(&self) -> Option<watch::Receiver<Option<Preparing>>> {
        self.engine.preparing()
    }

    /// Returns the limits of each machine.
    pub fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Waits for background work, the compilation of new packages. Call it before the process ends.
    pub async fn settle(&self, cancel: &CancellationToken) {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = self.packages.settle() => {}
        }
    }

    /// Adds an image that runs are forked from: that of the packages given at start, once they are known. Only the
    /// first call counts.
    pub fn set_own_image(&self, image: Image) {
        let _ = self.own_image.set(image);
    }

    /// Returns the image for code that imports these modules.
    pub(crate) fn image_for(&self, imports: &BTreeSet<String>) -> Image {
        let mut images = self.settings.images.clone();
        images.extend(self.own_image.get().cloned());
        // Another process may have removed an image.
        images.extend(self.learned.images().into_iter().filter(|image| self.engine.has_image(image)));
        image_for(imports, &images)
    }

    /// Counts what code imports from the bundle, and builds an image when a set is due.
    fn learn(&self, imports: BTreeSet<String>) {
        let builder = self.learned.builder();
        if builder == Builder::Nobody {
            return;
        }
        let of_bundle = |module: &String| self.packages.bundle().distribution_of(module).is_some();
        let wanted = self.learned.note(imports.into_iter().filter(of_bundle).collect());
        if builder == Builder::Elsewhere {
            // This process is about to end.
            self.learned.save();
            return;
        }
        let (engine, learned) = (self.engine.clone(), self.learned.clone());
        tokio::spawn(async move {
            if let Some(image) = wanted {
                let built = engine.warm_ahead(&image).await;
                if let Err(error) = &built {
                    tracing::debug!(%image, %error, "no image could be built of what code imports");
                }
                if let Some(surplus) = learned.finished(&image, built.is_ok()) {
                    engine.remove_image(&surplus).await;
                }
            }
            // Writes a file, so it runs in a blocking thread.
            let _ = tokio::task::spawn_blocking(move || learned.save()).await;
        });
    }

    /// Takes the image that another process has to build, if there is one.
    pub fn image_to_build(&self) -> Option<Image> {
        self.learned.take_wanted()
    }

    /// Notes the result of building an image that [`Runner::image_to_build`] returned, here or in another process.
    pub async fn image_was_built(&self, image: &Image, built: bool) {
        if let Some(surplus) = self.learned.finished(image, built) {
            self.engine.remove_image(&surplus).await;
        }
        self.learned.save();
    }

    /// Returns the settings.
    pub fn settings(&self) -> &RunnerSettings {
        &self.settings
    }

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
        request: RunRequest,
        cancel: &CancellationToken,
        onlooker: &mut (dyn FnMut(RunEvent) + Send),
    ) -> Result<RunReport, Failure> {
        let globals_json = match request.globals.is_empty() {
            true => String::new(),
            false => serde_json::Value::Object(request.globals).to_string(),
        };
        let file_name = if request.file_name.is_empty() { "main.py".to_owned() } else { request.file_name };
        let imports = imports_of(&request.code);
        let image = self.image_for(&imports);
        let asker = Asker::new(request.questions);
        let execute =
            Execute { code: request.code, file_name, globals_json, allow_stdin: asker.allows(), ..Execute::default() };
        let principal = request.principal.as_str().into();
        let spec = MachineSpec { principal, image, limits: self.settings.limits, ..MachineSpec::default() };
        // Code that uses micropip may install the modules that it imports.
        let inference = if execute.code.contains("micropip") { Inference::Lenient } else { Inference::Strict };
        let principal = request.principal;
        let job = Job { spec, execute, imports, inference, asker, principal, phases: request.phases, sink: None };

        let (events, mut received) = mpsc::channel(EVENT_QUEUE);
        let mut collector = Collector::new(self.limits());
        let gather = async {
            while let Some(event) = received.recv().await {
                match event {
                    RunEvent::Output { name, text } => {
                        let text = collector.push(name, &text).to_owned();
                        if !text.is_empty() {
                            onlooker(RunEvent::Output { name, text });
                        }
                    }
                    RunEvent::Figure { bytes } => collector.show(bytes),
                    other => onlooker(other),
                }
            }
        };
        let (driven, ()) = tokio::join!(self.drive(job, events, cancel), gather);
        Ok(match driven? {
            JobOutcome::InstallError { error } => RunReport::install_error(self.settings.dependencies.clone(), error),
            JobOutcome::Ran { dependencies, end, .. } => collector.finish(dependencies, *end, self.limits()),
        })
    }

    /// Prepares `requirements` as the first run that needs them would, and waits for their bytecode.
    ///
    /// # Errors
    ///
    /// The outer error is the engine's. The inner one is a text that says which requirements cannot be met.
    pub async fn warm_up(
        &self,
        requirements: &[String],
        onlooker: &(dyn Fn(PackageEvent) + Send + Sync),
    ) -> Result<Result<Arc<Installation>, String>, Failure> {
        let wanted = match dependencies::stated(requirements, "") {
            Ok(stated) => stated.wanted(),
            Err(error) => return Ok(Err(error)),
        };
        match self.packages.install(wanted, onlooker).await {
            Err(error) => Ok(Err(error.to_string())),
            Ok(installation) => {
                self.engine.prepare(&installation.wheels).await.map_err(Failure::Engine)?;
                Ok(Ok(self.packages.compiled(installation).await))
            }
        }
    }

    /// Runs a job from admission to its end. `events` is closed afterwards.
    pub(crate) async fn drive(
        &self,
        job: Job,
        events: mpsc::Sender<RunEvent>,
        cancel: &CancellationToken,
    ) -> Result<JobOutcome, Failure> {
        let Job { spec, execute, imports, inference, asker, principal, phases, sink } = job;
        let phases = phases.as_ref();
        let mut permit = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Failure::Cancelled),
            admitted = self.admission.enter(&principal) => admitted.map_err(|refused| match refused {
                Refused::Busy { running, waiting } => Failure::Busy { running, waiting },
                Refused::OverLimit(over) => Failure::OverLimit(over),
                Refused::Revoked => Failure::Revoked,
            })?,
        };
        Phases::admit(phases);
        let revoked = permit.revoked().clone();
        let ready = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Failure::Cancelled),
            () = revoked.cancelled() => return Err(Failure::Revoked),
            ready = self.make_ready(spec, &execute.code, inference, &events) => ready?,
        };
        let Prepared { mut machine, dependencies } = match ready {
            Ready::Machine(prepared) => prepared,
            Ready::InstallError(error) => return Ok(JobOutcome::InstallError { error }),
            Ready::Died { reason, output_dropped, peak_memory_bytes } => {
                let end = Box::new(RunEnd::Died { reason, output_dropped, peak_memory_bytes });
                return Ok(JobOutcome::Ran { dependencies: Vec::new(), end, copied: Copied::default() });
            }
        };
        permit.begins(self.limits().cpu);
        Phases::start(phases);
        let stop = KillOnDrop(machine.interrupter());
        let end = tokio::select! {
            biased;
            // Dropping the machine ends it.
            () = revoked.cancelled() => return Err(Failure::Revoked),
            end = self.execute(&mut *machine, &*stop.0, execute, asker, &events, cancel) => end?,
        };
        if let RunEnd::Ended { outcome, .. } = &end {
            permit.took(outcome.cpu);
            self.learn(imports);
        }
        let copied = match (&end, sink) {
            // Files of an interrupted script count as well, as they do natively.
            (RunEnd::Ended { outcome, .. }, Some(mut sink)) => {
                copy_out(&mut *machine, outcome, &mut *sink, self.limits().mount_bytes).await
            }
            _ => Copied::default(),
        };
        Ok(JobOutcome::Ran { dependencies, end: Box::new(end), copied })
    }

    /// Executes the code and forwards its events.
    async fn execute(
        &self,
        machine: &mut dyn Machine,
        interrupter: &dyn Interrupter,
        execute: Execute,
        mut asker: Asker,
        events: &mpsc::Sender<RunEvent>,
        cancel: &CancellationToken,
    ) -> Result<RunEnd, Failure> {
        let limits = self.limits();
        let waiting = asker.waiting();
        let mut installer = Installer::new(self.packages.clone(), asker.waiting_sender());
        let execute = Execute { allow_install: true, ..execute };
        let (sender, mut received) = mpsc::channel(EVENT_QUEUE);
        let pass_on = async {
            loop {
                let event = tokio::select! {
                    event = received.recv() => match event {
                        None => break,
                        Some(Event::InputRequest { prompt, password }) => {
                            asker.ask(prompt, password, interrupter);
                            continue;
                        }
                        Some(Event::Install(request)) => {
                            installer.begin(request, interrupter.layers());
                            continue;
                        }
                        Some(event) => event,
                    },
                    step = installer.step() => {
                        match step {
                            Step::Event(event) => {
                                let _ = events.try_send(RunEvent::Packages(event));
                            }
                            // Too late if the code has ended.
                            Step::Done(answer) => drop(interrupter.install(answer)),
                        }
                        continue;
                    }
                    reply = asker.replied() => {
                        let Some(event) = pass_on(reply, interrupter) else { continue };
                        interrupter.interrupt();
                        event
                    }
                };
                let figure = match &event {
                    Event::DisplayData { data } => picture_of(data),
                    _ => None,
                };
                if let Some(bytes) = figure {
                    let _ = events.send(RunEvent::Figure { bytes }).await;
                }
                if let Some((name, text)) = output_of(event) {
                    let _ = events.send(RunEvent::Output { name, text }).await;
                }
            }
        };
        let running = async { tokio::join!(machine.execute(execute, sender), pass_on).0 };
        let overdue = async {
            // Whichever comes first: the time that the engine has in any case, or the time after a cancellation.
            let whole = limits.wall.saturating_add(limits.grace).saturating_add(ENGINE_MARGIN);
            tokio::select! {
                () = cancel.cancelled() => {
                    interrupter.interrupt();
                    tokio::time::sleep(limits.grace.saturating_add(ENGINE_MARGIN)).await;
                    ExitReason::Cancelled
                }
                () = passed(whole, waiting) => ExitReason::TimeLimit,
            }
        };
        let result = tokio::select! {
            result = running => result,
            reason = overdue => {
                tracing::error!("the engine did not keep its limits; the machine is killed");
                Err(EngineError::MachineExited { reason, output_dropped: 0, peak_memory_bytes: None })
            }
        };
        match result {
            Ok(outcome) => Ok(RunEnd::Ended { outcome, missing: installer.take_missing() }),
            Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) => {
                Ok(RunEnd::Died { reason, output_dropped, peak_memory_bytes })
            }
            Err(error) => Err(Failure::Engine(error)),
        }
    }
}

/// Kills the machine when its run is over or its future is dropped.
struct KillOnDrop(Arc<dyn Interrupter>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}
