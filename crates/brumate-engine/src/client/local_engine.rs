//! The engine of this host, for users of the interface: a sandbox that starts when it is needed.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{OnceCell, watch};

use super::{Progress, Sandbox, SandboxConfig, layers_of};
use crate::api::{Engine, EngineError, Image, Layer, LayerId, Machine, MachineSpec, Preparing, Session};
use crate::bundle;

/// The engine of this host. Its sandbox starts with the first call that needs it, so that a server can answer its client at once.
/// After a failed start, the next call tries again. Clones share the sandbox.
#[derive(Debug, Clone)]
pub struct LocalEngine {
    config: SandboxConfig,
    sandbox: Arc<OnceCell<Sandbox>>,
    /// Publishes the preparation that runs wait for.
    preparing: watch::Sender<Option<Preparing>>,
}

impl LocalEngine {
    /// Makes an engine. Its sandbox is not started yet.
    pub fn new(config: SandboxConfig) -> Self {
        let preparing = watch::Sender::new(None);
        let (published, other) = (preparing.clone(), config.progress);
        let progress = move |progress: Progress| {
            let Progress { done, total, name, .. } = progress.clone();
            published.send_replace((done < total).then_some(Preparing { name, done, total }));
            if let Some(other) = &other {
                other(progress);
            }
        };
        let config = SandboxConfig { progress: Some(Arc::new(progress)), ..config };
        Self { config, sandbox: Arc::default(), preparing }
    }

    /// Returns the sandbox. Starts it if necessary.
    ///
    /// # Errors
    /// The errors of [`Sandbox::start`].
    pub async fn sandbox(&self) -> Result<&Sandbox, EngineError> {
        self.sandbox.get_or_try_init(|| Sandbox::start(self.config.clone())).await
    }

    /// Returns the sandbox if it has started.
    pub fn started(&self) -> Option<&Sandbox> {
        self.sandbox.get()
    }

    /// Compiles `wheels` and builds an image ahead of runs. Work that runs wait for has priority.
    ///
    /// # Errors
    /// The errors of [`Sandbox::start`], [`Sandbox::compile_wheels_ahead`] and [`Sandbox::build_image_ahead`].
    pub async fn compile_and_build_ahead(&self, wheels: &[&str], image: &Image) -> Result<(), EngineError> {
        let sandbox = self.sandbox().await?;
        sandbox.compile_wheels_ahead(wheels).await?;
        sandbox.build_image_ahead(image).await
    }

    /// Starts the sandbox in the background. A failure is logged, unless `is_ending` returns true; the next call tries again.
    pub fn start_in_background(&self, is_ending: impl Fn() -> bool + Send + 'static) {
        let engine = self.clone();
        tokio::spawn(async move {
            match engine.sandbox().await {
                Ok(sandbox) => sandbox.start_zygote(&Image::data()).await,
                Err(error) if is_ending() => {
                    tracing::debug!(%error, "the sandbox did not start before the shutdown")
                }
                Err(error) => tracing::error!(%error, "the sandbox does not start"),
            }
        });
    }
}

#[async_trait]
impl Engine for LocalEngine {
    async fn machine(&self, spec: MachineSpec) -> Result<Box<dyn Machine>, EngineError> {
        Ok(Box::new(self.sandbox().await?.machine(spec).await?))
    }

    async fn compile_wheels(&self, wheels: &[String]) -> Result<(), EngineError> {
        let sandbox = self.sandbox().await?.clone();
        let (wheels, name) = (wheels.to_vec(), wheels.join(", "));
        // A task of its own: a cancelled caller must not abort the compilation.
        let preparing = tokio::spawn(async move {
            let names: Vec<&str> = wheels.iter().map(String::as_str).collect();
            sandbox.compile_wheels(&names).await
        });
        preparing.await.unwrap_or_else(|error| Err(EngineError::Compile { name, reason: error.to_string() }))
    }

    async fn compile_layers(&self, layers: &[Layer]) -> Result<(), EngineError> {
        self.sandbox().await?.compile_layers(layers).await
    }

    fn preparing(&self) -> Option<watch::Receiver<Option<Preparing>>> {
        Some(self.preparing.subscribe())
    }

    fn replaced_packages(&self, image: &Image, layers: &[Layer]) -> Vec<String> {
        bundle::replaced_packages(image, layers)
    }

    fn has_image(&self, image: &Image) -> bool {
        self.started().is_some_and(|sandbox| sandbox.has_image(image))
    }

    async fn build_image_ahead(&self, image: &Image) -> Result<(), EngineError> {
        self.sandbox().await?.build_image_ahead(image).await
    }

    async fn remove_image(&self, image: &Image) {
        if let Some(sandbox) = self.started() {
            sandbox.remove_image(image).await;
        }
    }

    async fn bytecode(&self, layer: &Layer) -> Result<Vec<u8>, EngineError> {
        self.sandbox().await?.bytecode(layer).await
    }

    async fn layers_of(&self, path: &Path) -> Result<Vec<LayerId>, EngineError> {
        layers_of(path).await
    }

    async fn session(&self, spec: MachineSpec) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(self.sandbox().await?.session(spec).await?))
    }

    async fn resume(&self, path: &Path, spec: MachineSpec) -> Result<Box<dyn Session>, EngineError> {
        // Nobody is told which directories are no longer granted: the code gets an `OSError` when it uses one.
        let (session, _) = self.sandbox().await?.resume_session(path, spec).await?;
        Ok(Box::new(session))
    }

    async fn can_resume(&self, path: &Path, private_image: Option<&Path>) -> Result<(), EngineError> {
        self.sandbox().await?.can_resume(path, private_image).await
    }

    async fn recover(&self, path: &Path, spec: MachineSpec) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(self.sandbox().await?.recover(path, spec).await?))
    }
}
