//! Accounts of what the server holds for its clients: requests under way, bodies that arrive, answers that were not read.
//!
//! Every byte and every request is on the account of a principal (all clients without tokens are one). An account that is full
//! refuses what would make it larger, so a client that does not read holds up itself alone.

use super::principal::Principal;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Bytes that are held for one principal: bodies of requests under way and unread answers. Beyond, answers that were kept for
/// resumption go first; then new requests are refused with 503 and answers are replaced by an error.
const MAX_BYTES_EACH: usize = 64 << 20;
/// The same for all principals together.
const MAX_BYTES: usize = 192 << 20;
/// Bytes that a principal may always hold, whatever the others hold.
const GUARANTEED_BYTES: usize = 1 << 20;
/// Requests of one principal that are not answered yet. Beyond, new ones are refused with 503. Clients without tokens share
/// [`MAX_REQUESTS`].
const MAX_REQUESTS_EACH: usize = 2048;
/// The same for all principals together.
const MAX_REQUESTS: usize = 8192;
/// Requests that a principal may always have under way, whatever the others have.
const GUARANTEED_REQUESTS: usize = 16;
/// Answered streams of one principal that are kept for resumption. Beyond, the oldest is forgotten.
const MAX_RETAINED_EACH: usize = 4096;

/// The bounds of a server's clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BudgetLimits {
    pub(crate) bytes_each: usize,
    pub(crate) bytes: usize,
    pub(crate) requests_each: usize,
    pub(crate) requests: usize,
}

impl Default for BudgetLimits {
    fn default() -> Self {
        Self { bytes_each: MAX_BYTES_EACH, bytes: MAX_BYTES, requests_each: MAX_REQUESTS_EACH, requests: MAX_REQUESTS }
    }
}

/// Keeps answered streams that may be forgotten when room is needed.
pub(crate) trait Retainer: Send + Sync {
    /// Forgets a stream, unless somebody reads it.
    fn forget(&self, stream: u64);
}

/// The accounts of all principals of one server. Clones share them.
#[derive(Clone)]
pub(crate) struct Budget(Arc<Inner>);

struct Inner {
    limits: BudgetLimits,
    accounts: Mutex<Accounts>,
    freed: Notify,
}

#[derive(Default)]
struct Accounts {
    bytes: usize,
    requests: usize,
    each: HashMap<Option<Principal>, Usage>,
}

#[derive(Default)]
struct Usage {
    bytes: usize,
    requests: usize,
    /// Oldest first.
    retained: VecDeque<(Weak<dyn Retainer>, u64)>,
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(BudgetLimits::default())
    }
}

impl Budget {
    pub(crate) fn new(limits: BudgetLimits) -> Self {
        Self(Arc::new(Inner { limits, accounts: Mutex::default(), freed: Notify::new() }))
    }

    pub(crate) fn limits(&self) -> BudgetLimits {
        self.0.limits
    }

    /// Bytes that are held for all principals.
    pub(crate) fn held(&self) -> usize {
        self.lock().bytes
    }

