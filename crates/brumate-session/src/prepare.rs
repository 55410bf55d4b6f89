//! Steps before the code of a run: resolves its packages, and makes a machine that has them.

use std::sync::Arc;

use brumate_engine_api::{Analysis, EngineError, ExitReason, Image, Machine, MachineSpec};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::dependencies::{self, Inference};
use crate::packages::{Installation, Modules, PackageError, Wanted};
use crate::request::{Failure, RunEvent};
use crate::runner::Runner;

impl Runner {
    /// Resolves the packages that `code` needs and makes a machine with them.
    pub(crate) async fn make_ready(
        &self,
        spec: MachineSpec,
        code: &str,
        inference: Inference,
        events: &mpsc::Sender<RunEvent>,
    ) -> Result<Ready, Failure> {
        // Before a machine is made: most mistakes in metadata cost nothing then.
        let stated = match dependencies::stated(&self.settings.dependencies, code) {
            Ok(stated) => stated,
            Err(error) => return Ok(Ready::InstallError(error)),
        };
        let found = match stated.infer {
            true => self.machine_and_imports(spec, &stated, code, inference, events).await?,
            false => {
                let wanted = stated.wanted();
                match self.install(wanted.clone(), events).await {
                    Err(error) => Found::Nothing(Ready::InstallError(error.to_string())),
                    Ok(installation) => {
                        let spec = MachineSpec { layers: installation.layers.clone(), ..spec };
                        Found::of(self.engine.machine(spec).await, wanted, installation)?
                    }
                }
            }
        };
        let (machine, wanted, installation) = match found {
            Found::Nothing(ready) => return Ok(ready),
            Found::Machine(machine, wanted, installation) => (machine, wanted, installation),
        };
        let wheels = &installation.wheels;
        if !wheels.is_empty() {
            // The receiver may be gone; the same below.
            let _ = events.send(RunEvent::Loading { wheels: wheels.clone() }).await;
            self.engine.prepare(wheels).await.map_err(Failure::Engine)?;
            let _ = events.send(RunEvent::Loaded { wheels: wheels.clone() }).await;
        }
        let dependencies = wanted.iter().map(|wanted| wanted.requirement.to_string()).collect();
        Ok(Ready::Machine(Prepared { machine, dependencies }))
    }

    /// Makes a machine with the stated packages and those that `code` imports. The machine parses the code, and gets
    /// the packages as well, unless its image conflicts with them.
    async fn machine_and_imports(
        &self,
        spec: MachineSpec,
        stated: &dependencies::Stated,
        code: &str,
        inference: Inference,
        events: &mpsc::Sender<RunEvent>,
    ) -> Result<Found, Failure> {
        let mut machine = self.engine.machine(copy(&spec)?).await.map_err(Failure::Engine)?;
        let analysis = match self.analyze(&mut *machine, code).await? {
            Ok(analysis) => analysis,
            Err(died) => return Ok(Found::Nothing(died)),
        };
        let (wanted, installation) = match self.inferred(stated, &analysis, inference, events).await {
            Ok(found) => found,
            Err(error) => return Ok(Found::Nothing(Ready::InstallError(error))),
        };
        let layers = installation.layers.clone();
        let made = if !self.engine.replaced(&spec.image, &layers).is_empty() {
            drop(machine);
            self.engine.machine(MachineSpec { image: Image::plain(), layers, ..spec }).await
        } else if !layers.is_empty() {
            machine.mount(&layers).await.map(|()| machine)
        } else {
            Ok(machine)
        };
        Found::of(made, wanted, installation)
    }

