//! Runner: what all runs of a process share, and the images that they are forked from.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use brumate_engine_api::{Engine, Image, Limits, Preparing};
use brumate_packages::Bundle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::allowance::Allowances;
use crate::choice::image_for;
use crate::dependencies;
use crate::learned::{ImageBuilder, LearnedImages};
use crate::packages::{Installation, PackageEvent, Packages};
use crate::request::{RunError, RunnerSettings};

/// Runs code, each time in a fresh machine. Clones share the limit on simultaneous runs.
#[derive(Clone)]
pub struct Runner {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) packages: Packages,
    pub(crate) settings: Arc<RunnerSettings>,
    pub(crate) admission: Admission,
    /// Image with the layers of `dependencies`, once it is built.
    own_image: Arc<OnceLock<Image>>,
    learned: Arc<LearnedImages>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Runner {
    /// Makes a runner over `engine` whose machines can use the wheels of `bundle` only.
    pub fn new(engine: Arc<dyn Engine>, bundle: Arc<Bundle>, settings: RunnerSettings) -> Self {
        let packages = Packages::bundle_only(Arc::clone(&engine), bundle);
        let admission = Admission::new(settings.max_concurrent, Allowances::default(), settings.when_full);
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
    pub(crate) fn learn(&self, imports: BTreeSet<String>) {
        let builder = self.learned.builder();
        if builder == ImageBuilder::Disabled {
            return;
        }
        let of_bundle = |module: &String| self.packages.bundle().distribution_of(module).is_some();
        let image_to_build = self.learned.count_import(imports.into_iter().filter(of_bundle).collect());
        if builder == ImageBuilder::OtherProcess {
            // This process is about to end.
            self.learned.save();
            return;
        }
        let (engine, learned) = (self.engine.clone(), self.learned.clone());
        tokio::spawn(async move {
            if let Some(image) = image_to_build {
                let built = engine.build_image_ahead(&image).await;
                if let Err(error) = &built {
                    tracing::debug!(%image, %error, "no image could be built of what code imports");
                }
                if let Some(surplus) = learned.record_build(&image, built.is_ok()) {
                    engine.remove_image(&surplus).await;
                }
            }
            // Writes a file, so it runs in a blocking thread.
            let _ = tokio::task::spawn_blocking(move || learned.save()).await;
        });
    }

    /// Takes the image that another process has to build, if there is one.
    pub fn image_to_build(&self) -> Option<Image> {
        self.learned.take_image_to_build()
    }

    /// Notes the result of building an image that [`Runner::image_to_build`] returned, here or in another process.
    pub async fn image_was_built(&self, image: &Image, built: bool) {
        if let Some(surplus) = self.learned.record_build(image, built) {
            self.engine.remove_image(&surplus).await;
        }
        self.learned.save();
    }

    /// Returns an installation with the bytecode of its layers; compiles what is missing.
    pub async fn with_bytecode(&self, installation: Arc<Installation>) -> Arc<Installation> {
        self.packages.compiled(installation).await
    }

    /// Returns the settings.
    pub fn settings(&self) -> &RunnerSettings {
        &self.settings
    }

    /// Prepares `requirements` as the first run that needs them would, and waits for their bytecode.
    ///
    /// # Errors
    ///
    /// The outer error is the engine's. The inner one is a text that says which requirements cannot be met.
    pub async fn prepare_requirements(
        &self,
        requirements: &[String],
        event_sink: &(dyn Fn(PackageEvent) + Send + Sync),
    ) -> Result<Result<Arc<Installation>, String>, RunError> {
        let wanted = match dependencies::read_stated(requirements, "") {
            Ok(stated) => stated.requests(),
            Err(error) => return Ok(Err(error)),
        };
        match self.packages.install(wanted, event_sink).await {
            Err(error) => Ok(Err(error.to_string())),
            Ok(installation) => {
                self.engine.compile_wheels(&installation.wheels).await.map_err(RunError::Engine)?;
                Ok(Ok(self.packages.compiled(installation).await))
            }
        }
    }
}
