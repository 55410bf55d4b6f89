//! Fetches the pages and metadata of a resolution once each, and ahead of the solver where possible.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use pep440_rs::Version;
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;

use crate::bundle::Bundle;
use crate::index::{IndexClient, IndexError, IndexFile, Listing, Metadata, Origin, blocking};
use crate::name::DistributionName;
use crate::resolver::builder::{SourceBuilder, SourceDistribution};
use crate::resolver::candidates::{Candidates, Rejection, SelectionRules};
use crate::resolver::ranges::Versions;
use crate::resolver::{OnProgress, Policy, ResolutionProgress};
use crate::source::is_buildable;

/// Most metadata of one batch for versions that may be tried next.
const MAX_BATCH: usize = 50;

type SharedFetch<T> = Arc<OnceCell<Result<Arc<T>, IndexError>>>;

/// Fetched pages and metadata of a resolution.
pub(crate) struct Fetcher {
    client: Arc<IndexClient>,
    bundle: Option<Arc<Bundle>>,
    /// Builder of source distributions; without one they are not used.
    builder: Option<Arc<dyn SourceBuilder>>,
    policy: Arc<Policy>,
    python: Version,
    /// Versions that are used although they were withdrawn.
    pinned: HashMap<DistributionName, BTreeSet<Version>>,
    /// Files of direct references.
    direct: HashMap<DistributionName, IndexFile>,
    progress: OnProgress,
    candidates: FetchMemo<DistributionName, Candidates>,
    metadata: FetchMemo<(DistributionName, Version), Metadata>,
    handle: Handle,
    tasks: Mutex<JoinSet<()>>,
    /// Whether nobody waits for the resolution any more.
    stopped: watch::Sender<bool>,
}

struct FetchMemo<K, T>(Mutex<HashMap<K, SharedFetch<T>>>);

impl<K: Eq + Hash, T> FetchMemo<K, T> {
    fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    fn cell(&self, key: K) -> SharedFetch<T> {
        self.0.lock().entry(key).or_default().clone()
    }

    fn contains(&self, key: &K) -> bool {
        self.0.lock().contains_key(key)
    }

    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl Fetcher {
    pub(crate) fn new(
        client: Arc<IndexClient>,
        bundle: Option<Arc<Bundle>>,
        builder: Option<Arc<dyn SourceBuilder>>,
        policy: Arc<Policy>,
        python: Version,
        progress: OnProgress,
    ) -> Self {
        Self {
            client,
            bundle,
            builder,
            policy,
            python,
            pinned: HashMap::new(),
            direct: HashMap::new(),
            progress,
            candidates: FetchMemo::new(),
            metadata: FetchMemo::new(),
            handle: Handle::current(),
            tasks: Mutex::new(JoinSet::new()),
            stopped: watch::Sender::new(false),
        }
    }

    pub(crate) fn client(&self) -> &IndexClient {
        &self.client
    }

    pub(crate) fn python(&self) -> &Version {
        &self.python
    }

    /// Returns why source distributions of `name` are not used; `None` if they are.
    pub(crate) fn no_sources(&self, name: &DistributionName) -> Option<Rejection> {
        match &self.builder {
            None => Some(Rejection::SourceOnly),
            Some(_) => self.client.settings().only_binary.holds_for(name).then_some(Rejection::NotBuilt),
        }
    }

    /// Uses `version` of `name` even if it was withdrawn.
    pub(crate) fn pin(&mut self, name: &DistributionName, version: Version) {
        self.pinned.entry(name.clone()).or_default().insert(version);
    }

    /// Uses only this file for `name`.
    pub(crate) fn set_direct(&mut self, name: &DistributionName, file: IndexFile) {
        self.direct.insert(name.clone(), file);
    }

    pub(crate) fn direct(&self, name: &DistributionName) -> Option<&IndexFile> {
        self.direct.get(name)
    }

    /// Returns the number of distributions that were fetched.
    pub(crate) fn distributions(&self) -> usize {
        self.candidates.len()
    }

    /// Returns the versions of `name`.
    pub(crate) async fn candidates(&self, name: &DistributionName) -> Result<Arc<Candidates>, IndexError> {
        let cell = self.candidates.cell(name.clone());
        cell.get_or_init(|| async {
            (self.progress)(ResolutionProgress::Listing { name: name.as_str() });
            self.read_candidates(name).await.map(Arc::new)
        })
        .await
        .clone()
    }

    /// Returns the versions of `name` that a choice from `range` needs: if the bundle's version is in it, only that,
    /// without asking other sources.
    pub(crate) async fn candidates_in(
        &self,
        name: &DistributionName,
        range: &Versions,
    ) -> Result<Arc<Candidates>, IndexError> {
        let file = self.bundled(name).filter(|_| !self.direct.contains_key(name));
        let bundled = file.map(|file| Candidates::of_bundle(file, &|version| (self.policy.forbids)(name, version)));
        match bundled.filter(|bundled| bundled.versions().iter().any(|version| range.contains(version))) {
            Some(bundled) => Ok(Arc::new(bundled)),
            None => self.candidates(name).await,
        }
    }

    async fn read_candidates(&self, name: &DistributionName) -> Result<Candidates, IndexError> {
        let mut listing = match self.direct.get(name) {
            Some(file) => Listing { files: vec![file.clone()], offline: false },
            None => self.client.listing(name).await?,
        };
        if !self.direct.contains_key(name) {
            listing.files.splice(0..0, self.bundled(name));
        }
        let pinned = self.pinned.get(name).cloned().unwrap_or_default();
        let (name, policy, python) = (name.clone(), self.policy.clone(), self.python.clone());
        let exclude_newer = self.client.settings().exclude_newer.filter(|_| !self.direct.contains_key(&name));
        let no_sources = self.no_sources(&name);
        // Sorting ten thousands of file names takes some milliseconds.
        Ok(blocking(move || {
            let hashes = policy.hashes.get(&name).map_or(&[][..], Vec::as_slice);
            let forbidden = |version: &Version| (policy.forbids)(&name, version);
            let rules = SelectionRules {
                python: &python,
                exclude_newer,
                pinned: &pinned,
                hashes,
                forbidden: &forbidden,
                no_sources,
            };
            Candidates::new(&name, listing, &rules)
        })
        .await)
    }

    /// Returns the bundle's wheel of `name` as a file.
    fn bundled(&self, name: &DistributionName) -> Option<IndexFile> {
        let wheel = self.bundle.as_ref()?.wheels.get(name)?;
        let metadata = Metadata {
            name: name.clone(),
            version: wheel.version.clone(),
            requires: wheel.requires.clone(),
            requires_python: None,
            extras: Vec::new(),
        };
        let (url, origin) = (url::Url::parse("bundle:").ok()?, Arc::new(Origin::Bundle(wheel.key.clone())));
        Some(IndexFile { known: Some(Arc::new(metadata)), ..IndexFile::new(wheel.key.clone(), url, origin) })
    }

    /// Returns the metadata of `version` of `name` in `file`.
    pub(crate) async fn metadata(
        &self,
        name: &DistributionName,
        version: &Version,
        file: &IndexFile,
    ) -> Result<Arc<Metadata>, IndexError> {
        if let Some(known) = &file.known {
            return Ok(known.clone());
        }
        let cell = self.metadata.cell((name.clone(), version.clone()));
        cell.get_or_init(|| async {
            (self.progress)(ResolutionProgress::Metadata { name: name.as_str(), version });
            let metadata = match &self.builder {
                Some(builder) if is_buildable(&file.filename) => {
                    (self.progress)(ResolutionProgress::Building { name: name.as_str(), version });
                    builder.metadata(&SourceDistribution::of_file(name, version, file)).await?
                }
                _ => self.client.metadata(file).await?,
            };
            if metadata.name != *name || metadata.version != *version {
                let reason = format!("its metadata says that it is {} {}", metadata.name, metadata.version);
                return Err(IndexError::Malformed { url: crate::index::url_for_error(&file.url), reason });
            }
            Ok(Arc::new(metadata))
        })
        .await
        .clone()
    }

    /// Blocks this thread until the future is ready.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.handle.block_on(future)
    }

