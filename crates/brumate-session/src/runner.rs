//! One run: a fresh machine, the packages, the code, the end.

use std::sync::Arc;
use std::time::Duration;

use brumate_engine::api::{Analysis, Event, Execute, Limits, MachineSpec};
use brumate_packages::Bundle;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::choice::image_for;
use crate::dependencies::{self, Inference, Plan};
use crate::engine::{Died, Engine, EngineError, Interrupter, Machine};
use crate::question::{Asker, pass_on, passed};
use crate::report::{Collector, RunEnd, RunReport, output_of};
use crate::request::{Failure, RunEvent, RunRequest, RunnerSettings};

/// Machine events that may wait for their consumer; beyond that the guest waits.
const EVENT_QUEUE: usize = 64;
/// How much later than its limits allow an engine may answer before the machine is killed over its head.
const ENGINE_MARGIN: Duration = Duration::from_secs(10);

/// Runs code, each time in a fresh machine. Clones share the limit on runs at the same time.
#[derive(Clone)]
pub struct Runner {
    engine: Arc<dyn Engine>,
    bundle: Arc<Bundle>,
    settings: Arc<RunnerSettings>,
    admission: Arc<Admission>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Everything that [`Runner::drive`] needs to know.
pub(crate) struct Job {
    pub(crate) spec: MachineSpec,
    pub(crate) execute: Execute,
    pub(crate) inference: Inference,
    pub(crate) asker: Asker,
}

/// How far a job came.
pub(crate) enum Driven {
    /// Packages were missing.
    InstallError { error: String },
    /// The code ran.
    Ran { dependencies: Vec<String>, end: RunEnd },
}

impl Runner {
    /// A runner over `engine` whose machines have the wheels of `bundle`.
    pub fn new(engine: Arc<dyn Engine>, bundle: Arc<Bundle>, settings: RunnerSettings) -> Self {
        let admission = Arc::new(Admission::new(settings.max_concurrent));
        Self { engine, bundle, settings: Arc::new(settings), admission }
    }

    /// The limits of each machine.
    pub fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// The settings.
    pub fn settings(&self) -> &RunnerSettings {
        &self.settings
    }

