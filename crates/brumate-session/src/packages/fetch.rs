//! Resolves a package request, checks the result, and fetches its wheels as layers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brumate_engine_api::Layer;
use brumate_packages::Requirement;
use brumate_packages::cache::{Cache, CachedWheel, FetchError};
use brumate_packages::index::Origin;
use brumate_packages::resolver::{LockedPackage, OnProgress, Resolution, ResolutionProgress, Resolver};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::broadcast;

use super::build::SandboxBuilder;
use super::bytecode::open_bytecode;
use super::layer_record::LayerRecord;
use super::{Installation, InstalledPackage, PackageError, PackageEvent, Packages, RequirementSet};

/// Wheels of one set that are fetched at the same time.
const FETCHED_AT_ONCE: usize = 8;
/// Received bytes between two events about one wheel.
const EVENT_BYTES: u64 = 1 << 20;

impl Packages {
    pub(super) async fn find_and_fetch(
        &self,
        set: RequirementSet,
        events: broadcast::Sender<PackageEvent>,
    ) -> Result<Installation, PackageError> {
        let _slot = self.inner.slots.acquire().await.map_err(PackageError::internal)?;
        let resolution = match &self.inner.settings.lock {
            Some(lock) => lock.resolution.clone(),
            None => {
                let _ = events.send(PackageEvent::Resolving { requirements: set.requests.len() });
                let sender = events.clone();
                let progress: OnProgress = Arc::new(move |step| {
                    let event = match step {
                        ResolutionProgress::Listing { name } => PackageEvent::Looking { name: name.to_owned() },
                        ResolutionProgress::Building { name, version } => {
                            PackageEvent::Building { package: format!("{name} {version}") }
                        }
                        _ => return,
                    };
                    // All receivers may be gone; the same below.
                    let _ = sender.send(event);
                });
                self.search(&set, progress).await?
            }
        };
        self.check_resolution(&set, &resolution)?;
        let installation = self.fetch_resolution(resolution, set.pre, &events).await?;
        self.inner.engine.compile_layers(&installation.layers).await.map_err(PackageError::internal)?;
        let _ = events.send(PackageEvent::Ready { packages: installation.packages.len() });
        Ok(installation)
    }

    /// Fetches the packages of a resolution; source distributions are built.
    pub(super) async fn fetch_resolution(
        &self,
        resolution: Resolution,
        pre: bool,
        events: &broadcast::Sender<PackageEvent>,
    ) -> Result<Installation, PackageError> {
        let (cache, resolver) = (self.cache().await?, self.building_resolver(pre).await?);
        let fetched: Vec<(InstalledPackage, Option<Layer>)> = stream::iter(resolution.packages)
            .map(|package| self.get(package, cache, &resolver, events))
            .buffered(FETCHED_AT_ONCE)
            .try_collect()
            .await?;
        let mut installation = Installation::default();
        for (package, layer) in fetched {
            installation.packages.push(package);
            installation.layers.extend(layer);
        }
        installation.wheels = self.bundled_wheels(&installation.packages);
        Ok(installation)
    }

    /// Returns a resolver that uses source distributions as well.
    pub(super) async fn building_resolver(&self, pre: bool) -> Result<Resolver, PackageError> {
        Ok(self.resolver(pre).await?.clone().with_builder(Arc::new(SandboxBuilder(self.clone()))))
    }

    /// Resolves a request to exact wheels and source distributions.
    pub(super) async fn search(&self, set: &RequirementSet, progress: OnProgress) -> Result<Resolution, PackageError> {
        let resolver = match set.wheels_only {
            true => self.resolver(set.pre).await?.clone(),
            false => self.building_resolver(set.pre).await?,
        };
        let mut resolver = resolver.with_progress(progress);
        if set.no_deps {
            resolver = resolver.without_dependencies();
        }
        let constraints: Vec<Requirement> = self.constraints(set).cloned().collect();
        Ok(resolver.resolve(&set.requirements(), &constraints, self.resolver_policy()).await?)
    }

    /// Returns the bundle's wheels among `packages`, in the order in which they are prepared.
    fn bundled_wheels(&self, packages: &[InstalledPackage]) -> Vec<String> {
        let bundled = packages.iter().filter(|package| package.layer.is_none());
        // Their dependencies may be replaced by layers, so only wheels that are named here count.
        bundled.filter_map(|package| self.inner.bundle.key(&package.name)).map(str::to_owned).collect()
    }

    async fn get(
        &self,
        package: LockedPackage,
        cache: &Cache,
        resolver: &Resolver,
        events: &broadcast::Sender<PackageEvent>,
    ) -> Result<(InstalledPackage, Option<Layer>), PackageError> {
        let (name, version) = (package.name.to_string(), package.version.to_string());
        if matches!(package.origin, Origin::Bundle(_)) {
            if self.inner.bundle.version(&package.name) != Some(&package.version) {
                let reason =
                    "the lock takes it from the bundle, and this Brumate's bundle has another version".to_owned();
                return Err(PackageError::Wheel { package: format!("{name} {version}"), reason });
            }
            return Ok((InstalledPackage { name, version, layer: None, import_names: Vec::new() }, None));
        }
        let wheel = fetch(&package, cache, resolver, events).await?;
        // A wheel that was built has no URL.
        let url = package.url.as_ref().filter(|_| !package.is_source());
        let known = LayerRecord::new(&wheel, url);
        let layer = layer(&wheel, cache).await?;
        self.remember_source(layer.sha256, &known);
        let import_names = wheel.summary().import_names.clone();
        Ok((InstalledPackage { name, version, layer: Some(known), import_names }, Some(layer)))
    }
}

/// Returns a wheel, from the cache or downloaded.
pub(super) async fn fetch(
    package: &LockedPackage,
    cache: &Cache,
    resolver: &Resolver,
    events: &broadcast::Sender<PackageEvent>,
) -> Result<CachedWheel, PackageError> {
    let text = format!("{} {}", package.name, package.version);
    let reported = AtomicU64::new(u64::MAX);
    let (total, label) = (package.size, text.clone());
    let progress = move |bytes: u64| {
        let before = reported.load(Ordering::Relaxed);
        if before == u64::MAX || bytes.saturating_sub(before) >= EVENT_BYTES {
            let bytes = if before == u64::MAX { 0 } else { bytes };
            reported.store(bytes, Ordering::Relaxed);
            let _ = events.send(PackageEvent::Fetching { package: label.clone(), bytes, total });
        }
    };
    if package.is_source() {
        let _ = events.send(PackageEvent::Building { package: text.clone() });
    }
    match resolver.fetch(package, cache, &progress).await {
        Ok(wheel) => Ok(wheel),
        Err(FetchError::Download(error)) => Err(PackageError::Index(error)),
        Err(FetchError::Cache(error)) => Err(PackageError::Wheel { package: text, reason: error.to_string() }),
    }
}

/// Returns the layer of a wheel, with its bytecode if that was made.
pub(super) async fn layer(wheel: &CachedWheel, cache: &Cache) -> Result<Layer, PackageError> {
    let archive = wheel.file().try_clone().map_err(PackageError::internal)?;
    let (name, sha256) = (wheel.summary().file_name.clone(), wheel.hash().0);
    let bytecode = open_bytecode(cache, sha256).await;
    Ok(Layer { name, sha256, archive: Arc::new(archive), bytecode })
}
