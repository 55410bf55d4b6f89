//! Layers of sessions that are resumed: read from the cache, or fetched again from their source.

use std::collections::{HashMap, VecDeque};
use std::sync::PoisonError;

use brumate_engine_api::{Layer, LayerId};
use brumate_packages::DistributionName;
use brumate_packages::cache::{CachedWheel, Sha256Hash};
use brumate_packages::index::Origin;
use brumate_packages::resolver::Locked;
use brumate_packages::wheel::WheelFileName;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use url::Url;

use super::fetch::{fetch, layer};
use super::{PackageError, Packages};

/// Record of a layer, with what is needed to get it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLayer {
    /// The wheel's file name.
    pub file_name: String,
    /// SHA-256 of the wheel, lower-case hexadecimal.
    pub sha256: String,
    /// URL of the wheel, without credentials; `None` when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl KnownLayer {
    pub(super) fn new(wheel: &CachedWheel, url: Option<&Url>) -> Self {
        let (file_name, sha256) = (wheel.summary().file_name.clone(), wheel.hash().to_string());
        Self { file_name, sha256, url: url.map(Url::to_string) }
    }

    /// Makes a record of a layer whose source is not known.
    pub(crate) fn of(id: &LayerId) -> Self {
        Self { file_name: id.name.clone(), sha256: Sha256Hash(id.sha256).to_string(), url: None }
    }

    /// Returns whether the record describes that layer.
    pub(crate) fn is(&self, id: &LayerId) -> bool {
        self.file_name == id.name && self.sha256 == Sha256Hash(id.sha256).to_string()
    }
}

/// Most layers whose source is remembered; the oldest are forgotten.
const MAX_ORIGINS: usize = 8192;

/// Sources of the layers that were returned, by hash.
#[derive(Debug, Default)]
pub(super) struct Origins {
    known: HashMap<[u8; 32], KnownLayer>,
    order: VecDeque<[u8; 32]>,
}

impl Origins {
    fn note(&mut self, sha256: [u8; 32], known: KnownLayer) {
        if self.known.insert(sha256, known).is_none() {
            self.order.push_back(sha256);
        }
        if self.order.len() > MAX_ORIGINS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

impl Packages {
    /// Returns the record of a layer that was returned before, while it is remembered.
    pub(crate) fn known(&self, id: &LayerId) -> Option<KnownLayer> {
        let origins = self.inner.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.known.get(&id.sha256).filter(|known| known.is(id)).cloned()
    }

    pub(super) fn note_origin(&self, sha256: [u8; 32], known: &KnownLayer) {
        self.inner.origins.lock().unwrap_or_else(PoisonError::into_inner).note(sha256, known.clone());
    }

    /// Returns the layers of a session, from the cache or from their source. The policy is checked only for what has
    /// to be fetched: a session keeps the packages that it has.
    ///
    /// # Errors
    ///
    /// [`PackageError::Evicted`] for the first layer that cannot be fetched; [`PackageError::Cache`].
    pub async fn recover(&self, known: &[KnownLayer]) -> Result<Vec<Layer>, PackageError> {
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

    async fn recover_one(&self, known: &KnownLayer) -> Result<Layer, PackageError> {
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
        let package = Locked {
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
