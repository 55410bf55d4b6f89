//! Steps before the code of a run: resolves its packages, and makes a machine that has them.

use std::sync::Arc;

use brumate_engine_api::{
    Analysis, Engine, EngineError, ExitReason, Image, Layer, Limits, Machine, MachineSpec, MessagePipes,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::dependencies::{self, Inference};
use crate::packages::{Installation, ModuleIndex, PackageError, PackageRequest, Packages};
use crate::request::{LocalModules, RunError, RunEvent};

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
        private_image: None,
    })
}
