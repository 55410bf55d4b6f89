//! Package service: turns requirements into wheels of the bundle and layers for a machine.
//!
//! [`Packages`] is the entry point. The bundle meets requirements without cost. Others are resolved over the
//! operator's sources ([`PackageSettings`]), fetched into this user's cache, verified there, and returned as
//! [`Layer`]s. No code of a package runs on the host: source distributions are built by machines.
//!
//! - The policy is checked for every request: before anything is fetched, and again when versions and URLs are known.
//! - The result for a set of requirements is kept for some minutes with its wheels open, so that a repetition only
//!   reads a table.
//! - Equal requests that arrive together share one resolution. It is cancelled when all of them are dropped.
//! - Settings are read and connections are made when the bundle does not suffice for the first time.

mod answer;
mod build;
mod bytecode;
mod error;
mod event;
mod fetch;
mod gateway;
mod layer_record;
mod memo;
mod modules;
mod recover;
mod request;
mod rules;
mod settings;

use std::collections::HashMap;
use std::sync::Arc;

use brumate_engine_api::{Engine, Layer};
use brumate_packages::cache::{Cache, CacheSettings};
use brumate_packages::resolver::{Resolution, Resolver};
use brumate_packages::settings::{Prerelease, Settings};
use brumate_packages::{Bundle, DistributionName, Requirement};
use parking_lot::Mutex;
use tokio::sync::{OnceCell, Semaphore};

pub use error::PackageError;
pub use event::PackageEvent;
pub use gateway::PackageGateway;
pub use layer_record::LayerRecord;
pub use modules::InferenceScope;
pub(crate) use modules::ModuleIndex;
pub use request::PackageRequest;
pub use settings::{PackageSettings, PackageSources};

use build::{FailedBuilds, MAX_BUILDS_AT_ONCE};
use bytecode::CompilationState;
use layer_record::LayerSources;
use memo::Memo;

/// Sets of requirements that are resolved or fetched at the same time; others wait.
const MAX_AT_ONCE: usize = 8;

/// Finds and fetches packages. Clones share their state.
#[derive(Clone)]
pub struct Packages {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Arc<dyn Engine>,
    bundle: Arc<Bundle>,
    settings: PackageSettings,
    cache: OnceCell<Cache>,
    resolver: OnceCell<Resolver>,
    /// As `resolver`, but it takes prereleases.
    prerelease_resolver: OnceCell<Resolver>,
    memo: Mutex<Memo>,
    slots: Semaphore,
    builds: Semaphore,
    failed_builds: FailedBuilds,
    compiling: CompilationState,
    layer_sources: Mutex<LayerSources>,
    /// Modules of the wheels in `--find-links` directories.
    find_links_modules: OnceCell<Arc<HashMap<String, DistributionName>>>,
}

impl std::fmt::Debug for Packages {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Packages").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

/// Packages that were installed for a set of requirements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installation {
    /// Wheels of the bundle, dependencies first.
    pub wheels: Vec<String>,
    /// Layers to mount.
    pub layers: Vec<Layer>,
    /// All packages. Those of the bundle have no layer.
    pub packages: Vec<InstalledPackage>,
}

impl Installation {
    /// Returns the names of the packages that the bundle has.
    pub(crate) fn bundled(&self) -> impl Iterator<Item = &str> {
        self.packages.iter().filter(|package| package.layer.is_none()).map(|package| &package.name[..])
    }
}

/// One package of an [`Installation`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledPackage {
    /// Normalised name.
    pub name: String,
    /// Version (PEP 440).
    pub version: String,
    /// The layer with its source; `None` for a package of the bundle.
    pub layer: Option<LayerRecord>,
    /// Top-level modules of the layer.
    pub import_names: Vec<String>,
}

/// Requirements with their constraints and options.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequirementSet {
    pub(crate) requests: Vec<PackageRequest>,
    pub(crate) constraints: Vec<Requirement>,
    /// Takes prereleases.
    pub(crate) pre: bool,
    /// Leaves dependencies out (`--no-deps`).
    pub(crate) no_deps: bool,
    /// Takes no source distributions. Set for the requirements of a build.
    pub(crate) wheels_only: bool,
}

impl RequirementSet {
    pub(crate) fn new(requests: Vec<PackageRequest>) -> Self {
        Self { requests, ..Self::default() }
    }

    fn requirements(&self) -> Vec<Requirement> {
        self.requests.iter().map(|request| request.requirement.clone()).collect()
    }
}