    /// Blocks this thread until the future is ready; `None` if nobody waits for the resolution any more.
    pub(crate) fn wait_unless_stopped<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut stopped = self.stopped.subscribe();
        self.wait(async {
            tokio::select! {
                value = future => Some(value),
                // The sender is in `self`.
                () = async { drop(stopped.wait_for(|stopped| *stopped).await) } => None,
            }
        })
    }

    /// Starts to fetch the page of `name`, if a choice from `range` needs it.
    pub(crate) fn prefetch_candidates(self: &Arc<Self>, name: &DistributionName, range: &Versions) {
        if !self.candidates.contains(name) {
            let (fetcher, name, range) = (self.clone(), name.clone(), range.clone());
            self.spawn(async move {
                // The error is reported to the call that needs the result.
                let _ = fetcher.candidates_in(&name, &range).await;
            });
        }
    }

    /// Starts to fetch the metadata of the version of `name` that would be chosen from `range` now.
    pub(crate) fn prefetch_choice(self: &Arc<Self>, name: &DistributionName, range: &Versions) {
        let (fetcher, name, range) = (self.clone(), name.clone(), range.clone());
        self.spawn(async move {
            let Ok(candidates) = fetcher.candidates_in(&name, &range).await else { return };
            let chosen = candidates.choose(&range, fetcher.client.settings().prerelease);
            // Nothing is built that is not needed.
            if let Some((version, file)) = chosen.filter(|(_, file)| !is_buildable(&file.filename)) {
                let _ = fetcher.metadata(&name, version, file).await;
            }
        });
    }

    /// Starts to fetch the metadata of the next versions of `name` in `range` below `version`, after many were tried.
    pub(crate) fn prefetch_below(
        self: &Arc<Self>,
        name: &DistributionName,
        candidates: &Candidates,
        range: &Versions,
        version: &Version,
        count: usize,
    ) {
        let below = candidates.versions().iter().rev().filter(|other| *other < version && range.contains(other));
        for version in below.take(count.min(MAX_BATCH)) {
            if let Some(file) = candidates.file(version).filter(|file| !is_buildable(&file.filename)).cloned() {
                let (fetcher, name, version) = (self.clone(), name.clone(), version.clone());
                self.spawn(async move {
                    let _ = fetcher.metadata(&name, &version, &file).await;
                });
            }
        }
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        tasks.spawn_on(future, &self.handle);
        while tasks.try_join_next().is_some() {}
    }

    /// Returns whether nobody waits for the resolution any more.
    pub(crate) fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Ends the search and its prefetches: nobody waits for the resolution any more.
    pub(crate) fn stop(&self) {
        self.stopped.send_replace(true);
        self.tasks.lock().abort_all();
    }
}
