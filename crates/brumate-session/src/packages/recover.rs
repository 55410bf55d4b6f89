//! Layers of sessions that are resumed: read from the cache, or fetched again from their source.

use std::sync::PoisonError;

use brumate_engine_api::{Layer, LayerId};
use brumate_packages::DistributionName;
use brumate_packages::cache::Sha256Hash;
use brumate_packages::index::Origin;
use brumate_packages::resolver::LockedPackage;
use brumate_packages::wheel::WheelFileName;
use tokio::sync::broadcast;
use url::Url;

use super::fetch::{fetch, layer};
use super::layer_record::LayerRecord;
use super::{PackageError, Packages};

impl Packages {
    /// Returns the record of a layer that was returned before, while it is remembered.
    pub(crate) fn layer_record(&self, id: &LayerId) -> Option<LayerRecord> {
        let layer_sources = self.inner.layer_sources.lock().unwrap_or_else(PoisonError::into_inner);
        layer_sources.get(id)
    }

    pub(super) fn remember_source(&self, sha256: [u8; 32], known: &LayerRecord) {
        self.inner.layer_sources.lock().unwrap_or_else(PoisonError::into_inner).insert(sha256, known.clone());
    }

    /// Returns the layers of a session, from the cache or from their source. The policy is checked only for what has
    /// to be fetched: a session keeps the packages that it has.
    ///
    /// # Errors
    ///
    /// [`PackageError::Evicted`] for the first layer that cannot be fetched; [`PackageError::Cache`].
    pub async fn recover(&self, known: &[LayerRecord]) -> Result<Vec<Layer>, PackageError> {
        let mut layers = Vec::with_capacity(known.len());
        for known in known {
            let evicted = |reason: String| PackageError::Evicted { file_name: known.file_name.clone(), reason };
            layers.push(self.recover_one(known).await.map_err(|error| match error {
                error @ PackageError::Cache(_) => error,
                error => evicted(error.to_string()),
            })?);
        }
        Ok(layers)
    }

    async fn recover_one(&self, known: &LayerRecord) -> Result<Layer, PackageError> {
        let cache = self.cache().await?;
        let name: WheelFileName = known.file_name.parse().map_err(PackageError::internal)?;
        let hash: Sha256Hash = known.sha256.parse().map_err(PackageError::internal)?;
        let (looking, file_name) = (cache.clone(), name.clone());
        let found = tokio::task::spawn_blocking(move || looking.get(&hash, &file_name)).await;
        if let Some(wheel) = found.map_err(PackageError::internal)?.map_err(PackageError::cache)? {
            return layer(&wheel, cache).await;
        }
        let Some(url) = known.url.as_deref().and_then(|url| Url::parse(url).ok()) else {
            return Err(PackageError::internal("where it was from is not known"));
        };
        let package = LockedPackage {
            name: DistributionName::new(name.name.as_str()).ok_or_else(|| PackageError::internal("its name"))?,
            version: name.version.clone(),
            extras: Vec::new(),
            origin: Origin::Direct,
            file_name: known.file_name.clone(),
            url: Some(url),
            sha256: Some(known.sha256.clone()),
            size: None,
            requires: Vec::new(),
            yanked: None,
        };
        let (events, _) = broadcast::channel(1);
        let wheel = fetch(&package, cache, self.resolver(false).await?, &events).await?;
        layer(&wheel, cache).await
    }
}
