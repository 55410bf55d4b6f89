//! Cache of installations for some minutes, in which requests for the same set share one installation.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::{Installation, Order, PackageError, PackageEvent, Packages};

/// Sets that are kept.
const MAX_REMEMBERED: usize = 64;
/// Layers that kept sets hold open; each takes up to two file descriptors.
const MAX_OPEN_LAYERS: usize = 256;
/// Time for which a set is kept: as long as most indexes let their pages count as fresh.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Events that may wait for a slow receiver; older ones are dropped.
const EVENT_QUEUE: usize = 64;

type Outcome = Result<Arc<Installation>, PackageError>;
type Flight = Shared<BoxFuture<'static, Outcome>>;

/// Finished installations, and those under way, by [`key`].
#[derive(Default)]
pub(super) struct Memo {
    sets: HashMap<String, Remembered>,
    flights: HashMap<String, (WeakShared<BoxFuture<'static, Outcome>>, broadcast::WeakSender<PackageEvent>)>,
    /// Counter of uses.
    clock: u64,
}

struct Remembered {
    installation: Arc<Installation>,
    since: Instant,
    used: u64,
}

impl Memo {
    fn recall(&mut self, key: &str) -> Option<Arc<Installation>> {
        self.clock += 1;
        let clock = self.clock;
        let known = self.sets.get_mut(key)?;
        if known.since.elapsed() > MAX_AGE {
            self.sets.remove(key);
            return None;
        }
        known.used = clock;
        Some(Arc::clone(&known.installation))
    }

    fn remember(&mut self, key: String, installation: Arc<Installation>) {
        self.clock += 1;
        self.sets.insert(key, Remembered { installation, since: Instant::now(), used: self.clock });
        while self.sets.len() > MAX_REMEMBERED || self.open_layers() > MAX_OPEN_LAYERS {
            let oldest = self.sets.iter().min_by_key(|(_, known)| known.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.sets.remove(&oldest);
        }
    }

    fn open_layers(&self) -> usize {
        self.sets.values().map(|known| known.installation.layers.len()).sum()
    }

    /// Replaces `old` by `new` if it is still kept: the same packages, with bytecode.
    pub(super) fn replace(&mut self, old: &Arc<Installation>, new: &Arc<Installation>) {
        for known in self.sets.values_mut().filter(|known| Arc::ptr_eq(&known.installation, old)) {
            known.installation = Arc::clone(new);
        }
    }
}

impl Packages {
    pub(super) fn memo(&self) -> MutexGuard<'_, Memo> {
        self.inner.memo.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a kept set, or joins the installation that is under way, or starts one.
    pub(super) async fn shared(
        &self,
        order: Order,
        onlooker: &(dyn Fn(PackageEvent) + Send + Sync),
    ) -> Result<Arc<Installation>, PackageError> {
        let key = key(&order);
        let (flight, mut events) = {
            let mut memo = self.memo();
            if let Some(known) = memo.recall(&key) {
                return Ok(known);
            }
            memo.flights.retain(|_, (flight, _)| flight.upgrade().is_some());
            let known =
                memo.flights.get(&key).and_then(|(flight, events)| Some((flight.upgrade()?, events.upgrade()?)));
            match known {
                Some((flight, events)) => (flight, events.subscribe()),
                None => {
                    let (sender, receiver) = broadcast::channel(EVENT_QUEUE);
                    let weak_sender = sender.downgrade();
                    let flight = self.begin(order, key.clone(), sender);
                    if let Some(weak) = flight.downgrade() {
                        memo.flights.insert(key, (weak, weak_sender));
                    }
                    (flight, receiver)
                }
            }
        };
        let outcome = {
            let listen = async {
                loop {
                    match events.recv().await {
                        Ok(event) => onlooker(event),
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => return std::future::pending::<Infallible>().await,
                    }
                }
            };
            tokio::select! {
                biased;
                never = listen => match never {},
                outcome = flight => outcome,
            }
        };
        // Events that arrived together with the result.
        while let Ok(event) = events.try_recv() {
            onlooker(event);
        }
        outcome
    }

    fn begin(&self, order: Order, key: String, events: broadcast::Sender<PackageEvent>) -> Flight {
        let packages = self.clone();
        async move {
            let installation = Arc::new(packages.find_and_fetch(order, events).await?);
            packages.memo().remember(key, Arc::clone(&installation));
            packages.compile_in_background(&installation);
            Ok(installation)
        }
        .boxed()
        .shared()
    }
}

/// Returns a key that is equal for equivalent requests.
fn key(order: &Order) -> String {
    let mut requirements: Vec<String> = order.wanted.iter().map(|wanted| wanted.requirement.to_string()).collect();
    requirements.sort_unstable();
    requirements.dedup();
    let mut constraints: Vec<String> = order.constraints.iter().map(ToString::to_string).collect();
    constraints.sort_unstable();
    constraints.dedup();
    // A requirement contains no NUL.
    let (requirements, constraints) = (requirements.join("\0"), constraints.join("\0"));
    format!("{requirements}\0\0{constraints}\0\0{}\0{}", order.pre, order.no_deps)
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
        memo.remember("a".to_owned(), set(100));
        memo.remember("b".to_owned(), set(100));
        assert!(memo.recall("a").is_some());
        memo.remember("c".to_owned(), set(100));
        assert!(memo.recall("b").is_none() && memo.recall("a").is_some() && memo.recall("c").is_some());
        for number in 0..MAX_REMEMBERED {
            memo.remember(number.to_string(), set(0));
        }
        assert_eq!(memo.sets.len(), MAX_REMEMBERED);
        memo.remember("too many to keep open".to_owned(), set(MAX_OPEN_LAYERS + 1));
        assert!(memo.open_layers() <= MAX_OPEN_LAYERS);
    }

    #[test]
    fn orders_that_mean_the_same_have_one_key() {
        let order = |texts: &[&str]| {
            Order::new(texts.iter().map(|text| text.parse::<brumate_packages::Requirement>().unwrap().into()).collect())
        };
        assert_eq!(key(&order(&["a", "b>1", "a"])), key(&order(&["b>1", "a"])));
        assert_ne!(key(&order(&["a"])), key(&Order { pre: true, ..order(&["a"]) }));
        assert_ne!(key(&order(&["a"])), key(&Order { no_deps: true, ..order(&["a"]) }));
        let constrained = Order { constraints: vec!["b>1".parse().unwrap()], ..order(&["a"]) };
        assert_ne!(key(&order(&["a", "b>1"])), key(&constrained));
    }
}