    /// Returns the imports of `code`, or the end of the machine that parsed it.
    async fn analyze(&self, machine: &mut dyn Machine, code: &str) -> Result<Result<Analysis, Ready>, Failure> {
        // Parsing may take as long as running.
        let analyzed = timeout(self.limits().wall, machine.analyze(code)).await;
        let silent =
            EngineError::MachineExited { reason: ExitReason::TimeLimit, output_dropped: 0, peak_memory_bytes: None };
        match analyzed.unwrap_or(Err(silent)) {
            Ok(analysis) => Ok(Ok(analysis)),
            Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) => {
                Ok(Err(Ready::Died { reason, output_dropped, peak_memory_bytes }))
            }
            Err(error) => Err(Failure::Engine(error)),
        }
    }

    /// Resolves the stated requirements and the imports. With [`Inference::Lenient`], imports whose packages cannot be
    /// installed are left to Python; the log has the reason.
    async fn inferred(
        &self,
        stated: &dependencies::Stated,
        analysis: &Analysis,
        inference: Inference,
        events: &mpsc::Sender<RunEvent>,
    ) -> Result<(Vec<Wanted>, Arc<Installation>), String> {
        // Modules of stated packages need no package of their own.
        let first = match stated.requirements.is_empty() {
            true => Arc::default(),
            false => self.install(stated.wanted(), events).await.map_err(|error| error.to_string())?,
        };
        let provided = first.packages.iter().flat_map(|package| &package.import_names).map(String::as_str).collect();
        let bundle = self.packages.bundle();
        let mut imports = analysis.imports.iter().chain(&analysis.optional_imports);
        let modules = match imports.all(|module| bundle.distribution_of(module).is_some()) {
            true => Modules::default(),
            false => self.packages.modules().await,
        };
        let wanted = stated.with_imports(bundle, &modules, analysis, inference, &provided)?;
        let error = match self.install(wanted.clone(), events).await {
            Ok(installation) => return Ok((wanted, installation)),
            Err(error) => error,
        };
        let is_stated = wanted.iter().all(|wanted| wanted.module.is_none());
        if inference == Inference::Strict || is_stated {
            return Err(error.to_string());
        }
        // Python's import error tells the user the same.
        tracing::debug!(%error, "packages of imported modules cannot be had");
        let left: Vec<Wanted> = wanted
            .into_iter()
            .filter(|wanted| wanted.module.is_none() || bundle.version(&wanted.requirement.name).is_some())
            .collect();
        let installation = self.install(left.clone(), events).await.map_err(|error| error.to_string())?;
        Ok((left, installation))
    }

    async fn install(
        &self,
        wanted: Vec<Wanted>,
        events: &mpsc::Sender<RunEvent>,
    ) -> Result<Arc<Installation>, PackageError> {
        let tell = |event| {
            // A full queue drops progress.
            let _ = events.try_send(RunEvent::Packages(event));
        };
        self.packages.install(wanted, &tell).await
    }
}

/// Result of [`Preparation::prepare`].
pub(crate) enum Ready {
    Machine(Prepared),
    InstallError(String),
    Died { reason: ExitReason, output_dropped: u64, peak_memory_bytes: Option<u64> },
}

/// Machine with layers, before the bundle's wheels are prepared.
enum Found {
    Machine(Box<dyn Machine>, Vec<Wanted>, Arc<Installation>),
    Nothing(Ready),
}

impl Found {
    /// Pairs `machine` with its packages, unless its layers could not be mounted.
    fn of(
        machine: Result<Box<dyn Machine>, EngineError>,
        wanted: Vec<Wanted>,
        installation: Arc<Installation>,
    ) -> Result<Found, Failure> {
        match machine {
            Ok(machine) => Ok(Found::Machine(machine, wanted, installation)),
            Err(EngineError::Layer(error)) => Ok(Found::Nothing(Ready::InstallError(error))),
            Err(error) => Err(Failure::Engine(error)),
        }
    }
}

/// A machine with its packages.
pub(crate) struct Prepared {
    pub(crate) machine: Box<dyn Machine>,
    /// Requirements as the caller would write them.
    pub(crate) dependencies: Vec<String>,
}

/// Clones a specification, for a second machine if the first one does not suit.
fn copy(spec: &MachineSpec) -> Result<MachineSpec, Failure> {
    let stdin = spec.stdin.as_ref().map(|stdin| stdin.try_clone()).transpose();
    let stdin = stdin.map_err(|error| Failure::Engine(EngineError::Io(error.to_string())))?;
    let (image, mounts, layers) = (spec.image.clone(), spec.mounts.clone(), spec.layers.clone());
    Ok(MachineSpec { principal: spec.principal.clone(), image, limits: spec.limits, mounts, stdin, layers })
}
