//! Layers of sessions that are resumed: read from the cache, or fetched again from their source.

use std::sync::Arc;

use brumate_engine_api::{Layer, LayerId};
use brumate_packages::cache::Sha256Hash;
use brumate_packages::index::Origin;
use brumate_packages::policy::{Candidate, Provenance, RequestReason};
use brumate_packages::resolver::LockedPackage;
use brumate_packages::wheel::WheelFileName;
use brumate_packages::{DistributionName, Requirement};
use tokio::sync::broadcast;
use url::Url;

use super::fetch::{fetch, layer};
use super::layer_record::LayerRecord;
use super::{PackageError, PackageRequest, Packages, RequirementSet};

impl Packages {
    /// Returns the record of a layer that was returned before, while it is remembered.
    pub(crate) fn layer_record(&self, id: &LayerId) -> Option<LayerRecord> {
        let layer_sources = self.inner.layer_sources.lock();
        layer_sources.get(id)
    }

    pub(super) fn remember_source(&self, sha256: [u8; 32], known: &LayerRecord) {
        self.inner.layer_sources.lock().insert(sha256, known.clone());
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
        let package = self.source_of(known, &name).await?;
        let (events, _) = broadcast::channel(1);
        let wheel = fetch(&package, cache, &self.building_resolver(false).await?, &events).await?;
        if *wheel.hash() != hash {
            // It was built, and not to the same bytes.
            return Err(PackageError::internal("its source distribution has become another wheel"));
        }
        layer(&wheel, cache).await
    }
    /// Returns where a record's wheel is fetched from. The record may come from a snapshot that somebody else has made:
    /// its URL is used only if the policy allows URLs. Otherwise the wheel is looked for at the operator's sources.
    async fn source_of(&self, known: &LayerRecord, name: &WheelFileName) -> Result<LockedPackage, PackageError> {
        let distribution =
            DistributionName::new(name.name.as_str()).ok_or_else(|| PackageError::internal("its name"))?;
        let policy = &self.inner.settings.policy;
        if let Some(url) = known.url.as_deref().and_then(|url| Url::parse(url).ok()) {
            let source = Provenance::Url(url.as_str());
            let candidate = Candidate::new(&distribution, source, RequestReason::Requested).version(&name.version);
            if policy.check(&candidate.hash_known(true)).is_ok() {
                return Ok(LockedPackage {
                    name: distribution,
                    version: name.version.clone(),
                    extras: Vec::new(),
                    origin: Origin::Direct,
                    file_name: known.file_name.clone(),
                    url: Some(url),
                    sha256: Some(known.sha256.clone()),
                    size: None,
                    requires: Vec::new(),
                    yanked: None,
                });
            }
        }
        let requirement: Requirement =
            format!("{distribution}=={}", name.version).parse().map_err(PackageError::internal)?;
        let mut set = RequirementSet::new(vec![PackageRequest::from(requirement)]);
        set.no_deps = true;
        set.pre = name.version.any_prerelease();
        self.check_requirements(&set)?;
        let resolution = self.search(&set, Arc::new(|_| {})).await?;
        self.check_resolution(&set, &resolution)?;
        let found = resolution.packages.into_iter().find(|package| package.name == distribution);
        let is_it = |package: &LockedPackage| package.sha256.as_ref().is_none_or(|sha256| *sha256 == known.sha256);
        match found.filter(|package| package.is_source() || is_it(package)) {
            Some(package) if package.is_source() => Ok(package),
            Some(package) => Ok(LockedPackage { sha256: Some(known.sha256.clone()), ..package }),
            None => Err(PackageError::internal("the package sources have another file of this version")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use brumate_packages::Bundle;
    use brumate_packages::policy::{Policy, PolicyLayer, PolicyTable, RuleOrigin};

    use super::*;
    use crate::packages::PackageSettings;
    use crate::testing::FakeEngine;

    /// Starts an HTTP server that has nothing; returns its address and the paths that were asked for.
    fn empty_server() -> (String, std::sync::mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (asked, paths) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut head = [0; 4096];
                let count = stream.read(&mut head).unwrap_or(0);
                let _ = asked.send(String::from_utf8_lossy(&head[..count]).lines().next().unwrap_or("").to_owned());
                let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            }
        });
        (address, paths)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_record_does_not_say_where_the_server_fetches_from() {
        let (elsewhere, asked_elsewhere) = empty_server();
        let (index, asked_index) = empty_server();
        for no_urls in [true, false] {
            let place = tempfile::tempdir().unwrap();
            let mut settings = PackageSettings::new(place.path().join("cache"));
            settings.sources.index = Some(format!("http://{index}/simple/"));
            let table = PolicyTable { no_urls, ..PolicyTable::default() };
            settings.policy = Policy::new([PolicyLayer::new(table, RuleOrigin::CommandLine).unwrap()]);
            let bundle = Arc::new(Bundle::new([]).unwrap());
            let packages = Packages::new(Arc::new(FakeEngine::default()), bundle, settings);
            let record = LayerRecord {
                file_name: "acme-1.0-py3-none-any.whl".to_owned(),
                sha256: "00".repeat(32),
                url: Some(format!("http://{elsewhere}/acme-1.0-py3-none-any.whl")),
            };
            let error = packages.recover(&[record]).await.unwrap_err();
            assert!(matches!(error, PackageError::Evicted { .. }), "{error}");
            let (elsewhere, index) = (asked_elsewhere.try_iter().count(), asked_index.try_iter().count());
            assert_eq!((elsewhere > 0, index > 0), (!no_urls, no_urls));
        }
    }
}