impl Packages {
    /// Makes a service over `bundle` and the sources of `settings`; `engine` compiles bytecode. Nothing is read or
    /// opened yet.
    pub fn new(engine: Arc<dyn Engine>, bundle: Arc<Bundle>, settings: PackageSettings) -> Self {
        let inner = Inner {
            engine,
            bundle,
            settings,
            cache: OnceCell::new(),
            resolver: OnceCell::new(),
            prerelease_resolver: OnceCell::new(),
            memo: Mutex::default(),
            slots: Semaphore::new(MAX_AT_ONCE),
            builds: Semaphore::new(MAX_BUILDS_AT_ONCE),
            failed_builds: FailedBuilds::default(),
            compiling: CompilationState::default(),
            layer_sources: Mutex::default(),
            find_links_modules: OnceCell::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Makes a service that has the bundle only.
    pub fn bundle_only(engine: Arc<dyn Engine>, bundle: Arc<Bundle>) -> Self {
        Self::new(engine, bundle, PackageSettings::only_bundled())
    }

    /// Returns the bundle.
    pub fn bundle(&self) -> &Bundle {
        &self.inner.bundle
    }

    /// Returns the settings.
    pub fn settings(&self) -> &PackageSettings {
        &self.inner.settings
    }

    /// Finds and fetches packages that meet `requests`; `event_sink` receives progress. Dropping the future cancels
    /// the work.
    ///
    /// # Errors
    ///
    /// [`PackageError`]: its text is meant for the author of the requirements.
    pub async fn install(
        &self,
        requests: Vec<PackageRequest>,
        event_sink: &(dyn Fn(PackageEvent) + Send + Sync),
    ) -> Result<Arc<Installation>, PackageError> {
        let set = RequirementSet::new(requests);
        let outcome = self.install_set(set.clone(), event_sink).await;
        outcome.map_err(|error| modules::with_guess_hint(&set, error))
    }

    /// Finds exact wheels and source distributions for requirements, for a lock. Fetches metadata only; where that needs
    /// a build, it builds.
    ///
    /// # Errors
    ///
    /// As [`Packages::install`].
    pub async fn resolve(&self, requests: Vec<PackageRequest>) -> Result<Resolution, PackageError> {
        let set = RequirementSet::new(requests);
        self.check_requirements(&set)?;
        let resolution = self.search(&set, Arc::new(|_| {})).await?;
        self.check_resolution(&set, &resolution)?;
        Ok(resolution)
    }

    pub(crate) async fn install_set(
        &self,
        set: RequirementSet,
        event_sink: &(dyn Fn(PackageEvent) + Send + Sync),
    ) -> Result<Arc<Installation>, PackageError> {
        if let Some(lock) = &self.inner.settings.lock {
            self.check_requirements(&set)?;
            lock.check(&set.requirements())?;
            return self.shared_install(RequirementSet::default(), event_sink).await;
        }
        if set.requests.is_empty() {
            return Ok(Arc::default());
        }
        self.check_requirements(&set)?;
        match self.bundled(&set) {
            Ok(installation) => Ok(Arc::new(installation)),
            Err(error) if self.inner.settings.policy.is_only_bundled() => Err(error),
            Err(_) => {
                let installation = self.shared_install(set.clone(), event_sink).await?;
                modules::check_guesses(&set, &installation)?;
                Ok(installation)
            }
        }
    }

    /// Meets a request from the bundle alone.
    fn bundled(&self, set: &RequirementSet) -> Result<Installation, PackageError> {
        let bundle = &self.inner.bundle;
        let resolution = bundle.resolve(&set.requirements())?;
        let packages: Vec<InstalledPackage> =
            resolution.wheels.iter().filter_map(|key| self.bundled_package(key)).collect();
        self.check_bundled(set, &packages)?;
        Ok(Installation { wheels: resolution.wheels, layers: Vec::new(), packages })
    }

    fn bundled_package(&self, key: &str) -> Option<InstalledPackage> {
        let (name, version) = self.inner.bundle.wheel(key)?;
        Some(InstalledPackage {
            name: name.to_string(),
            version: version.to_string(),
            layer: None,
            import_names: Vec::new(),
        })
    }

    async fn cache(&self) -> Result<&Cache, PackageError> {
        let settings = &self.inner.settings;
        let open = || async {
            let mut limits = CacheSettings::default();
            if let Some(bytes) = settings.policy.max_wheel_bytes() {
                limits.max_wheel_bytes = limits.max_wheel_bytes.min(bytes);
            }
            let directory = settings.cache_dir.clone();
            let opened = tokio::task::spawn_blocking(move || Cache::open(&directory, limits)).await;
            opened.map_err(PackageError::internal)?.map_err(PackageError::cache)
        };
        self.inner.cache.get_or_try_init(open).await
    }

    async fn resolver(&self, pre: bool) -> Result<&Resolver, PackageError> {
        let cell = if pre { &self.inner.prerelease_resolver } else { &self.inner.resolver };
        let change = move |settings: &mut Settings| {
            if pre {
                settings.prerelease = Prerelease::Allow;
            }
        };
        cell.get_or_try_init(|| self.make_resolver(change)).await
    }

    /// Makes a resolver with the operator's settings, after `change`.
    async fn make_resolver(
        &self,
        change: impl FnOnce(&mut Settings) + Send + 'static,
    ) -> Result<Resolver, PackageError> {
        let (sources, cache) = (self.inner.settings.sources.clone(), self.inner.settings.cache_dir.clone());
        let bundle = Arc::clone(&self.inner.bundle);
        // Reads files, among them certificates.
        let made = tokio::task::spawn_blocking(move || {
            let mut settings = sources.read()?;
            settings.cache_directory = Some(cache);
            change(&mut settings);
            Ok(Resolver::new(settings)?.with_bundle(bundle))
        });
        made.await.map_err(PackageError::internal)?
    }
}
