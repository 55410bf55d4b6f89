//! Places for the work of several principals.
//!
//! Each principal has one queue. Places are given round-robin, so that one principal cannot delay others; the work of
//! one principal keeps its order. The queues are bounded by the number of machines, because each machine requests one
//! thing at a time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

/// The places. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    shared: Arc<TurnQueue>,
}

#[derive(Debug)]
struct TurnQueue {
    /// Number of places.
    places: usize,
    /// Most places of one principal at a time.
    each: usize,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    taken: usize,
    queues: HashMap<Arc<str>, Queue>,
    /// Principals that wait and may have one more place, in the order of their turns.
    turns: VecDeque<Arc<str>>,
}

#[derive(Debug, Default)]
struct Queue {
    taken: usize,
    waiting: VecDeque<oneshot::Sender<TurnGuard>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct TurnGuard {
    shared: Arc<TurnQueue>,
    principal: Arc<str>,
}

impl Turns {
    /// Returns `places` places, of which one principal may have `each` at a time.
    pub(super) fn new(places: usize, each: usize) -> Turns {
        let shared = TurnQueue { places: places.max(1), each: each.max(1), state: Mutex::default() };
        Turns { shared: Arc::new(shared) }
    }

    /// Waits for a place. A caller that is cancelled takes none.
    pub(super) async fn enter(&self, principal: &str) -> TurnGuard {
        loop {
            let (sender, receiver) = oneshot::channel();
            self.shared.ask(principal, sender);
            // The sender is dropped only with these places, and `self` holds them.
            if let Ok(place) = receiver.await {
                return place;
            }
        }
    }
}

impl TurnQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    fn ask(self: &Arc<Self>, principal: &str, sender: oneshot::Sender<TurnGuard>) {
        {
            let mut state = self.state();
            let name: Arc<str> = match state.queues.get_key_value(principal) {
                Some((name, _)) => name.clone(),
                None => principal.into(),
            };
            let queue = state.queues.entry(name.clone()).or_default();
            queue.waiting.push_back(sender);
            if queue.waiting.len() == 1 && queue.taken < self.each {
                state.turns.push_back(name);
            }
        }
        self.give();
    }

    /// Gives free places to the next principals.
    fn give(self: &Arc<Self>) {
        let mut given = Vec::new();
        {
            let mut state = self.state();
            let state = &mut *state;
            while state.taken < self.places {
                let Some(name) = state.turns.pop_front() else { break };
                let Some(queue) = state.queues.get_mut(&name) else { continue };
                // Skip cancelled waiters.
                let next = std::iter::from_fn(|| queue.waiting.pop_front()).find(|sender| !sender.is_closed());
                if let Some(sender) = next {
                    queue.taken += 1;
                    state.taken += 1;
                    given.push((sender, TurnGuard { shared: self.clone(), principal: name.clone() }));
                }
                if queue.taken == 0 && queue.waiting.is_empty() {
                    state.queues.remove(&name);
                } else if !queue.waiting.is_empty() && queue.taken < self.each {
                    state.turns.push_back(name);
                }
            }
        }
        // Outside of the lock: if the waiter was cancelled, the place is dropped and given again at once.
        for (sender, place) in given {
            drop(sender.send(place));
        }
    }
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state();
            let state = &mut *state;
            state.taken -= 1;
            if let Some(queue) = state.queues.get_mut(&self.principal) {
                queue.taken -= 1;
                if queue.waiting.is_empty() {
                    if queue.taken == 0 {
                        state.queues.remove(&self.principal);
                    }
                } else if queue.taken + 1 == self.shared.each {
                    state.turns.push_back(self.principal.clone());
                }
            }
        }
        self.shared.give();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the principals in the order in which they got a place; each leaves at once.
    async fn order(turns: &Turns, first: TurnGuard, wanted: &[&'static str]) -> Vec<&'static str> {
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for &principal in wanted {
            let (turns, order) = (turns.clone(), order.clone());
            tasks.push(tokio::spawn(async move {
                let place = turns.enter(principal).await;
                order.lock().push(principal);
                tokio::task::yield_now().await;
                drop(place);
            }));
            tokio::task::yield_now().await;
        }
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        Arc::into_inner(order).unwrap().into_inner()
    }

    #[tokio::test]
    async fn principals_take_turns() {
        let turns = Turns::new(1, 1);
        let first = turns.enter("a").await;
        let got = order(&turns, first, &["a", "a", "a", "b", "b", "c"]).await;
        assert_eq!(got, ["b", "c", "a", "b", "a", "a"]);
        let state = turns.shared.state();
        assert!(state.taken == 0 && state.queues.is_empty() && state.turns.is_empty(), "{state:?}");
    }

    #[tokio::test]
    async fn one_principal_never_has_all_places() {
        let turns = Turns::new(2, 1);
        let first = turns.enter("a").await;
        let second = tokio::time::timeout(std::time::Duration::from_millis(10), turns.enter("a")).await;
        assert!(second.is_err(), "the other place is for another principal");
        let other = turns.enter("b").await;
        drop(first);
        // The cancelled waiter is skipped.
        let again = turns.enter("a").await;
        drop((again, other));
        assert!(turns.shared.state().queues.is_empty());
    }

    #[tokio::test]
    async fn with_several_places_each_principal_has_its_part() {
        let turns = Turns::new(4, 2);
        let mut places = Vec::new();
        for principal in ["a", "a", "b", "b"] {
            places.push(turns.enter(principal).await);
        }
        let first = places.remove(0);
        let waits = tokio::time::timeout(std::time::Duration::from_millis(10), turns.enter("b")).await;
        assert!(waits.is_err(), "it has its part");
        assert_eq!(order(&turns, first, &["a", "a"]).await, ["a", "a"]);
    }
}
