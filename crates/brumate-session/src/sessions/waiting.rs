//! Who waits for a session: claims of other servers, and cells that have not begun to run.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lease::{LeaseClaim, Urgency};

/// Values of those who wait, in the order in which they came.
pub(crate) struct WaitingList<T>(Arc<Mutex<Numbered<T>>>);

struct Numbered<T> {
    came: u64,
    waiting: Vec<(u64, T)>,
}

impl<T> Default for WaitingList<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Numbered { came: 0, waiting: Vec::new() })))
    }
}

impl<T> WaitingList<T> {
    /// Adds a value until the returned one is dropped.
    pub(crate) fn add(&self, value: T) -> Waiting<T> {
        let mut list = locked(&self.0);
        list.came = list.came.wrapping_add(1);
        let number = list.came;
        list.waiting.push((number, value));
        Waiting { list: Arc::clone(&self.0), number }
    }

    /// Returns how many wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        locked(&self.0).waiting.len()
    }
}

impl WaitingList<LeaseClaim> {
    /// Returns the server whose turn it is: one that resets or removes the session, otherwise the one whose call has
    /// waited longest. `None` if no server waits, or that one takes no turns.
    pub(crate) fn next_server(&self) -> Option<String> {
        let order = |claim: &LeaseClaim| -> (bool, Instant) { (claim.urgency == Urgency::InTurn, claim.since) };
        let list = locked(&self.0);
        let next = list.waiting.iter().min_by_key(|(_, claim)| order(claim));
        next.and_then(|(_, claim)| claim.server.clone())
    }
}

impl WaitingList<CancellationToken> {
    /// Cancels the first token that is not cancelled yet; false if there is none.
    pub(crate) fn cancel_first(&self) -> bool {
        let list = locked(&self.0);
        let first = list.waiting.iter().find(|(_, token)| !token.is_cancelled());
        first.inspect(|(_, token)| token.cancel()).is_some()
    }
}

/// Someone who waits.
pub(crate) struct Waiting<T> {
    list: Arc<Mutex<Numbered<T>>>,
    number: u64,
}

impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        locked(&self.list).waiting.retain(|(number, _)| *number != self.number);
    }
}

fn locked<T>(list: &Mutex<Numbered<T>>) -> MutexGuard<'_, Numbered<T>> {
    list.lock()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_server_that_has_waited_longest_is_next() {
        let (claims, now) = (WaitingList::default(), Instant::now());
        let claim = |server: &str, urgency, after: u64| LeaseClaim {
            urgency,
            server: Some(server.to_owned()),
            since: now + Duration::from_secs(after),
        };
        assert_eq!(claims.next_server(), None);
        let late = claims.add(claim("late", Urgency::InTurn, 2));
        let early = claims.add(claim("early", Urgency::InTurn, 1));
        assert_eq!(claims.next_server().as_deref(), Some("early"));
        let urgent = claims.add(claim("urgent", Urgency::AtOnce, 3));
        assert_eq!(claims.next_server().as_deref(), Some("urgent"));
        drop((urgent, early));
        assert_eq!(claims.next_server().as_deref(), Some("late"));
        drop(late);
        assert_eq!(claims.next_server(), None);
    }

    #[test]
    fn each_interrupt_stops_one_cell_in_order() {
        let (cells, tokens) = (WaitingList::default(), [CancellationToken::new(), CancellationToken::new()]);
        let waiting = tokens.clone().map(|token| cells.add(token));
        assert!(cells.cancel_first());
        assert_eq!(tokens.clone().map(|token| token.is_cancelled()), [true, false]);
        assert!(cells.cancel_first() && !cells.cancel_first());
        drop(waiting);
        assert!(!cells.cancel_first());
    }
}
