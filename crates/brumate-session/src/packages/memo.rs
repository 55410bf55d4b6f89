//! Cache of installations for some minutes, in which requests for the same set share one installation.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::MutexGuard;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::{Installation, PackageError, PackageEvent, Packages, RequirementSet};

/// Sets that are kept.
const MAX_REMEMBERED: usize = 64;
/// Layers that kept sets hold open; each takes up to two file descriptors.
const MAX_OPEN_LAYERS: usize = 256;
/// Time for which a set is kept: as long as most indexes let their pages count as fresh.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Events that may wait for a slow receiver; older ones are dropped.
const EVENT_QUEUE: usize = 64;

type InstallOutcome = Result<Arc<Installation>, PackageError>;
type SharedInstall = Shared<BoxFuture<'static, InstallOutcome>>;

/// Finished installations, and those under way, by [`key`].
#[derive(Default)]
pub(super) struct Memo {
    sets: HashMap<String, MemoEntry>,
    running: HashMap<String, (WeakShared<BoxFuture<'static, InstallOutcome>>, broadcast::WeakSender<PackageEvent>)>,
    /// Counter of uses.
    clock: u64,
}

struct MemoEntry {
    installation: Arc<Installation>,
    since: Instant,
    used: u64,
}

impl Memo {
    fn get(&mut self, key: &str) -> Option<Arc<Installation>> {
        self.clock += 1;
        let clock = self.clock;
        let entry = self.sets.get_mut(key)?;
        if entry.since.elapsed() > MAX_AGE {
            self.sets.remove(key);
            return None;
        }
        entry.used = clock;
        Some(Arc::clone(&entry.installation))
    }

    fn insert(&mut self, key: String, installation: Arc<Installation>) {
        self.clock += 1;
        self.sets.insert(key, MemoEntry { installation, since: Instant::now(), used: self.clock });
        while self.sets.len() > MAX_REMEMBERED || self.open_layers() > MAX_OPEN_LAYERS {
            let oldest = self.sets.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.sets.remove(&oldest);
        }
    }

    fn open_layers(&self) -> usize {
        self.sets.values().map(|entry| entry.installation.layers.len()).sum()
    }

    /// Replaces `old` by `new` if it is still kept: the same packages, with bytecode.
    pub(super) fn replace(&mut self, old: &Arc<Installation>, new: &Arc<Installation>) {
        for entry in self.sets.values_mut().filter(|entry| Arc::ptr_eq(&entry.installation, old)) {
            entry.installation = Arc::clone(new);
        }
    }
}

impl Packages {
    pub(super) fn memo(&self) -> MutexGuard<'_, Memo> {
        self.inner.memo.lock()
    }

    /// Returns a kept set, or joins the installation that is under way, or starts one.
    pub(super) async fn shared_install(
        &self,
        set: RequirementSet,
        event_sink: &(dyn Fn(PackageEvent) + Send + Sync),
    ) -> Result<Arc<Installation>, PackageError> {
        let key = key(&set);
        let (install, mut events) = {
            let mut memo = self.memo();
            if let Some(entry) = memo.get(&key) {
                return Ok(entry);
            }
            memo.running.retain(|_, (install, _)| install.upgrade().is_some());
            let entry =
                memo.running.get(&key).and_then(|(install, events)| Some((install.upgrade()?, events.upgrade()?)));
            match entry {
                Some((install, events)) => (install, events.subscribe()),
                None => {
                    let (sender, receiver) = broadcast::channel(EVENT_QUEUE);
                    let weak_sender = sender.downgrade();
                    let install = self.start_install(set, key.clone(), sender);
                    if let Some(weak) = install.downgrade() {
                        memo.running.insert(key, (weak, weak_sender));
                    }
                    (install, receiver)
                }
            }
        };
        let outcome = {
            let listen = async {
                loop {
                    match events.recv().await {
                        Ok(event) => event_sink(event),
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => return std::future::pending::<Infallible>().await,
                    }
                }
            };
            tokio::select! {
                biased;
                never = listen => match never {},
                outcome = install => outcome,
            }
        };
        // Events that arrived together with the result.
        while let Ok(event) = events.try_recv() {
            event_sink(event);
        }
        outcome
    }

    fn start_install(
        &self,
        set: RequirementSet,
        key: String,
        events: broadcast::Sender<PackageEvent>,
    ) -> SharedInstall {
        let packages = self.clone();
        async move {
            let installation = Arc::new(packages.find_and_fetch(set, events).await?);
            packages.memo().insert(key, Arc::clone(&installation));
            packages.compile_in_background(&installation);
            Ok(installation)
        }
        .boxed()
        .shared()
    }
}

/// Returns a key that is equal for equivalent requests.
fn key(set: &RequirementSet) -> String {
    let mut requirements: Vec<String> = set.requests.iter().map(|request| request.requirement.to_string()).collect();
    requirements.sort_unstable();
    requirements.dedup();
    let mut constraints: Vec<String> = set.constraints.iter().map(ToString::to_string).collect();
    constraints.sort_unstable();
    constraints.dedup();
    // A requirement contains no NUL.
    let (requirements, constraints) = (requirements.join("\0"), constraints.join("\0"));
    format!("{requirements}\0\0{constraints}\0\0{}\0{}\0{}", set.pre, set.no_deps, set.wheels_only)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(layers: usize) -> Arc<Installation> {
        let archive = Arc::new(std::fs::File::open("/dev/null").unwrap());
        let layer = brumate_engine_api::Layer { name: String::new(), sha256: [0; 32], archive, bytecode: None };
        Arc::new(Installation { layers: vec![layer; layers], ..Installation::default() })
    }

    #[test]
    fn the_least_recently_used_sets_are_forgotten() {
        let mut memo = Memo::default();
        memo.insert("a".to_owned(), set(100));
        memo.insert("b".to_owned(), set(100));
        assert!(memo.get("a").is_some());
        memo.insert("c".to_owned(), set(100));
        assert!(memo.get("b").is_none() && memo.get("a").is_some() && memo.get("c").is_some());
        for number in 0..MAX_REMEMBERED {
            memo.insert(number.to_string(), set(0));
        }
        assert_eq!(memo.sets.len(), MAX_REMEMBERED);
        memo.insert("too many to keep open".to_owned(), set(MAX_OPEN_LAYERS + 1));
        assert!(memo.open_layers() <= MAX_OPEN_LAYERS);
    }

    #[test]
    fn equivalent_requests_have_one_key() {
        let requirements = |texts: &[&str]| {
            RequirementSet::new(
                texts.iter().map(|text| text.parse::<brumate_packages::Requirement>().unwrap().into()).collect(),
            )
        };
        assert_eq!(key(&requirements(&["a", "b>1", "a"])), key(&requirements(&["b>1", "a"])));
        assert_ne!(key(&requirements(&["a"])), key(&RequirementSet { pre: true, ..requirements(&["a"]) }));
        assert_ne!(key(&requirements(&["a"])), key(&RequirementSet { no_deps: true, ..requirements(&["a"]) }));
        let constrained = RequirementSet { constraints: vec!["b>1".parse().unwrap()], ..requirements(&["a"]) };
        assert_ne!(key(&requirements(&["a", "b>1"])), key(&constrained));
    }
}