    /// Returns the account of a principal.
    pub(crate) fn account(&self, principal: Option<&Principal>) -> Account {
        Account { budget: self.clone(), principal: principal.cloned() }
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        self.0.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Accounts {
    /// Changes what a principal uses; an account without anything is dropped.
    fn change<T>(&mut self, principal: &Option<Principal>, change: impl FnOnce(&mut Usage) -> T) -> T {
        let usage = match self.each.get_mut(principal) {
            Some(usage) => usage,
            None => self.each.entry(principal.clone()).or_default(),
        };
        let (bytes, requests) = (usage.bytes, usage.requests);
        let result = change(usage);
        self.bytes = self.bytes - bytes + usage.bytes;
        self.requests = self.requests - requests + usage.requests;
        if usage.bytes == 0 && usage.requests == 0 && usage.retained.is_empty() {
            self.each.remove(principal);
        }
        result
    }

    fn fits(&self, limits: &BudgetLimits, principal: &Option<Principal>, bytes: usize) -> bool {
        let own = self.each.get(principal).map_or(0, |usage| usage.bytes).saturating_add(bytes);
        own <= limits.bytes_each
            && (self.bytes.saturating_add(bytes) <= limits.bytes || own <= GUARANTEED_BYTES.min(limits.bytes_each))
    }
}

/// The account of one principal. Clones are the same account.
#[derive(Clone)]
pub(crate) struct Account {
    budget: Budget,
    principal: Option<Principal>,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// An account has no room. The text is for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OverBudget {
    /// There never is: it is more than a principal may hold at all.
    #[error("an answer of {bytes} bytes is more than a client may have unread ({limit} bytes): ask for less at a time")]
    TooLarge { bytes: usize, limit: usize },
    /// There is none now.
    #[error("{bytes} bytes of answers and requests are held for you: read what was answered, then try again")]
    Full { bytes: usize },
}

impl Account {
    /// Takes `bytes` from the account if there is room, after answers that are only kept for resumption have gone.
    ///
    /// # Errors
    ///
    /// [`OverBudget`] when there is none.
    pub(crate) fn try_charge(&self, bytes: usize) -> Result<Charge, OverBudget> {
        let limits = self.budget.limits();
        if bytes > limits.bytes_each {
            return Err(OverBudget::TooLarge { bytes, limit: limits.bytes_each });
        }
        loop {
            let oldest = {
                let mut accounts = self.budget.lock();
                if accounts.fits(&limits, &self.principal, bytes) {
                    accounts.change(&self.principal, |usage| usage.bytes += bytes);
                    return Ok(Charge { account: self.clone(), bytes });
                }
                accounts.change(&self.principal, |usage| (usage.retained.pop_front(), usage.bytes))
            };
            // Outside of the lock: what is forgotten gives its bytes back.
            match oldest {
                (Some((retainer, stream)), _) => forget(&retainer, stream),
                (None, bytes) => return Err(OverBudget::Full { bytes }),
            }
        }
    }

    /// Takes `bytes` from the account whether there is room or not: for what is held already.
    pub(crate) fn charge(&self, bytes: usize) -> Charge {
        self.budget.lock().change(&self.principal, |usage| usage.bytes += bytes);
        Charge { account: self.clone(), bytes }
    }

    /// Waits up to `patience` for room.
    ///
    /// # Errors
    ///
    /// [`OverBudget`] when there is none by then.
    pub(crate) async fn reserve(&self, bytes: usize, patience: Duration) -> Result<Charge, OverBudget> {
        let deadline = Instant::now() + patience;
        loop {
            // Before the look, so that nothing is missed that is freed in between.
            let freed = self.budget.0.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            match self.try_charge(bytes) {
                Err(full @ OverBudget::Full { .. }) => {
                    if timeout_at(deadline, freed).await.is_err() {
                        return Err(full);
                    }
                }
                decided => return decided,
            }
        }
    }

    /// Begins a request. `None` when the principal, or all together, have as many under way as they may.
    pub(crate) fn begin_request(&self) -> Option<RequestCharge> {
        let limits = self.budget.limits();
        let mut accounts = self.budget.lock();
        let own = accounts.each.get(&self.principal).map_or(0, |usage| usage.requests);
        // Clients that nobody knows share all there is.
        let each = if self.principal.is_some() { limits.requests_each } else { limits.requests };
        let room = own < each && (accounts.requests < limits.requests || own < GUARANTEED_REQUESTS.min(each));
        room.then(|| {
            accounts.change(&self.principal, |usage| usage.requests += 1);
            RequestCharge(self.clone())
        })
    }

    /// Notes that a stream is answered and kept only for those who come back: it goes first when room is needed.
    pub(crate) fn retain(&self, retainer: Weak<dyn Retainer>, stream: u64) {
        let oldest = self.budget.lock().change(&self.principal, |usage| {
            usage.retained.push_back((retainer, stream));
            (usage.retained.len() > MAX_RETAINED_EACH).then(|| usage.retained.pop_front()).flatten()
        });
        if let Some((retainer, stream)) = oldest {
            forget(&retainer, stream);
        }
    }

    fn free(&self, bytes: usize) {
        self.budget.lock().change(&self.principal, |usage| usage.bytes = usage.bytes.saturating_sub(bytes));
        self.budget.0.freed.notify_waiters();
    }
}

fn forget(retainer: &Weak<dyn Retainer>, stream: u64) {
    if let Some(retainer) = retainer.upgrade() {
        retainer.forget(stream);
    }
}

/// Bytes on an account, until it is dropped.
pub(crate) struct Charge {
    account: Account,
    bytes: usize,
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Charge").field(&self.bytes).finish()
    }
}

impl Charge {
    /// Makes it `bytes`, whether there is room or not.
    pub(crate) fn resize(&mut self, bytes: usize) {
        let was = std::mem::replace(&mut self.bytes, bytes);
        match bytes.checked_sub(was) {
            Some(more) => self.account.charge(more).keep(),
            None => self.account.free(was - bytes),
        }
    }

    /// Adds `bytes` if there is room.
    ///
    /// # Errors
    ///
    /// [`OverBudget`] when there is none.
    pub(crate) fn try_grow(&mut self, bytes: usize) -> Result<(), OverBudget> {
        self.account.try_charge(bytes)?.keep();
        self.bytes += bytes;
        Ok(())
    }

    /// Leaves the bytes on the account; another charge answers for them.
    fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.account.free(self.bytes);
        }
    }
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestCharge(Account);

