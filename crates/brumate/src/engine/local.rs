//! The engine of this host: CPython in wasmtime, with machines as jailed processes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brumate_engine::client::{self, Progress, Sandbox, SandboxConfig, StartMode, Tiers};
use brumate_engine_api::{
    Analysis, BoxFuture, Engine, EngineError, Event, Execute, FileChunk, Image, InstallAnswer, InterruptHandle, Layer,
    LayerId, Machine, MachineSpec, Outcome, Preparing, Session,
};
use brumate_session::CancellationToken;
use tokio::sync::{OnceCell, mpsc, watch};

use super::errors::engine_error;
use super::local_session::LocalSession;

/// Settings of a [`LocalEngine`].
#[derive(Clone, Default)]
pub struct LocalEngineConfig {
    /// Directory for compiled modules and images.
    pub cache_dir: PathBuf,
    /// File with the packages of a program that is handed out without them. `None`: it is looked for beside the program.
    pub bundle_file: Option<PathBuf>,
    /// Whether to fail when this host does not support a wall of the jail.
    pub require_jail: bool,
    /// Start mode of zygotes.
    pub start: StartMode,
    /// Start no zygote before a run needs it.
    pub lazy: bool,
    /// Tiers of compiled code.
    pub tiers: Tiers,
    /// Number of machines per image that are started ahead of runs.
    pub ready: usize,
    /// Idle time after which these machines end. `None`: never.
    pub idle: Option<Duration>,
    /// Program to start as jailed processes. `None`: this one.
    pub program: Option<PathBuf>,
    /// Receives the progress of compilation.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl std::fmt::Debug for LocalEngineConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("LocalEngineConfig");
        debug.field("cache_dir", &self.cache_dir).field("require_jail", &self.require_jail).finish_non_exhaustive()
    }
}

/// The engine of this host. Its sandbox starts with the first call that needs it, so that a server can answer its client at once.
/// After a failed start, the next call tries again. Clones share the sandbox.
#[derive(Debug, Clone)]
pub struct LocalEngine {
    config: Arc<LocalEngineConfig>,
    sandbox: Arc<OnceCell<Sandbox>>,
    /// Publishes the preparation that runs wait for.
    preparing: watch::Sender<Option<Preparing>>,
}

impl LocalEngine {
    /// Makes an engine. Its sandbox is not started yet.
    pub fn new(config: LocalEngineConfig) -> Self {
        Self { config: Arc::new(config), sandbox: Arc::default(), preparing: watch::Sender::new(None) }
    }

    /// Returns the sandbox. Starts it if necessary.
    ///
    /// # Errors
    ///
    /// The cache cannot be used, the interpreter does not start, or a required wall is missing.
    pub async fn sandbox(&self) -> Result<&Sandbox, EngineError> {
        let start = || async {
            let config = SandboxConfig {
                cache_dir: self.config.cache_dir.clone(),
                bundle_file: self.config.bundle_file.clone(),
                require_jail: self.config.require_jail,
                start: self.config.start,
                lazy: self.config.lazy,
                tiers: self.config.tiers,
                progress: Some(self.progress()),
                ready: self.config.ready,
                idle: self.config.idle,
                program: self.config.program.clone(),
                ..SandboxConfig::default()
            };
            Sandbox::start(config).await.map_err(engine_error)
        };
        self.sandbox.get_or_try_init(start).await
    }

    /// Returns the receiver of compilation progress: it publishes the progress and calls the configured receiver.
    fn progress(&self) -> Arc<dyn Fn(Progress) + Send + Sync> {
        let (preparing, other) = (self.preparing.clone(), self.config.progress.clone());
        Arc::new(move |progress| {
            let Progress { done, total, name, .. } = progress.clone();
            let unfinished = (done < total).then_some(Preparing { name, done, total });
            preparing.send_replace(unfinished);
            if let Some(other) = &other {
                other(progress);
            }
        })
    }

    /// Returns whether the sandbox has started and loaded code that should be optimized.
    pub fn uses_baseline_code(&self) -> bool {
        self.sandbox.get().is_some_and(Sandbox::uses_baseline_code)
    }

    /// Builds an image if it does not exist.
    ///
    /// # Errors
    ///
    /// One of its modules cannot be imported, or an error of [`LocalEngine::sandbox`].
    pub async fn warm(&self, image: &Image) -> Result<(), EngineError> {
        self.sandbox().await?.warm(image).await.map_err(engine_error)
    }

    /// Compiles every native module of the bundle.
    ///
    /// # Errors
    ///
    /// A module does not compile, or an error of [`LocalEngine::sandbox`].
    pub async fn prepare_everything(&self) -> Result<(), EngineError> {
        self.sandbox().await?.prepare_everything().await.map_err(engine_error)
    }

    /// Compiles `wheels` and builds an image ahead of runs. Work that runs wait for has priority.
    ///
    /// # Errors
    ///
    /// The errors of [`LocalEngine::warm`].
    pub async fn prepare_ahead(&self, wheels: &[&str], image: &Image) -> Result<(), EngineError> {
        self.sandbox().await?.prepare_ahead(wheels).await.map_err(engine_error)?;
        self.prewarm(image).await
    }

    /// Starts the sandbox in the background. A failure is logged, unless `shutdown` is cancelled; the next call tries again.
    pub fn start_in_background(&self, shutdown: CancellationToken) {
        let engine = self.clone();
        tokio::spawn(async move {
            match engine.sandbox().await {
                Ok(sandbox) => sandbox.start_if_built(&Image::data()).await,
                Err(error) if shutdown.is_cancelled() => {
                    tracing::debug!(%error, "the sandbox did not start before the shutdown")
                }
                Err(error) => tracing::error!(%error, "the sandbox does not start"),
            }
        });
    }
}