    /// Runs code and reports what became of it. `onlooker` sees events as they come and must not block.
    ///
    /// When `cancel` is cancelled, waiting ends at once, running code is interrupted, and killed when it does not
    /// react; the report of interrupted code still comes.
    ///
    /// # Errors
    ///
    /// [`Failure`] when the code could not be run at all. Whatever the code itself does is a report.
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
        let image = image_for(&request.code, &self.settings.images);
        let asker = Asker::new(request.questions);
        let execute =
            Execute { code: request.code, file_name, globals_json, allow_stdin: asker.allows(), ..Execute::default() };
        let spec = MachineSpec { image, limits: self.settings.limits, ..MachineSpec::default() };
        let job = Job { spec, execute, inference: Inference::Strict, asker };

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
                    other => onlooker(other),
                }
            }
        };
        let (driven, ()) = tokio::join!(self.drive(job, events, cancel), gather);
        Ok(match driven? {
            Driven::InstallError { error } => RunReport::install_error(self.settings.dependencies.clone(), error),
            Driven::Ran { dependencies, end } => collector.finish(dependencies, end, self.limits()),
        })
    }

    /// Makes `requirements` ready, as the first run that needs them would.
    ///
    /// # Errors
    ///
    /// The outer one is the engine's; the inner one is a text that says which requirements cannot be met.
    pub async fn warm_up(&self, requirements: &[String]) -> Result<Result<Vec<String>, String>, Failure> {
        let planned = dependencies::stated(requirements, "")
            .and_then(|stated| dependencies::plan(&self.bundle, stated, &Analysis::default(), Inference::Lenient));
        match planned {
            Err(error) => Ok(Err(error)),
            Ok(plan) => {
                self.engine.prepare(&plan.wheels).await.map_err(Failure::Engine)?;
                Ok(Ok(plan.wheels))
            }
        }
    }

    /// The whole way of a job. Events end when this does.
    pub(crate) async fn drive(
        &self,
        job: Job,
        events: mpsc::Sender<RunEvent>,
        cancel: &CancellationToken,
    ) -> Result<Driven, Failure> {
        let Job { spec, execute, inference, asker } = job;
        let ready = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Failure::Cancelled),
            ready = self.make_ready(spec, &execute.code, inference, &events) => ready?,
        };
        let (_permit, mut machine, plan) = match ready {
            Ready::Machine { permit, machine, plan } => (permit, machine, plan),
            Ready::InstallError(error) => return Ok(Driven::InstallError { error }),
            Ready::Died { reason, output_dropped, peak_memory_bytes } => {
                let end = RunEnd::Died { reason, output_dropped, peak_memory_bytes };
                return Ok(Driven::Ran { dependencies: Vec::new(), end });
            }
        };
        let end = self.execute(&mut *machine, execute, asker, &events, cancel).await?;
        Ok(Driven::Ran { dependencies: plan.dependencies, end })
    }

    /// Everything before the code runs.
    async fn make_ready(
        &self,
        spec: MachineSpec,
        code: &str,
        inference: Inference,
        events: &mpsc::Sender<RunEvent>,
    ) -> Result<Ready, Failure> {
        let permit = self
            .admission
            .enter()
            .await
            .map_err(|busy| Failure::Busy { running: busy.running, waiting: busy.waiting })?;
        // Before a machine is taken: most mistakes in metadata cost nothing.
        let stated = match dependencies::stated(&self.settings.dependencies, code) {
            Ok(stated) => stated,
            Err(error) => return Ok(Ready::InstallError(error)),
        };
        let mut machine = self.engine.machine(spec).await.map_err(Failure::Engine)?;
        let analysis = if stated.infer {
            // Parsing takes no longer than running may.
            let analyzed = timeout(self.limits().wall, machine.analyze(code)).await;
            let silent = EngineError::Died { reason: Died::TimeLimit, output_dropped: 0, peak_memory_bytes: None };
            match analyzed.unwrap_or(Err(silent)) {
                Ok(analysis) => analysis,
                Err(EngineError::Died { reason, output_dropped, peak_memory_bytes }) => {
                    return Ok(Ready::Died { reason, output_dropped, peak_memory_bytes });
                }
                Err(error) => return Err(Failure::Engine(error)),
            }
        } else {
            Analysis::default()
        };
        let plan = match dependencies::plan(&self.bundle, stated, &analysis, inference) {
            Ok(plan) => plan,
            Err(error) => return Ok(Ready::InstallError(error)),
        };
        if !plan.wheels.is_empty() {
            // An onlooker that is gone is no reason to stop; the same below.
            let _ = events.send(RunEvent::Loading { wheels: plan.wheels.clone() }).await;
            self.engine.prepare(&plan.wheels).await.map_err(Failure::Engine)?;
            let _ = events.send(RunEvent::Loaded { wheels: plan.wheels.clone() }).await;
        }
        Ok(Ready::Machine { permit, machine, plan })
    }

    /// Runs the code and passes its output on.
    async fn execute(
        &self,
        machine: &mut dyn Machine,
        execute: Execute,
        mut asker: Asker,
        events: &mpsc::Sender<RunEvent>,
        cancel: &CancellationToken,
    ) -> Result<RunEnd, Failure> {
        let limits = self.limits();
        let waiting = asker.waiting();
        let stop = KillOnDrop(machine.interrupter());
        let (sender, mut received) = mpsc::channel(EVENT_QUEUE);
        let pass_on = async {
            loop {
                let event = tokio::select! {
                    event = received.recv() => match event {
                        None => break,
                        Some(Event::InputRequest { prompt, password }) => {
                            asker.ask(prompt, password, &*stop.0);
                            continue;
                        }
                        Some(event) => event,
                    },
                    reply = asker.replied() => {
                        let Some(event) = pass_on(reply, &*stop.0) else { continue };
                        stop.0.interrupt();
                        event
                    }
                };
                if let Some((name, text)) = output_of(event) {
                    let _ = events.send(RunEvent::Output { name, text }).await;
                }
            }
        };
        let running = async { tokio::join!(machine.execute(execute, sender), pass_on).0 };
        let overdue = async {
            // Whichever comes first: the time that the engine has in any case, or that after a cancellation.
            let whole = limits.wall.saturating_add(limits.grace).saturating_add(ENGINE_MARGIN);
            tokio::select! {
                () = cancel.cancelled() => {
                    stop.0.interrupt();
                    tokio::time::sleep(limits.grace.saturating_add(ENGINE_MARGIN)).await;
                    Died::Cancelled
                }
                () = passed(whole, waiting) => Died::TimeLimit,
            }
        };
        let result = tokio::select! {
            result = running => result,
            reason = overdue => {
                tracing::error!("the engine did not keep its limits; the machine is killed");
                Err(EngineError::Died { reason, output_dropped: 0, peak_memory_bytes: None })
            }
        };
        match result {
            Ok(outcome) => Ok(RunEnd::Ended(outcome)),
            Err(EngineError::Died { reason, output_dropped, peak_memory_bytes }) => {
                Ok(RunEnd::Died { reason, output_dropped, peak_memory_bytes })
            }
            Err(error) => Err(Failure::Engine(error)),
        }
    }
}

/// What [`Runner::make_ready`] ends with.
enum Ready {
    Machine { permit: tokio::sync::OwnedSemaphorePermit, machine: Box<dyn Machine>, plan: Plan },
    InstallError(String),
    Died { reason: Died, output_dropped: u64, peak_memory_bytes: Option<u64> },
}

/// Ends the machine when its run is over or nobody waits for it any more.
struct KillOnDrop(Arc<dyn Interrupter>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}