impl Drop for RequestCharge {
    fn drop(&mut self) {
        let Account { budget, principal } = &self.0;
        budget.lock().change(principal, |usage| usage.requests = usage.requests.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn budget(bytes_each: usize, bytes: usize) -> Budget {
        Budget::new(BudgetLimits { bytes_each, bytes, requests_each: 2, requests: 3 })
    }

    fn account(budget: &Budget, name: &'static str) -> Account {
        budget.account(Some(&Principal::new(name)))
    }

    #[test]
    fn an_account_is_bounded_and_leaves_others_their_share() {
        let budget = budget(4 << 20, 6 << 20);
        let (a, b, c) = (account(&budget, "a"), account(&budget, "b"), account(&budget, "c"));
        let too_large = OverBudget::TooLarge { bytes: (4 << 20) + 1, limit: 4 << 20 };
        assert_eq!(a.try_charge((4 << 20) + 1).err(), Some(too_large));
        let first = a.try_charge(3 << 20).expect("room");
        assert_eq!(a.try_charge(2 << 20).err(), Some(OverBudget::Full { bytes: 3 << 20 }));
        let second = b.try_charge(3 << 20).expect("room");
        // All of it is taken, but for what everybody has.
        assert!(c.try_charge((1 << 20) + 1).is_err());
        assert!(c.try_charge(1 << 20).is_ok());
        assert!(a.try_charge(1).is_err());
        drop(second);
        assert!(a.try_charge(1 << 20).is_ok());
        drop(first);
        assert!(budget.lock().each.is_empty(), "nothing stays of accounts without anything");
        assert_eq!(budget.lock().bytes, 0);
    }

    #[test]
    fn a_charge_grows_and_shrinks() {
        let budget = budget(100, 100);
        let account = account(&budget, "a");
        let mut charge = account.try_charge(10).expect("room");
        charge.try_grow(50).expect("room");
        assert!(charge.try_grow(50).is_err());
        charge.resize(90);
        assert_eq!(budget.lock().bytes, 90);
        charge.resize(200);
        assert_eq!(budget.lock().bytes, 200);
        charge.resize(5);
        assert_eq!(budget.lock().bytes, 5);
        drop(charge);
        assert_eq!(budget.lock().bytes, 0);
    }

    #[test]
    fn requests_are_counted_until_they_end() {
        let budget = budget(100, 100);
        let (a, b) = (account(&budget, "a"), account(&budget, "b"));
        let first = a.begin_request().expect("room");
        let _second = a.begin_request().expect("room");
        assert!(a.begin_request().is_none());
        assert!(b.begin_request().is_some());
        drop(first);
        assert!(a.begin_request().is_some());
        let unknown = Budget::new(budget.limits()).account(None);
        let all = [0; 3].map(|_| unknown.begin_request());
        assert!(all.iter().all(Option::is_some) && unknown.begin_request().is_none());
    }

    /// Holds 10 bytes for each stream.
    struct Streams {
        held: Mutex<HashMap<u64, Charge>>,
        last: AtomicU64,
    }

    impl Retainer for Streams {
        fn forget(&self, stream: u64) {
            self.held.lock().expect("no panic").remove(&stream);
            self.last.store(stream, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_is_kept_for_resumption_goes_first_and_the_oldest_of_it() {
        let budget = budget(100, 100);
        let account = account(&budget, "a");
        let streams = Arc::new(Streams { held: Mutex::default(), last: AtomicU64::new(0) });
        let weak: Weak<dyn Retainer> = Arc::downgrade(&(streams.clone() as Arc<dyn Retainer>));
        for stream in 1..=10 {
            let charge = account.try_charge(10).expect("room");
            streams.held.lock().expect("no panic").insert(stream, charge);
            account.retain(weak.clone(), stream);
        }
        let charge = account.try_charge(25).expect("three of them go");
        assert_eq!((streams.held.lock().expect("no panic").len(), streams.last.load(Ordering::Relaxed)), (7, 3));
        drop(streams);
        // Those that are gone are passed over.
        assert!(account.try_charge(75).is_ok());
        assert!(account.try_charge(76).is_err());
        drop(charge);
        assert!(budget.lock().each.is_empty());
    }

    #[test]
    fn retained_streams_are_bounded_in_number() {
        let budget = budget(100, 100);
        let account = account(&budget, "a");
        let streams = Arc::new(Streams { held: Mutex::default(), last: AtomicU64::new(0) });
        let weak: Weak<dyn Retainer> = Arc::downgrade(&(streams.clone() as Arc<dyn Retainer>));
        for stream in 1..=(MAX_RETAINED_EACH as u64 + 2) {
            account.retain(weak.clone(), stream);
        }
        assert_eq!(streams.last.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reservation_waits_for_room_and_not_for_ever() {
        let budget = budget(100, 100);
        let account = account(&budget, "a");
        let charge = account.try_charge(60).expect("room");
        let waiting = tokio::spawn({
            let account = account.clone();
            async move { account.reserve(60, Duration::from_secs(10)).await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(charge);
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
        let _charge = account.try_charge(60).expect("room");
        let full = OverBudget::Full { bytes: 60 };
        assert_eq!(account.reserve(60, Duration::from_secs(10)).await.err(), Some(full));
        assert!(matches!(account.reserve(101, Duration::MAX / 4).await, Err(OverBudget::TooLarge { .. })));
    }
}