impl Engine for LocalEngine {
    fn machine(&self, spec: MachineSpec) -> BoxFuture<'_, Result<Box<dyn Machine>, EngineError>> {
        Box::pin(async move {
            let machine = self.sandbox().await?.machine(spec).await.map_err(engine_error)?;
            Ok(Box::new(LocalMachine(machine)) as Box<dyn Machine>)
        })
    }

    fn prepare<'a>(&'a self, wheels: &'a [String]) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let sandbox = self.sandbox().await?.clone();
            let wheels = wheels.to_vec();
            // A task of its own: a cancelled caller must not abort the compilation.
            let preparing = tokio::spawn(async move {
                let names: Vec<&str> = wheels.iter().map(String::as_str).collect();
                sandbox.prepare(&names).await.map_err(engine_error)
            });
            preparing.await.unwrap_or_else(|error| Err(EngineError::Compile(error.to_string())))
        })
    }

    fn has_image(&self, image: &Image) -> bool {
        self.sandbox.get().is_some_and(|sandbox| sandbox.has_image(image))
    }

    fn prewarm<'a>(&'a self, image: &'a Image) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.sandbox().await?.prewarm(image).await.map_err(engine_error) })
    }

    fn remove_image<'a>(&'a self, image: &'a Image) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(sandbox) = self.sandbox.get() {
                sandbox.remove_image(image).await;
            }
        })
    }

    fn preparing(&self) -> Option<watch::Receiver<Option<Preparing>>> {
        Some(self.preparing.subscribe())
    }

    fn prepare_layers<'a>(&'a self, layers: &'a [Layer]) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.sandbox().await?.prepare_layers(layers).await.map_err(engine_error) })
    }

    fn replaced_packages(&self, image: &Image, layers: &[Layer]) -> Vec<String> {
        brumate_engine::bundle::replaced_packages(image, layers)
    }

    fn bytecode<'a>(&'a self, layer: &'a Layer) -> BoxFuture<'a, Result<Vec<u8>, EngineError>> {
        Box::pin(async move { self.sandbox().await?.bytecode(layer).await.map_err(engine_error) })
    }

    fn layers_of<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<LayerId>, EngineError>> {
        Box::pin(async move { client::layers_of(path).await.map_err(engine_error) })
    }

    fn session(&self, spec: MachineSpec) -> BoxFuture<'_, Result<Box<dyn Session>, EngineError>> {
        Box::pin(async move {
            let session = self.sandbox().await?.session(spec).await.map_err(engine_error)?;
            Ok(Box::new(LocalSession(session)) as Box<dyn Session>)
        })
    }

    fn resume<'a>(&'a self, path: &'a Path, spec: MachineSpec) -> BoxFuture<'a, Result<Box<dyn Session>, EngineError>> {
        Box::pin(async move {
            // Sessions are granted no host directories, so none can be revoked.
            let (session, _) = self.sandbox().await?.resume_session(path, spec).await.map_err(engine_error)?;
            Ok(Box::new(LocalSession(session)) as Box<dyn Session>)
        })
    }

    fn can_resume<'a>(
        &'a self,
        path: &'a Path,
        private_image: Option<&'a Path>,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.sandbox().await?.can_resume(path, private_image).await.map_err(engine_error) })
    }

    fn recover<'a>(
        &'a self,
        path: &'a Path,
        spec: MachineSpec,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, EngineError>> {
        Box::pin(async move {
            let session = self.sandbox().await?.recover(path, spec).await.map_err(engine_error)?;
            Ok(Box::new(LocalSession(session)) as Box<dyn Session>)
        })
    }
}

/// A machine of the sandbox.
#[derive(Debug)]
struct LocalMachine(client::Machine);

impl Machine for LocalMachine {
    fn analyze<'a>(&'a mut self, code: &'a str) -> BoxFuture<'a, Result<Analysis, EngineError>> {
        Box::pin(async move { self.0.analyze(code).await.map_err(engine_error) })
    }

    fn mount<'a>(&'a mut self, layers: &'a [Layer]) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.0.mount(layers).await.map_err(engine_error) })
    }

    fn execute<'a>(
        &'a mut self,
        request: Execute,
        events: mpsc::Sender<Event>,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>> {
        Box::pin(async move { self.0.execute(request, events).await.map_err(engine_error) })
    }

    fn read_file<'a>(
        &'a mut self,
        path: &'a str,
        offset: u64,
        length: usize,
    ) -> BoxFuture<'a, Result<FileChunk, EngineError>> {
        Box::pin(async move { self.0.read_file(path, offset, length).await.map_err(engine_error) })
    }

    fn interrupt_handle(&self) -> Arc<dyn InterruptHandle> {
        Arc::new(LocalInterrupter(self.0.interrupt_handle()))
    }
}

/// The interrupt_handle of a machine.
#[derive(Debug)]
pub(super) struct LocalInterrupter(pub(super) client::InterruptHandle);

impl InterruptHandle for LocalInterrupter {
    fn interrupt(&self) {
        self.0.interrupt();
    }

    fn interrupt_busy_task(&self) {
        self.0.interrupt_busy_task();
    }

    fn kill(&self) {
        self.0.kill();
    }

    fn answer(&self, line: Option<String>) -> bool {
        self.0.answer(line)
    }

    fn install(&self, answer: Result<InstallAnswer, String>) -> bool {
        self.0.install(answer)
    }

    fn layers(&self) -> Vec<Layer> {
        self.0.layers()
    }

    fn clear(&self) {
        // It belongs to one execution and means no other.
    }
}
